"""Which factors of a real screen come back: `python -m experiments.papalexi_support`.

The ECCITE-seq screen of Papalexi et al. (2021): knock-outs of the interferon-gamma and PD-L1
pathways, read by RNA counts. A model is fitted to the targets that were measured and to the most
variable genes; every factor and edge is reported with its support, and the factor with most genes
of the interferon–JAK–STAT pathway by name. Without the file nothing is done.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import ucad
from experiments.running import ROOT, provenance
from ucad.cli.progress import shown_progress
from ucad.cli.support import support_summary
from ucad.consensus.support import Graph, Support
from ucad.data import InterventionalData

__all__ = ["PATHWAY", "chosen_genes", "main", "summary"]

PATHWAY = ("IFNGR1", "IFNGR2", "JAK1", "JAK2", "STAT1", "STAT2", "IRF1", "IRF7", "IRF9")
"""Genes between the interferon receptors and their response factors."""

N_GENES = 60
"""Variables of the model: the measured targets and the most variable genes, so many that fifty fits
take minutes."""


def main(words: Sequence[str] | None = None) -> None:
    """Reads the command line, fits, and prints and writes what comes back."""
    shared = Path(os.environ.get("UCAD_SHARED", ROOT.parent / "shared"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, default=shared / "data" / "papalexi2021.h5ad")
    parser.add_argument("--target", default="target", help="the column that names the knock-out")
    parser.add_argument("--control", default="control")
    parser.add_argument("--factors", type=int, default=4)
    parser.add_argument("--genes", type=int, default=N_GENES)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("docs/results/papalexi_support.json")
    )
    options = parser.parse_args(words)
    if not options.file.exists():
        print(f"There is no '{options.file}': nothing is done (give --file).")
        return
    data = chosen_genes(_read(options), options.genes)
    print(data)
    with shown_progress() as progress:
        model = ucad.UCAD(
            options.factors,
            factor_mechanism="linear",
            variable_mechanism="linear",
            n_runs=options.runs,
            n_jobs=options.jobs,
            random_state=options.seed,
            progress=progress,
        ).fit(data)
    assert model.support_ is not None, model.consensus_
    print(support_summary(model.support_), "\n", model.certificate_.verdict)
    result = {"provenance": provenance(), "verdict": model.certificate_.verdict}
    result |= summary(model, model.support_)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for factor in result["factors"]:
        print(factor)


def chosen_genes(data: InterventionalData, n_genes: int) -> InterventionalData:
    """The measured targets and the most variable other genes, in the order of the file."""
    is_target = np.asarray(data.is_intervened).any(axis=0)
    spread = np.where(is_target, np.inf, np.asarray(data.x).std(axis=0))
    columns = np.sort(np.argsort(-spread, kind="stable")[: max(n_genes, int(is_target.sum()))])
    return data.select_variables(columns)


def summary(model: ucad.UCAD, support: Support) -> dict[str, Any]:
    """The factors with their support and edges, and which of them is that of the pathway."""
    factors = []
    for one in support.factors:
        edges = {
            graph.value: [
                {"edge": f"{e.cause} -> {e.effect}", "support": e.support, "in_model": e.in_model}
                for e in support.of(graph)
                if one.name in (e.cause, e.effect) and (e.in_model or e.support >= 0.5)
            ]
            for graph in (Graph.Q, Graph.R)
        }
        ends = " ".join(row["edge"] for rows in edges.values() for row in rows).split()
        genes = sorted({gene for gene in PATHWAY if gene in ends})
        factors.append(
            {
                "name": one.name,
                "stability": one.stability,
                "interval": [one.low, one.high],
                "without_regimes": one.without_regimes,
                "in_model": one.in_model,
                "pathway_genes": genes,
                "edges": edges,
            }
        )
    named = [f for f in factors if f["pathway_genes"]]
    pathway = max(named, key=lambda f: len(f["pathway_genes"]))["name"] if named else None
    return {
        "n_halves": support.n_halves,
        "adequacy": support.adequacy.value,
        "n_variables": model.graph_.n_variables,
        "interferon_factor": pathway,
        "factors": factors,
    }


def _read(options: argparse.Namespace) -> InterventionalData:
    return ucad.read(
        options.file,
        target=options.target,
        control=options.control,
        context=["replicate"],
        drop_constant=True,
        log_counts=True,
    )


if __name__ == "__main__":
    main()
