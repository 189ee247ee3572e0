"""`compare`: what two fitted models have in common, beside what unrelated ones would."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from ucad._types import BooleanMatrix, VariableSamples
from ucad.consensus.consensus import common_samples
from ucad.consensus.matching import Matching, chance_values, factor_values, level_for, match
from ucad.consensus.support import Graph
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.graph import FactorGraph, boolean_product
from ucad.scm import FactorSCM

__all__ = ["Comparison", "EdgeAgreement", "FactorPairing", "Fitted", "compare", "compare_models"]

N_RELABELLED_GRAPHS = 200
"""Random relabellings of variables and factors behind the chance level of common edges: its mean
is known to a few percent of its spread."""

CHANCE_QUANTILE = 0.95
"""Agreement beyond this quantile of what unrelated models have is more than chance."""

MIN_COMMON_VARIABLES = 2
"""Models without two variables in common cannot be compared."""


@runtime_checkable
class Fitted(Protocol):
    """A fitted model with some of its data, as `UCAD` has it."""

    scm_: FactorSCM
    sample_: InterventionalData


class FactorPairing(NamedTuple):
    """A factor of the first model and its partner.

    Attributes:
        first: its name.
        second: the partner's name, or None.
        correlation: signed, 0 without a partner.
        in_chance: the share of unrelated pairs that are as close.
    """

    first: str
    second: str | None
    correlation: float
    in_chance: float


class EdgeAgreement(NamedTuple):
    """How far the edges of one graph agree.

    Attributes:
        graph: which.
        n_first: edges of the first model.
        n_second: of the second.
        n_common: edges in both.
        n_reversed: edges that have the other direction in the second model.
        jaccard: common edges over those in either; 1 if there are none.
        chance: the mean of that if variables and factors of one model are relabelled at random.
        chance_high: its 95 % quantile.
    """

    graph: Graph
    n_first: int
    n_second: int
    n_common: int
    n_reversed: int
    jaccard: float
    chance: float
    chance_high: float


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What two models have in common.

    Attributes:
        factors: one entry per factor of the first model.
        only_second: factors of the second without a partner.
        edges: one entry per graph, factors put in correspondence.
        level: the |correlation| that partners exceed.
        chance: the mean |correlation| of matched factors of unrelated models.
        n_samples: that factors were compared on.
        only_in_one: variables that one of the models does not have.
    """

    factors: tuple[FactorPairing, ...]
    only_second: tuple[str, ...]
    edges: tuple[EdgeAgreement, ...]
    level: float
    chance: float
    n_samples: int
    only_in_one: tuple[str, ...] = ()

    @property
    def n_agreeing(self) -> int:
        """Factors with a partner."""
        return sum(pair.second is not None for pair in self.factors)

    @property
    def verdict(self) -> str:
        """One sentence."""
        n_first, n_second = len(self.factors), self.n_agreeing + len(self.only_second)
        A = next(one for one in self.edges if one.graph is Graph.A)
        beyond = "more than" if A.jaccard > A.chance_high else "no more than"
        agree = "1 factor agrees" if self.n_agreeing == 1 else f"{self.n_agreeing} factors agree"
        return (
            f"{agree} (of {n_first} and {n_second}). Edges between variables in both: {A.n_common} "
            f"(of {A.n_first} and {A.n_second}), {beyond} unrelated models have in common."
        )

    def to_json(self) -> str:
        """Everything as JSON."""
        plain: dict[str, Any] = {
            "verdict": self.verdict,
            "factors": [pair._asdict() for pair in self.factors],
            "only_second": self.only_second,
            "edges": [edge._asdict() for edge in self.edges],
            "level": self.level,
            "chance": self.chance,
            "n_samples": self.n_samples,
            "only_in_one": self.only_in_one,
        }
        return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False)


def compare(
    first: Fitted, second: Fitted, data: InterventionalData | None = None, *, seed: int = 0
) -> Comparison:
    """Which factors and edges of two fitted models agree, beside what unrelated ones would.

    Factors are matched by their values on common samples: those given, or the samples that travel
    with both models. Models of different variables are compared on the variables they share: the
    others are held at the mean that they have in the model's own sample.

    Args:
        first: a fitted `UCAD`, such as `ucad.load("run/")`.
        second: another one.
        data: samples to compare on.
        seed: of the chance levels.
    """
    samples = [model.sample_ for model in (first, second)] if data is None else [data]
    if any(sample is None for sample in samples):
        raise InvalidInputError(
            "A model has no samples to be compared on: its run folder holds none. Give 'data'."
        )
    different = {one.fingerprint: one for one in samples}
    return compare_models(first.scm_, second.scm_, list(different.values()), seed=seed)


def compare_models(
    first: FactorSCM, second: FactorSCM, samples: Sequence[InterventionalData], *, seed: int = 0
) -> Comparison:
    """The same for models by themselves, on the given samples put together."""
    names = [scm.graph.variable_names for scm in (first, second)]
    common = [name for name in names[0] if name in names[1]]
    if len(common) < MIN_COMMON_VARIABLES:
        raise InvalidInputError(
            f"Models that are compared must share at least {MIN_COMMON_VARIABLES} variables by "
            f"name. Got {len(common)} of {len(names[0])} and {len(names[1])}."
        )
    x = _stacked([common_samples(one) for one in samples], common)
    z = [factor_values(scm, _filled(x, common, scm, samples)) for scm in (first, second)]
    unrelated = _unrelated(first, second, x, common, samples, seed)
    level = level_for(len(x), z[0].shape[1], z[1].shape[1])
    found = match(z[0], z[1], level)
    return Comparison(
        factors=_pairings(first.graph, second.graph, found, unrelated),
        only_second=tuple(
            name for k, name in enumerate(second.graph.factor_names) if k not in found.partner
        ),
        edges=_edges(first.graph, second.graph, found, seed),
        level=level,
        chance=float(unrelated.mean()) if len(unrelated) else 0.0,
        n_samples=len(x),
        only_in_one=tuple(sorted({*names[0], *names[1]} - set(common))),
    )


