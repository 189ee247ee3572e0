"""What was found for each number of factors: `FactorStep`, measured on held-out samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ucad.claims.adequacy import Adequacy, Level
from ucad.claims.samples import TestSamples
from ucad.data import InterventionalData
from ucad.scm import FactorSCM
from ucad.scm.reading_likelihood import reading_log_likelihood

__all__ = ["FactorStep", "HeldOut", "Leftover", "bend", "gain", "measured", "returning"]

COPY = 0.99
"""Correlation above which a factor is a copy of another, as in the notes of a search."""

RETURNS = 0.95
"""Correlation above which a factor of another model is the same factor."""

SMALL = 0.1
"""Share of what all factors gain in held-out likelihood that those beyond the bend gain together:
less than one of ten equal factors."""

Leftover = tuple[str, float]
"""A variable of which something is left, and the share of its variance."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FactorStep:
    """One number of factors, and what samples that did not help to fit say of it.

    Attributes:
        n_factors: m.
        nll: negative log-likelihood per sample and variable on held-out samples, in nats.
        standard_error: of that mean.
        leftover: a variable of which something is left at level 1, with the share of its variance;
            None means that m factors are adequate.
        n_anchored: factors with an in-anchor and an out-anchor.
        n_empty: factors for which nothing was found.
        n_copied: factors that are a copy of another.
        n_single_child: factors with one child, which are only names for its mechanism.
        n_edges: edges of Q and R.
        n_returning: factors that come back with one factor more; None if that was not tried.
        seconds: how long it took.
        log_likelihood: of every held-out sample.
        scm: the model, standardised.
    """

    n_factors: int
    nll: float
    standard_error: float
    leftover: Leftover | None
    n_anchored: int
    n_empty: int
    n_copied: int
    n_single_child: int
    n_edges: int
    n_returning: int | None = None
    seconds: float = 0.0
    log_likelihood: Float[np.ndarray, " samples"]
    scm: FactorSCM

    @property
    def is_adequate(self) -> bool:
        """Whether nothing was found to be left."""
        return self.leftover is None

    def row(self) -> dict[str, Any]:
        """The figures, ready for JSON and CSV."""
        variable, share = self.leftover or ("", 0.0)
        return {
            "n_factors": self.n_factors,
            "nll": round(self.nll, 6),
            "standard_error": round(self.standard_error, 6),
            "is_adequate": self.is_adequate,
            "left_of": variable,
            "left_share": round(share, 4),
            "n_anchored": self.n_anchored,
            "n_empty": self.n_empty,
            "n_copied": self.n_copied,
            "n_single_child": self.n_single_child,
            "n_edges": self.n_edges,
            "n_returning": self.n_returning,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The samples a number of factors is judged on.

    Attributes:
        train: what models are fitted to, standardised.
        validation: samples that did not help to fit; `train` itself where there are too few.
        seed: of the folds.
    """

    train: InterventionalData
    validation: InterventionalData
    seed: int

    @property
    def is_held_out(self) -> bool:
        """Whether the validation samples are others than those of the fit."""
        return not np.array_equal(self.validation.x, self.train.x)


def measured(
    scm: FactorSCM, held_out: HeldOut, *, first: Iterable[str] = (), seconds: float = 0.0
) -> FactorStep:
    """Judges one model.

    Args:
        scm: the model.
        held_out: the samples.
        first: the variables to test first: the test ends with the first finding.
        seconds: how long the fit took.
    """
    part, graph = held_out.validation, scm.graph
    likelihood = reading_log_likelihood(scm, part.x, part.is_left_out)
    per_entry = likelihood * len(likelihood) / max(1, int((~part.is_left_out).sum()))
    z = scm.state_map(part.x).detach().cpu().numpy()
    used = graph.Q.any(axis=0) & graph.R.any(axis=0)
    anchored = graph.in_anchors.any(axis=0) & graph.out_anchors.any(axis=0)
    return FactorStep(
        n_factors=graph.n_factors,
        nll=-float(per_entry.mean()),
        standard_error=float(per_entry.std() / np.sqrt(max(1, len(per_entry)))),
        leftover=_leftover(scm, held_out, first),
        n_anchored=int((anchored & used).sum()),
        n_empty=int((~used).sum()),
        n_copied=_n_copied(z[:, used]),
        n_single_child=int((graph.R[:, used].sum(axis=0) == 1).sum()),
        n_edges=int(graph.Q.sum() + graph.R.sum()),
        seconds=seconds,
        log_likelihood=likelihood,
        scm=scm,
    )


def gain(step: FactorStep, other: FactorStep) -> tuple[float, float]:
    """Mean and standard error of l_step − l_other, paired over held-out samples, in nats."""
    difference = step.log_likelihood - other.log_likelihood
    error = float(difference.std()) / np.sqrt(max(1, len(difference)))
    return float(difference.mean()), float(error)


def bend(steps: Sequence[FactorStep]) -> FactorStep:
    """The smallest number beyond which factors gain little in held-out likelihood.

    mean(l_best − l_m) ≤ 0.1 mean(l_best − l_first): the others together gain less than a tenth.
    """
    best = max(steps, key=lambda step: float(step.log_likelihood.mean()))
    whole, _ = gain(best, steps[0])
    return next(step for step in steps if gain(best, step)[0] <= SMALL * whole)


def returning(scm: FactorSCM, other: FactorSCM, data: InterventionalData) -> int:
    """How many factors of a model are, up to a line, also factors of another one."""
    if not scm.graph.n_factors or not other.graph.n_factors:
        return 0
    z, w = (one.state_map(data.x).detach().cpu().numpy() for one in (scm, other))
    return int((_correlations(z, w).max(axis=1) > RETURNS).sum())


def _leftover(scm: FactorSCM, held_out: HeldOut, first: Iterable[str]) -> Leftover | None:
    """What is left at level 1, where any smooth function of its factors is allowed for."""
    names = scm.graph.variable_names
    unseen = held_out.validation.complete if held_out.is_held_out else None
    adequacy = Adequacy(TestSamples.of(scm, held_out.train.complete, unseen, held_out.seed))
    early = [names.index(name) for name in first]
    order = [j for j in early if j in adequacy.tested]
    for j in [*order, *(j for j in adequacy.tested if j not in early)]:
        test, _ = adequacy.test(j, Level.GRAPH, adequacy.learners(j))
        if test.is_found:
            return names[j], min(1.0, float(test.share))
    return None


def _n_copied(z: Float[np.ndarray, "samples factors"]) -> int:
    alike = np.triu(_correlations(z, z) > COPY, k=1)
    return int(alike.any(axis=0).sum())


def _correlations(
    z: Float[np.ndarray, "samples some"], w: Float[np.ndarray, "samples others"]
) -> Float[np.ndarray, "some others"]:
    """|r| of every pair of columns; 0 for constant ones."""
    parts = [values - values.mean(axis=0) for values in (z, w)]
    norms = [np.maximum(np.linalg.norm(values, axis=0), 1e-12) for values in parts]
    found: Float[np.ndarray, "some others"] = np.abs(
        (parts[0] / norms[0]).T @ (parts[1] / norms[1])
    )
    return found
