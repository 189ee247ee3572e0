"""A consensus in a run folder: its support as JSON, its models as models are stored."""

from __future__ import annotations

import os
from pathlib import Path

from ucad.consensus.consensus import Consensus
from ucad.consensus.support import Support
from ucad.errors import FormatError
from ucad.files import read_text
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, load_scm, save_scm
from ucad.scm.storage import JSON_NAME

__all__ = ["CONSENSUS", "SUPPORT", "load_consensus", "save_consensus"]

SUPPORT, CONSENSUS, FITS = "support.json", "consensus", "fits"
"""The file of the support, the folder of the consensus model, and that of all fits inside it."""


def save_consensus(found: Consensus, folder: Path) -> None:
    """Writes `support.json` and the folder `consensus` into a run folder."""
    if found.support is None:
        return
    (folder / SUPPORT).write_text(found.support.to_json(), encoding="utf-8")
    (folder / CONSENSUS / FITS).mkdir(parents=True)
    if found.scm is not None:
        save_scm(found.scm, folder / CONSENSUS)
    for number, scm in enumerate(found.fits):
        (folder / CONSENSUS / FITS / f"{number:04d}").mkdir()
        save_scm(scm, folder / CONSENSUS / FITS / f"{number:04d}")


def load_consensus(folder: Path, graph: FactorGraph) -> Consensus | None:
    """Reads a consensus back and checks it against the model beside it; None if there is none.

    Raises:
        FormatError: it is damaged, or of other variables.
    """
    if not os.path.lexists(folder / SUPPORT):
        return None
    try:
        support = Support.from_json(read_text(folder / SUPPORT))
    except ValueError as error:
        raise FormatError(f"'{folder / SUPPORT}' is damaged: {error}") from error
    fits = tuple(
        _load(folder / CONSENSUS / FITS / f"{number:04d}", graph)
        for number in range(len(support.fits))
    )
    _check(support, graph, fits, folder / SUPPORT)
    has_model = os.path.lexists(folder / CONSENSUS / JSON_NAME)
    scm = _load(folder / CONSENSUS, graph) if has_model else None
    return Consensus(support=support, scm=scm, fits=fits)


def _load(folder: Path, graph: FactorGraph) -> FactorSCM:
    scm = load_scm(folder)
    if scm.graph.variable_names != graph.variable_names:
        raise FormatError(f"'{folder}' is of other variables than the model beside it.")
    return scm


def _check(support: Support, graph: FactorGraph, fits: tuple[FactorSCM, ...], path: Path) -> None:
    """Refuses names that the model does not have, and partners that a fit does not have."""
    names = tuple(one.name for one in support.factors)
    known = {*graph.variable_names, *names}
    ends = {end for edge in support.edges for end in (edge.cause, edge.effect)}
    if names[: graph.n_factors] != graph.factor_names or not ends <= known:
        raise FormatError(f"'{path}' is of other factors or variables than the model beside it.")
    for account, scm in zip(support.fits, fits, strict=True):
        sizes = {len(account.partners), len(account.signs)}
        numbers = [at for at in account.partners if at is not None]
        if sizes != {len(names)} or not all(0 <= at < scm.graph.n_factors for at in numbers):
            raise FormatError(f"'{path}' names partners that its fits do not have.")