def _stacked(samples: Sequence[InterventionalData], common: Sequence[str]) -> VariableSamples:
    parts = []
    for one in samples:
        missing = [name for name in common if name not in one.variable_names]
        if missing:
            raise InvalidInputError(
                f"The data to compare on must have the variables of both models. There is no "
                f"'{missing[0]}'."
            )
        at = [one.variable_names.index(name) for name in common]
        parts.append(np.asarray(one.x[:, at], dtype=np.float64))
    return np.concatenate(parts)


def _filled(
    x: VariableSamples,
    common: Sequence[str],
    scm: FactorSCM,
    samples: Sequence[InterventionalData],
) -> Float[np.ndarray, "samples _"]:
    """The samples with a model's other variables at their mean, or 0 where nobody measured them."""
    names = scm.graph.variable_names
    filled = np.zeros((len(x), len(names)))
    for j, name in enumerate(names):
        if name in common:
            filled[:, j] = x[:, list(common).index(name)]
        else:
            known = [one for one in samples if name in one.variable_names]
            if known:
                filled[:, j] = known[0].x[:, known[0].variable_names.index(name)].mean()
    return filled


def _unrelated(
    first: FactorSCM,
    second: FactorSCM,
    x: VariableSamples,
    common: Sequence[str],
    samples: Sequence[InterventionalData],
    seed: int,
) -> np.ndarray:
    """|Correlations| of matched factors if the second model read other variables."""
    if first.graph.variable_names == second.graph.variable_names:
        return chance_values(first, second, _filled(x, common, first, samples), seed)
    own = [
        chance_values(scm, scm, _filled(x, common, scm, samples), seed) for scm in (first, second)
    ]
    return np.concatenate(own)


def _pairings(
    first: FactorGraph, second: FactorGraph, found: Matching, unrelated: np.ndarray
) -> tuple[FactorPairing, ...]:
    return tuple(
        FactorPairing(
            name,
            None if at is None else second.factor_names[at],
            r,
            float((unrelated >= abs(r)).mean()) if len(unrelated) and r else 1.0,
        )
        for name, at, r in zip(first.factor_names, found.partner, found.correlation, strict=True)
    )


class _Edges(NamedTuple):
    """Edges over the same variables and, in the order of the first model, the same factors."""

    Q: BooleanMatrix
    R: BooleanMatrix

    def of(self, graph: Graph) -> BooleanMatrix:
        if graph is Graph.Q:
            return self.Q
        if graph is Graph.R:
            return self.R
        left, right = (self.Q, self.R.T) if graph is Graph.A else (self.R.T, self.Q)
        return boolean_product(left, right)


def _edges(
    first: FactorGraph, second: FactorGraph, found: Matching, seed: int
) -> tuple[EdgeAgreement, ...]:
    """Agreement of all graphs; unmatched factors get places of their own at the end."""
    names = list(dict.fromkeys((*first.variable_names, *second.variable_names)))
    rest = [k for k in range(second.n_factors) if k not in found.partner]
    n_factors = first.n_factors + len(rest)
    places = {at: k for k, at in enumerate(found.partner) if at is not None}
    places |= {at: first.n_factors + number for number, at in enumerate(rest)}
    one = _placed(first, names, {k: k for k in range(first.n_factors)}, n_factors)
    other = _placed(second, names, places, n_factors)
    rng = np.random.default_rng(seed)
    draws = [
        _Edges(*(edges[rng_rows][:, rng_columns] for edges in other))
        for rng_rows, rng_columns in (
            (rng.permutation(len(names)), rng.permutation(n_factors))
            for _ in range(N_RELABELLED_GRAPHS)
        )
    ]
    return tuple(_agreement(graph, one, other, draws) for graph in Graph)


def _placed(
    graph: FactorGraph, names: Sequence[str], places: dict[int, int], n_factors: int
) -> _Edges:
    rows = [names.index(name) for name in graph.variable_names]
    columns = [places[k] for k in range(graph.n_factors)]
    placed = []
    for edges in (graph.Q, graph.R):
        matrix = np.zeros((len(names), n_factors), dtype=bool)
        matrix[np.ix_(rows, columns)] = edges
        placed.append(matrix)
    return _Edges(*placed)


def _agreement(graph: Graph, one: _Edges, other: _Edges, draws: Sequence[_Edges]) -> EdgeAgreement:
    a, b = one.of(graph), other.of(graph)
    chance = [_jaccard(a, draw.of(graph)) for draw in draws]
    turned = {Graph.Q: other.R, Graph.R: other.Q}.get(graph, b.T)
    return EdgeAgreement(
        graph,
        int(a.sum()),
        int(b.sum()),
        int((a & b).sum()),
        int((a & turned & ~b).sum()),
        _jaccard(a, b),
        float(np.mean(chance)),
        float(np.quantile(chance, CHANCE_QUANTILE)),
    )


def _jaccard(a: BooleanMatrix, b: BooleanMatrix) -> float:
    either = int((a | b).sum())
    return int((a & b).sum()) / either if either else 1.0
