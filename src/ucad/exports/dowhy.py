"""A folder for DoWhy: the graph as GML, samples with the factors as columns, and how to load it."""

from __future__ import annotations

import csv
from pathlib import Path

import networkx as nx
import numpy as np

from ucad.data.splits import OBSERVATIONAL
from ucad.errors import FormatError
from ucad.exports.graphml import as_networkx
from ucad.files import replacing_folder
from ucad.runs import Run
from ucad.scm import at_average_context

__all__ = ["is_dowhy_folder", "write_dowhy"]

SCRIPT = '''"""Loads what `ucad export --to dowhy` wrote into a causal model of DoWhy."""

from pathlib import Path

import networkx as nx
import pandas as pd
from dowhy import gcm

HERE = Path(__file__).parent


def causal_model() -> tuple[gcm.InvertibleStructuralCausalModel, pd.DataFrame]:
    """Variables and factors as one graph; functions are learned anew from the samples."""
    graph = nx.read_gml(HERE / "graph.gml")
    samples = pd.read_csv(HERE / "samples.csv")
    model = gcm.InvertibleStructuralCausalModel(graph)
    gcm.auto.assign_causal_mechanisms(model, samples)
    gcm.fit(model, samples)
    return model, samples


if __name__ == "__main__":
    model, samples = causal_model()
    node = next(iter(model.graph.nodes))
    moved = gcm.interventional_samples(model, {node: lambda _: 1.0}, num_samples_to_draw=1000)
    print(f"Means under {node} = 1:", moved.mean().to_string(), sep="\\n")
'''
"""How to load the folder."""

GRAPH, SAMPLES, LOADER = "graph.gml", "samples.csv", "load.py"
FILES = {GRAPH, SAMPLES, LOADER}
"""What the folder holds."""


def is_dowhy_folder(path: Path) -> bool:
    """Whether a folder holds what `write_dowhy` wrote and nothing else."""
    try:
        names = {entry.name for entry in path.iterdir()} - {"__pycache__"}
        first = (path / LOADER).read_text(encoding="utf-8").partition("\n")[0]
        return names == FILES and first == SCRIPT.partition("\n")[0]
    except (OSError, UnicodeDecodeError):
        return False


def write_dowhy(run: Run, path: Path) -> None:
    """Writes graph.gml, samples.csv (observational ones, with τ of each) and load.py.

    Variables without an edge are left out: they take no part in the model.
    """
    if run.sample is None:
        raise FormatError("The run holds no sample of the data, which DoWhy fits functions to.")
    graph = as_networkx(run)
    graph.remove_nodes_from(list(nx.isolates(graph)))
    with replacing_folder(path) as folder:
        nx.write_gml(graph, folder / GRAPH)
        _write_samples(run, list(graph.nodes), folder / SAMPLES)
        (folder / LOADER).write_text(SCRIPT, encoding="utf-8")


def _write_samples(run: Run, nodes: list[str], path: Path) -> None:
    assert run.sample is not None
    data = at_average_context(run.scm, run.sample)
    rows = data.regime == OBSERVATIONAL
    x = data.x[rows] if rows.sum() > 1 else data.x
    values = np.concatenate([x, run.scm.state_map(x).detach().cpu().numpy()], axis=1)
    names = [*run.scm.graph.variable_names, *run.scm.graph.factor_names]
    kept = [names.index(node) for node in nodes]
    with path.open("w", newline="", encoding="utf-8") as file:
        # quotes around names: not every version of csv sees that one with a break needs them
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(nodes)
        writer.writerows(values[:, kept].tolist())
