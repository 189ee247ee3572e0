"""A csv table of edges, and the whole model as JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from ucad import __version__
from ucad.exports.edges import Edge, edges_of
from ucad.files import write_text
from ucad.runs import Run

__all__ = ["as_json", "write_csv", "write_json"]


def write_csv(run: Run, path: Path) -> None:
    """One row per edge: cause, effect, graph, strength, whether its sign varies, support."""
    text = io.StringIO()
    breaks = any("\r" in name for name in run.scm.graph.variable_names)
    # not every version of csv sees that a name with such a break must be quoted
    writer = csv.writer(
        text,
        lineterminator="\n",
        quoting=csv.QUOTE_NONNUMERIC if breaks else csv.QUOTE_MINIMAL,
    )
    writer.writerow(Edge._fields)
    writer.writerows(["" if cell is None else cell for cell in edge] for edge in edges_of(run))
    write_text(path, text.getvalue())


def write_json(run: Run, path: Path) -> None:
    """The model, how the fit ended, and what may be claimed."""
    write_text(path, json.dumps(as_json(run), indent=1, ensure_ascii=False) + "\n")


def as_json(run: Run) -> dict[str, Any]:
    """Plain data. Weights are there for linear mechanisms: z = F_Z x + b, x = F_X z + b + noise."""
    scm, certificate = run.scm, run.certificate
    mechanisms = {"F_Z": scm.factor_mechanism, "F_X": scm.variable_mechanism}
    linear = {
        name: {"weight": one.weight.tolist(), "bias": one.bias.tolist()}
        for name, one in mechanisms.items()
        if hasattr(one, "weight") and hasattr(one, "bias")
    }
    claims = None
    if certificate is not None:
        claims = {
            "verdict": certificate.verdict,
            "may_be_claimed": {one.what: one.answer.value for one in certificate.permissions},
        }
    return {
        "made_by": f"ucad {__version__}",
        "variables": list(scm.graph.variable_names),
        "factors": list(scm.graph.factor_names),
        "edges": [edge._asdict() for edge in edges_of(run)],
        "linear_mechanisms": linear,
        "noise_scale": scm.noise_scale.tolist(),
        "status": run.status.to_json(),
        "claims": claims,
        "data": dict(run.data),
    }
