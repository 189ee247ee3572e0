"""What a finished fit comes to: a model in the user's units, and what may be claimed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from ucad.claims import Certificate, certify
from ucad.claims.rest import RestComparison, compared_with_rest
from ucad.consensus.consensus import together
from ucad.data import InterventionalData
from ucad.preparation import Prepared
from ucad.scm import FactorSCM
from ucad.solvers import FitResult, FitStatus

__all__ = ["Conclusion", "conclude"]


@dataclass(frozen=True)
class Conclusion:
    """A fitted model and what was found out about it.

    Attributes:
        result: what the solver returned, with its status after the checks.
        scm: the model, in the units of the data, its factors of unit variance.
        certificate: what may be claimed of it.
        known: the samples that claims were not tested on, for further fits.
    """

    result: FitResult
    scm: FactorSCM
    certificate: Certificate
    known: InterventionalData


def conclude(result: FitResult, prepared: Prepared) -> Conclusion:
    """The model in the units of the data, tested on samples it has not seen where there are any."""
    scm = result.scm.in_original_units(prepared.scaling)
    data = result.seen(scm, prepared.data)
    train, validation = (result.seen(scm, part) for part in prepared.parts[:2])
    known, unseen = prepared.data, prepared.parts[2]
    if unseen is not None:
        known, unseen = together(*prepared.parts[:2]), result.seen(scm, unseen)
    held_out = validation if unseen is None else unseen
    rest = compared_with_rest(scm, data, held_out, partial(result.seen, scm))
    if rest is not None:
        result = replace(result, status=_with_rest(result.status, rest))
    scm = scm.canonical(train.x)
    certificate = certify(
        scm,
        data.complete,
        held_out=None if unseen is None else unseen.complete,
        train=data.complete if unseen is None else train.complete,
        notes=result.status,
        seed=prepared.settings.seed,
    )
    return Conclusion(result, scm, certificate, known)


def _with_rest(status: FitStatus, rest: RestComparison) -> FitStatus:
    """The status with what the samples say that were not read."""
    advice = "The part that was read does not stand for the others: raise the memory allowed."
    return replace(
        status,
        reason=f"{status.reason} {rest.told}",
        advice=(*status.advice, advice) if rest.is_worse else status.advice,
    )
