"""One fit of one of the paper's problems, compared with the truth and with its ceiling."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from enum import StrEnum
from typing import Any

import numpy as np
import torch

from ucad.constraints import acyclicity_violation
from ucad.errors import FormatError, InvalidInputError, did_you_mean
from ucad.graph import FactorGraph
from ucad.metrics import (
    ALL_METRICS,
    ConstantFactorWarning,
    Correlation,
    EvaluationSettings,
    RotationSettings,
    compare_structure,
    evaluate,
    mean_correlation,
    rotated_controls,
)
from ucad.schema import check_shape
from ucad.scm.families import FAMILIES, family_named
from ucad.simulate import SETTINGS, SIZES, Problem, Variation, paper_problem
from ucad.solvers import FitResult
from ucad.solvers.registry import AUTO, SolveSettings, solve
from ucad.solvers.search import oracle_score

__all__ = [
    "SOLVERS",
    "MetricSet",
    "RecoveryTask",
    "canonical",
    "compared_with_truth",
    "not_identifiable",
    "recover",
]

SOLVERS = ("search", AUTO, "gradient", "gradient-paper")
"""Those that solve the paper's problems; the others are for dense layers."""

COLLINEAR = 0.99
"""Correlation above which two true factors cannot be told apart."""

ACYCLICITY_TOLERANCE = 1e-6
"""The paper reports h − 1e-6, so an exact DAG has −1e-6."""
VALUES_ONLY = EvaluationSettings(
    n_resamples=0, n_permutations=0, n_rotations=0, n_refits=0, n_graphs=0
)


class MetricSet(StrEnum):
    """How much is measured: all of the paper's tables, or what takes no trees and no network."""

    ALL = "all"
    FAST = "fast"


_TASK = {
    **dict.fromkeys(("setting", "size", "solver", "mechanisms", "metrics"), str),
    **dict.fromkeys(("seed", "extra_factors", "n_samples", "min_parents"), int),
    **dict.fromkeys(("n_regimes", "n_unanchored"), int),
    "noise_scale": float,
    "ceiling": bool,
}


@dataclass(frozen=True, kw_only=True)
class RecoveryTask:
    """A problem, a way to solve it, and how much to measure.

    Attributes:
        setting: the letter of the paper's setting.
        size: variables-factors.
        seed: what makes the problem.
        solver: auto, search, gradient or gradient-paper.
        mechanisms: `true` fits the class of the true mechanisms, as the paper does; else `auto`,
            `linear` or `mlp` for both.
        extra_factors: how many factors too many are asked for; below 0, too few.
        n_samples: for training and validation together.
        min_parents: the least number of parents of a factor.
        noise_scale: of the variables; -1 for the setting's own.
        n_regimes: how many regimes clamp something; -1 for as many as there are variables.
        n_unanchored: how many factors lack an anchor.
        metrics: one of `MetricSet`.
        ceiling: whether the true graph is fitted as well.
    """

    setting: str
    size: str
    seed: int
    solver: str = "search"
    mechanisms: str = "true"
    extra_factors: int = 0
    n_samples: int = 10_000
    min_parents: int = 1
    noise_scale: int | float = -1
    n_regimes: int = -1
    n_unanchored: int = 0
    metrics: str = MetricSet.ALL.value
    ceiling: bool = True

    def __post_init__(self) -> None:
        choices = {
            "setting": list(SETTINGS),
            "size": list(SIZES),
            "solver": list(SOLVERS),
            "mechanisms": ["true", AUTO, *(family.name for family in FAMILIES)],
            "metrics": [str(name) for name in MetricSet],
        }
        for name, known in choices.items():
            value = getattr(self, name)
            if value not in known:
                raise InvalidInputError(
                    f"The '{name}' of a task must be one of {', '.join(known)}. Got {value!r} "
                    f"instead.{did_you_mean(str(value), known)}"
                )
        try:
            check_shape(asdict(self), _TASK, "A task")
        except FormatError as error:
            raise InvalidInputError(str(error)) from error

    def problem(self) -> Problem:
        """Simulates the problem."""
        return paper_problem(
            self.setting,
            self.size,
            self.seed,
            n_samples=self.n_samples,
            min_parents=self.min_parents,
            variation=Variation(
                noise_scale=None if self.noise_scale < 0 else self.noise_scale,
                n_regimes=None if self.n_regimes < 0 else self.n_regimes,
                n_unanchored=self.n_unanchored,
            ),
        )

    @property
    def kinds(self) -> tuple[str, str]:
        """What F_Z and F_X are fitted as."""
        if self.mechanisms != "true":
            return self.mechanisms, self.mechanisms
        chosen = SETTINGS[self.setting]
        F_Z, F_X = (
            "linear" if linear else "mlp"
            for linear in (chosen.linear_factors, chosen.linear_variables)
        )
        return F_Z, F_X


