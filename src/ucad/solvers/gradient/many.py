"""`fit_gradients`: the paper's learner on many data sets in one tensor program."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from ucad._types import Progress
from ucad.data import InterventionalData, Split
from ucad.errors import InvalidInputError
from ucad.solvers.gradient.fit import finish, identity_of, starting_points
from ucad.solvers.gradient.learner import make_learner
from ucad.solvers.gradient.moment_objective import MomentObjective, StackedMoments
from ucad.solvers.gradient.objective import Objective
from ucad.solvers.gradient.presets import GradientConfig, fast
from ucad.solvers.gradient.run import Checkpoint, Run
from ucad.solvers.gradient.training import Trained, train
from ucad.solvers.status import FitResult

__all__ = ["fit_gradients"]


def fit_gradients(  # noqa: PLR0913  (the entry point: everything a user may say about the fits)
    splits: Sequence[Split],
    n_factors: int,
    *,
    config: GradientConfig | None = None,
    seeds: Sequence[int],
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> list[FitResult]:
    """Fits one model to each data set, training all of their configurations together.

    For linear mechanisms and data sets of equal shape. Each is fitted as by `fit_gradient`, from
    the same starting points; only the noise is drawn in another order.

    Args:
        splits: the data sets, each with its training and validation part.
        n_factors: number of factors of every model.
        config: the settings; `fast(n_variables)` if not given.
        seeds: one random seed per data set.
        device: where to train.
        progress: called with how far training is.
        checkpoint: a file that keeps the state of training, and from which it is resumed.
    """
    started = time.monotonic()
    _check(splits, seeds)
    config = fast(splits[0].train.n_variables) if config is None else config
    learners = [
        make_learner(split.train, split.validation, n_factors, config, device) for split in splits
    ]
    drawn = [
        starting_points(learner, config, n_factors, seed)
        for learner, seed in zip(learners, seeds, strict=True)
    ]
    kept = None
    if checkpoint is not None:
        parts = [part for split in splits for part in (split.train, split.validation)]
        identity = identity_of(parts, n_factors, config, seeds[0])
        kept = Checkpoint(checkpoint, {**identity, "seeds": repr(list(seeds))})
    starts, grids = zip(*drawn, strict=True)
    sizes = tuple(len(grid) for grid in grids)
    objective = _stacked([learner.problem.objective for learner in learners], sizes)
    trained = train(
        replace(learners[0].problem, objective=objective),
        _stacked([learner.validation for learner in learners], sizes),
        {name: torch.cat([start[name] for start in starts]) for name in starts[0]},
        tuple(one for grid in grids for one in grid),
        config.training,
        Run(seeds[0], progress, checkpoint=kept),
    )
    each = zip(learners, _apart(trained, sizes), splits, seeds, strict=True)
    results = []
    for learner, own, split, seed in each:
        scm, status = finish(learner, own, config, Run(seed, progress))
        nll = scm.nll(split.validation.x, split.validation.is_left_out)
        results.append(FitResult(scm, status, nll, own.history, time.monotonic() - started))
    return results


def _stacked(parts: list[Objective], sizes: tuple[int, ...]) -> StackedMoments:
    from_moments = [part for part in parts if isinstance(part, MomentObjective)]
    if len(from_moments) < len(parts):
        raise InvalidInputError(
            "Data sets are fitted together only where both mechanisms are linear and the moments "
            "fit into memory. Fit these one by one, with `fit_gradient`."
        )
    return StackedMoments(tuple(from_moments), sizes)


def _apart(trained: Trained, sizes: tuple[int, ...]) -> Iterator[Trained]:
    """Yields the part of the result that belongs to each data set."""
    rows = torch.split(torch.arange(len(trained.nll)), list(sizes))
    for own in rows:
        yield trained._replace(
            parameters={name: value[own] for name, value in trained.parameters.items()},
            nll=trained.nll[own],
            violation=trained.violation[own],
        )


def _check(splits: Sequence[Split], seeds: Sequence[int]) -> None:
    if not splits or len(splits) != len(seeds):
        raise InvalidInputError(
            "'fit_gradients' needs at least one data set and as many seeds as data sets. "
            f"Got {len(splits)} and {len(seeds)} instead."
        )
    first = splits[0].train
    for split in splits:
        if not _alike(split.train, first):
            raise InvalidInputError(
                "Data sets that are fitted together must have the same variables and layers. "
                f"Got {split.train.n_variables} and {first.n_variables} variables; fit them one "
                "by one, with `fit_gradient`."
            )


def _alike(one: InterventionalData, other: InterventionalData) -> bool:
    if one.layer_of is None or other.layer_of is None:
        same_layers = one.layer_of is other.layer_of
    else:
        same_layers = np.array_equal(one.layer_of, other.layer_of)
    return one.n_variables == other.n_variables and same_layers
