"""Unsupervised causal abstraction discovery: find the small causal model inside a big one.

Names are imported when they are first used, so that `import ucad` and `ucad --help` do not pay for
torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ucad.consensus.comparing import compare
    from ucad.data import InterventionalData
    from ucad.data.formats import read, write
    from ucad.estimator import UCAD, load
    from ucad.graph import FactorGraph, factorise
    from ucad.scm import Abstraction, FactorSCM, hard, load_scm, parametric, save_scm, soft
    from ucad.simulate import paper_problem

__version__ = "0.1.0"

_HOME = {
    "Abstraction": "ucad.scm",
    "UCAD": "ucad.estimator",
    "FactorGraph": "ucad.graph",
    "FactorSCM": "ucad.scm",
    "InterventionalData": "ucad.data",
    "compare": "ucad.consensus.comparing",
    "factorise": "ucad.graph",
    "hard": "ucad.scm",
    "load": "ucad.estimator",
    "load_scm": "ucad.scm",
    "paper_problem": "ucad.simulate",
    "parametric": "ucad.scm",
    "read": "ucad.data.formats",
    "save_scm": "ucad.scm",
    "soft": "ucad.scm",
    "write": "ucad.data.formats",
}

_PARTS = (
    "claims", "consensus", "data", "effects", "errors", "gene_sets", "graph", "metrics", "networks",
    "scm", "simulate", "solvers", "tl",
)  # fmt: skip
"""What docs and messages write as `ucad.networks.fit_network`: it needs no import of its own."""

__all__ = [
    "UCAD",
    "Abstraction",
    "FactorGraph",
    "FactorSCM",
    "InterventionalData",
    "__version__",
    "compare",
    "factorise",
    "hard",
    "load",
    "load_scm",
    "paper_problem",
    "parametric",
    "read",
    "save_scm",
    "soft",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"ucad.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'ucad' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