def canonical(task: Mapping[str, Any]) -> dict[str, Any]:
    """The task without what is left at its default, so that equal tasks are equal.

    >>> canonical({"setting": "a", "size": "16-3", "seed": 0, "solver": "search"})
    {'setting': 'a', 'size': '16-3', 'seed': 0}
    """
    known = [field.name for field in fields(RecoveryTask)]
    for name in task:
        if name not in known:
            raise InvalidInputError(
                f"A task has no option '{name}'.{did_you_mean(name, known)} Known are "
                f"{', '.join(known)}."
            )
    missing = [f.name for f in fields(RecoveryTask) if f.default is MISSING and f.name not in task]
    if missing:
        raise InvalidInputError(f"A task must say its {' and '.join(missing)}. Got {dict(task)}.")
    full = asdict(RecoveryTask(**task))
    defaults = {f.name: f.default for f in fields(RecoveryTask)}
    full["noise_scale"] = float(full["noise_scale"])  # 1 and 1.0 are one task
    return {name: value for name, value in full.items() if value != defaults[name]}


def recover(task: Mapping[str, Any]) -> dict[str, Any]:
    """Simulates, fits, and measures; `about` holds the seconds."""
    chosen = RecoveryTask(**task)
    problem = chosen.problem()
    F_Z, F_X = chosen.kinds
    settings = SolveSettings(
        n_factors=problem.n_factors + chosen.extra_factors,
        solver=chosen.solver,
        factor_mechanism=F_Z,
        variable_mechanism=F_X,
    )
    started = time.process_time()
    found = solve(problem.train, settings, validation=problem.validation)
    cpu_seconds = time.process_time() - started
    result = compared_with_truth(problem, found, MetricSet(chosen.metrics))
    about = {"fit_seconds": found.seconds, "fit_cpu_seconds": cpu_seconds}
    if chosen.ceiling:
        compared, about["ceiling_seconds"] = _ceiling(problem, found, chosen)
        result |= compared
    return {**_finite(result), "about": about}


def compared_with_truth(
    problem: Problem, found: FitResult, metrics: MetricSet = MetricSet.ALL
) -> dict[str, Any]:
    """What the paper's tables report of a fit, and what the fit says of itself."""
    with_trees = metrics == MetricSet.ALL
    return _finite(
        {
            **_figures(problem, found),
            **_factor_scores(problem, found, with_trees=with_trees),
            "validation_nll": found.validation_nll,
            "feasible": found.status.feasible,
            "converged": found.status.converged,
            "status": str(found.status),
            "notes": list(found.status.notes),
            "not_identifiable": list(not_identifiable(problem)),
        }
    )


