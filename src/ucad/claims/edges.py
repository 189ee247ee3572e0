"""What each edge is worth on unseen samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from ucad.claims.acted_edges import shown
from ucad.claims.answers import Answer, Claim, listed
from ucad.claims.net_effects import net_worth, replaceable
from ucad.claims.ridge import curves, fitted
from ucad.claims.robust import log_density, spread
from ucad.claims.samples import Fold, TestSamples

__all__ = ["LEVEL", "EdgeTests", "edge_worth"]

LEVEL = 0.05
"""The chance that any of the edges is supported by accident."""

MAX_EDGES, MAX_EDGES_IF_LARGE = 200, 40
"""Of more edges the weakest are tested, by the correlation of their ends on fitting rows."""

MAX_CHILDREN, MAX_CHILDREN_IF_LARGE = 12, 4
"""Edges into a factor are judged by so many of its children, the most correlated ones."""

N_RANDOM_FEATURES = 20
"""Random tanh features of the smoothers: half of those of the adequacy tests, for speed."""

MAX_ROWS_FOR_PATHS = 8000
"""Samples that paths which may cancel are compared in, at most. All samples take part, not only
unseen ones: an edge that is not there gains half a nat on those that fitted it, by which its paired
z stays below 2, and one whose paths nearly cancel takes many to be seen."""

MAX_FIT_ROWS, MAX_FIT_ROWS_IF_LARGE = 6000, 2000
"""Samples that the smoothers are fitted on, at most: a smoother of 100 columns loses 2 % of the
noise's variance to 6,000 samples and 5 % to 2,000, little beside what an edge is worth."""


