"""In which classes of mechanisms a path over the number of factors is climbed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ucad.claims.mechanism_class import kept_classes, simplest_classes
from ucad.consensus.factor_path import HeldOut
from ucad.consensus.without_factors import independent_scm
from ucad.scm import FactorSCM
from ucad.solvers.registry import Classes, Help
from ucad.solvers.search.auto import Class, is_bent
from ucad.solvers.search.search import Preparation, Search
from ucad.solvers.search.solver import as_result, expressed

__all__ = ["likely_classes"]

N_PILOT = 3
"""Factors of the linear model by which the class is chosen: a class shows in a single factor, as
soon as that has several parents and several children."""


def likely_classes(
    classes: Classes, prepared: Preparation, direct: FactorSCM | None, held_out: HeldOut
) -> tuple[Class, ...]:
    """The first class, unless curves of its causes predict what a variable leaves.

    Then a model of a few factors in the first class is expressed in the others, and the simplest
    class comes first whose held-out likelihood is within two standard errors of the best, the
    others after it by their likelihood: the linear model was found in the wrong class, so it can
    mislead. Whether a variable bends is seen in a regression on its direct causes, whatever the
    number of factors.

    Args:
        classes: simple ones first.
        prepared: candidates in the first class.
        direct: the model without factors in the first class; None if nothing has a cause.
        held_out: the samples.
    """
    first, *others = classes
    is_linear = first[0].is_affine and first[1].is_affine
    if not others or not is_linear:
        return (first,)
    direct = independent_scm(held_out.train) if direct is None else direct
    if not is_bent(direct, held_out.train, held_out.validation):
        return (first,)
    aid, part = Help(held_out.validation), held_out.validation
    problem = replace(prepared.problem, n_factors=min(N_PILOT, part.n_variables - 1))
    pilot = as_result(Search(problem, prepared=prepared, fills=False).run(), aid)
    likelihood: dict[tuple[bool, bool], np.ndarray] = {}
    for one in others:
        in_class = replace(problem, factor_family=one[0], variable_family=one[1])
        scm = expressed(in_class, pilot, aid).scm
        values = scm.log_likelihood(part.x, part.is_left_out).detach().cpu().numpy()
        likelihood[(not one[0].is_affine, not one[1].is_affine)] = values
    simple = simplest_classes(kept_classes(likelihood))
    best = max(simple, key=lambda kind: float(likelihood[kind].mean()))
    kinds = sorted(likelihood, key=lambda kind: (kind != best, -float(likelihood[kind].mean())))
    of_kind = dict(zip(likelihood, others, strict=True))
    return tuple(of_kind[kind] for kind in kinds)