def not_identifiable(problem: Problem) -> Iterator[str]:
    """Why the truth of a graph cannot be known from its data, one sentence each."""
    graph, data = problem.scm.graph, problem.train
    never = np.asarray(~data.is_intervened.any(axis=0))
    z = problem.scm.state_map(data.x).numpy()
    correlation = np.abs(np.corrcoef(z.T))
    for k, other in np.argwhere(np.triu(correlation > COLLINEAR, k=1)):
        yield f"Z{k + 1} and Z{other + 1} are collinear ({correlation[k, other]:.4f})."
    if data.layer_of is not None:
        return
    for k in range(graph.n_factors):
        parents, children = np.flatnonzero(graph.Q[:, k]), np.flatnonzero(graph.R[:, k])
        if len(parents) == len(children) == 1 and never[parents[0]] and never[children[0]]:
            yield f"Z{k + 1} has one parent and one child, and nobody clamps either."
        for i in parents[never[parents] & graph.R[parents].any(axis=1)]:
            yield f"A chain goes through X{i + 1} into Z{k + 1}, and nobody clamps X{i + 1}."


def _figures(problem: Problem, result: FitResult) -> dict[str, Any]:
    """The graph, the likelihood and the three MCC: what takes no time."""
    graph, truth = result.scm.graph, problem.scm.graph
    edges = compare_structure((graph.Q, graph.R), (truth.Q, truth.R))
    Q, R = (torch.from_numpy(np.array(matrix, dtype=np.float64)) for matrix in (graph.Q, graph.R))
    learned = result.scm.state_map(problem.test.x).numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantFactorWarning)
        mcc = {
            f"mcc_{c.value}": mean_correlation(learned, problem.factors, c).mean
            for c in Correlation
        }
    return {
        **mcc,
        "nll": result.scm.nll(problem.test.x, problem.test.is_intervened),
        "dag_violation": float(acyclicity_violation(Q, R)) - ACYCLICITY_TOLERANCE,
        "exact": edges.is_exact,
        "exact_Q": edges.Q.shd == 0,
        "exact_R": edges.R.shd == 0,
        "shd": edges.shd,
        "n_factors": graph.n_factors,
        "n_edges": int(graph.Q.sum() + graph.R.sum()),
    }


def _factor_scores(problem: Problem, found: FitResult, *, with_trees: bool) -> dict[str, Any]:
    """R², DCI and the rotated controls of the paper's mini table, on the test data."""
    if not with_trees:
        return {}
    learned = found.scm.state_map(problem.test.x).numpy()
    rotations = RotationSettings(standardised=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantFactorWarning)
        slow = [metric for metric in ALL_METRICS if not metric.value.startswith("mcc")]
        table = evaluate(learned, problem.factors, metrics=slow, settings=VALUES_ONLY)
        controls = rotated_controls(learned, problem.factors, settings=rotations)
    return {
        **{score.metric: score.value for score in table.scores},
        "dci_trees": table["dci_informativeness"].detail,
        "true_rotated": controls.true_rotated.mean,
        "learned_rotated": controls.learned_rotated.mean,
    }


def _ceiling(
    problem: Problem, found: FitResult, chosen: RecoveryTask
) -> tuple[dict[str, Any], float]:
    """The same refinement from the true graph, and how much higher what was found scores."""
    F_Z, F_X = RecoveryTask(setting=chosen.setting, size=chosen.size, seed=0).kinds
    families = (family_named(F_Z), family_named(F_X))

    def refined(graph: FactorGraph) -> FitResult:
        return oracle_score(problem.train, graph, families, validation=problem.validation)

    ceiling = refined(problem.scm.graph)
    is_scored = chosen.solver == "search" and chosen.mechanisms == "true"
    scored = found if is_scored else refined(found.scm.graph)
    gap = float(scored.history[-1]["score"]) - float(ceiling.history[-1]["score"])
    figures = {**_figures(problem, ceiling), "validation_nll": ceiling.validation_nll}
    return {"ceiling": figures, "score_above_ceiling": gap}, ceiling.seconds


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same with None for what is not a number."""
    clean: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            clean[name] = _finite(value)
        elif isinstance(value, float):
            clean[name] = value if math.isfinite(value) else None
        else:
            clean[name] = value
    return clean