def edge_worth(samples: TestSamples) -> Claim:
    """Is every edge worth something on unseen samples?

    For an edge Z_k → X_j, x_j from s(z_pa(j)) is compared with x_j from s(z_pa(j) ∖ k); for an edge
    X_i → Z_k, z_k is replaced by its regression on the other parents, summed over the children.
    d = the difference of log-densities of a test sample, Student's t of 4 degrees of freedom so
    that heavy tails do not drown it, both with the spread of the fuller model on fitting rows;
    supported if mean(d) / se(d) > Φ̄⁻¹(.05 / number of edges). Low-level edges that several factors
    carry are asked for what they are worth along all paths together (`net_worth`), and edges into
    factors whether they show where their variable was acted on (`shown`). One that does is
    supported, however little it is worth elsewhere.
    """
    tests = EdgeTests(samples)
    edges = tests.weakest
    n_edges = int(samples.graph.Q.sum() + samples.graph.R.sum())
    step = max(1, len(samples.x) // MAX_ROWS_FOR_PATHS)
    net = net_worth(samples, np.arange(0, len(samples.x), step))
    threshold = float(-ndtri(LEVEL / max(n_edges + len(net), 1)))
    worth = {tests.name(*edge): round(tests.worth(*edge), 3) for edge in edges}
    acted = {tests.name(i, k, True): is_shown for (i, k), is_shown in tests.acted_on.items()}
    unseen = [name for name, is_shown in acted.items() if not is_shown]
    weak = [name for name, z in worth.items() if z <= threshold and not acted.get(name)]
    mixed = replaceable(samples.graph, [pair for pair, z in net.items() if z <= threshold])
    idle = [" → ".join(samples.graph.variable_names[v] for v in pair[:2]) for pair in mixed]
    if not edges:
        answer, text = Answer.UNKNOWN, "The graph has no edges."
    elif weak or idle or unseen:
        answer = Answer.NO if len(weak) == len(edges) else Answer.PARTLY
        text = _text(weak + idle, unseen)
    else:
        answer = Answer.YES
        text = f"Each of the {len(edges)} edges tested makes unseen samples more likely."
    if len(edges) < n_edges:
        text += f" Tested were the weakest {len(edges)} of {n_edges}."
    return Claim(
        "edges",
        "Is every edge worth something on unseen samples?",
        answer,
        text,
        "Paired comparison of log-likelihoods on unseen samples",
        {
            "unsupported": [*weak, *(name for name in unseen if name not in weak)],
            "not_shown_where_acted_on": unseen,
            "cancelled": idle,
            "threshold": round(threshold, 3),
            "worth": worth,
            "n_edges": n_edges,
        },
    )


def _text(idle: list[str], unseen: list[str]) -> str:
    texts = []
    if idle:
        texts.append(
            f"Unseen samples are explained as well without {listed(idle)}: not to be claimed."
        )
    if unseen:
        texts.append(
            f"Where the variable was acted on, nothing shows of {listed(unseen)}: it may stand in "
            "for another one."
        )
    return " ".join(texts)


@dataclass(frozen=True, eq=False)
class EdgeTests:
    """Paired comparisons on unseen samples.

    Edges are (variable, factor, whether the variable is the cause).
    """

    samples: TestSamples

    @cached_property
    def fold(self) -> Fold:
        """One fold is enough: of several, the first."""
        fold = self.samples.folds[0]
        most = MAX_FIT_ROWS_IF_LARGE if self.samples.is_large else MAX_FIT_ROWS
        return Fold(fold.fit[:: max(1, len(fold.fit) // most)], fold.test)

    @cached_property
    def _correlation(self) -> Float[np.ndarray, "variables factors"]:
        rows = self.fold.fit
        x, z = (v[rows] - v[rows].mean(axis=0) for v in (self.samples.x, self.samples.z))
        size = np.outer(np.linalg.norm(x, axis=0), np.linalg.norm(z, axis=0))
        return np.abs(x.T @ z) / np.maximum(size, 1e-12)

    @cached_property
    def weakest(self) -> list[tuple[int, int, bool]]:
        """All edges or, of more than `MAX_EDGES`, the weakest."""
        graph = self.samples.graph
        edges = [(int(i), int(k), True) for i, k in np.argwhere(graph.Q)]
        edges += [(int(j), int(k), False) for j, k in np.argwhere(graph.R)]
        most = MAX_EDGES_IF_LARGE if self.samples.is_large else MAX_EDGES
        if len(edges) <= most:
            return edges
        return sorted(edges, key=lambda edge: self._correlation[edge[0], edge[1]])[:most]

    @property
    def acted_on(self) -> dict[tuple[int, int], bool]:
        """Those of `weakest` into a factor whose variable was acted on: whether they showed."""
        return shown(self.samples, [(i, k) for i, k, into in self.weakest if into])

    def name(self, variable: int, factor: int, into: bool) -> str:
        """The edge as text."""
        graph = self.samples.graph
        ends = (graph.variable_names[variable], graph.factor_names[factor])
        return " → ".join(ends if into else ends[::-1])

    def worth(self, variable: int, factor: int, into: bool) -> float:
        """The paired z of one edge."""
        if not into:
            kept = [k for k in self.samples.factors_of[variable] if k != factor]
            d = self._gain(variable, self.samples.z[:, kept])
            return _paired_z(d[~self.samples.is_intervened[self.fold.test, variable]])
        return self.lost(factor, self._without(variable, factor))

    def lost(self, factor: int, z: Float[np.ndarray, "samples factors"]) -> float:
        """The paired z of what the children of a factor lose if its values are others."""
        children = np.flatnonzero(self.samples.graph.R[:, factor])
        most = MAX_CHILDREN_IF_LARGE if self.samples.is_large else MAX_CHILDREN
        strongest = children[np.argsort(-self._correlation[children, factor])][:most]
        gains = [self._gain(int(j), z[:, self.samples.factors_of[j]]) for j in strongest]
        return _paired_z(np.sum(gains, axis=0)) if gains else 0.0

    def _without(self, i: int, k: int) -> Float[np.ndarray, "samples factors"]:
        """The factors, with z_k replaced by its regression on its parents other than i.

        Only on the rows of the fold: no others are asked for.
        """
        samples = self.samples
        others = np.flatnonzero(samples.graph.Q[:, k] & (np.arange(samples.n_variables) != i))
        fit, test = self.fold
        at_fit, at_test = (self._curves(samples.x[np.ix_(rows, others)]) for rows in self.fold)
        z = samples.z.copy()
        z[fit, k], z[test, k] = fitted(at_fit, samples.z[fit, k], at_test)
        return z

    def _gain(self, j: int, z: Float[np.ndarray, "samples some"]) -> Float[np.ndarray, " test"]:
        """What the factors add to log p(x_j | z), per test row; 0 where j is acted on."""
        error, size = self._full(j)
        reduced = self._errors(j, z)[1]
        gain = log_density(error / size) - log_density(reduced / size)
        return np.where(self.samples.is_intervened[self.fold.test, j], 0.0, gain)

    def _full(self, j: int) -> tuple[Float[np.ndarray, " test"], float]:
        """The errors of x_j given all its factors on test rows, and their spread."""
        cache: dict[int, tuple[np.ndarray, float]] = self.__dict__.setdefault("_cache", {})
        if j not in cache:
            at_fit, at_test = self._errors(j, self.samples.z[:, self.samples.factors_of[j]])
            cache[j] = at_test, spread(at_fit)
        return cache[j]

    def _errors(
        self, j: int, z: Float[np.ndarray, "samples some"]
    ) -> tuple[Float[np.ndarray, " fit"], Float[np.ndarray, " test"]]:
        """x_j minus its regression on curves of z, on fitting and on test rows."""
        fit, test = self.samples.free(j, self.fold.fit), self.fold.test
        columns_fit, columns_test = self._curves(z[fit]), self._curves(z[test])
        at_fit, at_test = fitted(columns_fit, self.samples.x[fit, j], columns_test)
        return self.samples.x[fit, j] - at_fit, self.samples.x[test, j] - at_test

    def _curves(self, u: Float[np.ndarray, "rows inputs"]) -> Float[np.ndarray, "rows columns"]:
        return curves(u, n_random=0 if self.samples.is_large else N_RANDOM_FEATURES)


def _paired_z(d: Float[np.ndarray, " rows"]) -> float:
    """Mean over standard error; 0 where there is nothing to compare."""
    error = float(d.std()) / np.sqrt(max(len(d), 1)) if len(d) else 0.0
    return float(d.mean()) / error if error > 0 else 0.0
