"""Readings: what factors are read from, and how, in the learned abstraction and in its controls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int

from ucad.data import InterventionalData
from ucad.data.context import Context
from ucad.networks.controls.bench import Bench, Gap
from ucad.networks.inputs import Inputs, arguments_of, select_inputs, tensors_of
from ucad.networks.placebos import untrained_like
from ucad.solvers.layered import BottleneckConfig, fit_bottleneck
from ucad.solvers.layered.independence import independent_axes

__all__ = [
    "ICA",
    "LEARNED",
    "PCA",
    "RANDOM",
    "RAW_INPUT",
    "UNTRAINED",
    "Reading",
    "raw_inputs",
    "readings_of",
]

LEARNED, RANDOM, PCA, ICA = "learned", "random factors", "PCA", "ICA"
UNTRAINED, RAW_INPUT = "untrained layer", "raw input"

MAX_RAW_WIDTH = 2000
"""Columns of the raw input up to which a control reads from it: a regression on more of them than
there are samples says nothing."""

MAX_LEVELS = 64
"""Different whole numbers up to which an input counts as a name, as of a token, and becomes
indicators."""

MIN_EXPLAINED = 0.9
"""Share of a factor's variance that a cut in two must explain for it to have two values: 0.75 for
an even spread, 0.64 for a normal one, and above 0.9 with a tenth of the samples in between."""

METHOD = BottleneckConfig(epochs=20, batch_size=256)
"""The method that reads from other places, in the number of steps that a few thousand samples
need."""


@dataclass(frozen=True, eq=False)
class Reading:
    """Factors of all rows of a bench, read in one way.

    Attributes:
        kind: which way.
        z: rows × factors.
    """

    kind: str
    z: Float[np.ndarray, "rows factors"]

    def has_two_values(self, fitted: np.ndarray, own: Sequence[int]) -> bool:
        """Whether two values explain nearly all of the variance of each of some factors."""
        columns = self.z[fitted][:, list(own)].T
        return all(_explained_by_a_cut(column) >= MIN_EXPLAINED for column in columns)

    def two_valued(self, fitted: np.ndarray) -> Reading:
        """The same factors, each cut in two between the means of its parts."""
        cut = np.array([_cut(column) for column in self.z[fitted].T])
        return replace(self, z=np.where(self.z > cut, 1.0, -1.0))


def readings_of(
    bench: Bench, gap: Gap, fitted: Int[np.ndarray, " some"], *, n_draws: int, seed: int
) -> Iterator[Reading]:
    """The learned factors of a gap, and as many read in other ways.

    Args:
        bench: the inputs that were run.
        gap: whose factors.
        fitted: the rows that methods may learn from.
        n_draws: of random factors; a third as many untrained networks.
        seed: random seed.
    """
    rng, k = np.random.default_rng(seed), len(gap.factors)
    parents = bench.x[:, torch.from_numpy(gap.parents)].cpu().numpy()
    yield Reading(LEARNED, bench.z[:, list(gap.columns)].cpu().numpy())
    standard = _standardised(parents, fitted)
    for _ in range(n_draws):
        yield Reading(RANDOM, standard @ rng.standard_normal((parents.shape[1], k)))
    components = _principal(parents, fitted, k)
    yield Reading(PCA, components)
    yield Reading(ICA, components @ independent_axes(components[fitted], seed=seed).T)
    y = bench.x[:, torch.from_numpy(gap.children)].cpu().numpy()
    method = _Method(y, bench.covariates(gap.children), fitted, k)
    chosen = select_inputs(bench.inputs, bench.rows)
    for draw in range(max(1, n_draws // 3)):
        fresh = replace(bench.steering, model=untrained_like(bench.steering.model, seed + draw))
        units = fresh.run(chosen).x.double()[:, torch.from_numpy(gap.parents)].cpu().numpy()
        yield Reading(UNTRAINED, method.factors(units, seed + draw))
    raw = raw_inputs(chosen)
    if raw is not None and raw.shape[1] >= 1:
        yield Reading(RAW_INPUT, method.factors(raw, seed))


def raw_inputs(inputs: Inputs) -> Float[np.ndarray, "rows columns"] | None:
    """All numbers of the inputs side by side, names as indicators; None if they are too many.

    >>> raw_inputs(np.array([[0, 2], [1, 2], [0, 1]])).tolist()
    [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]]
    """
    columns: list[np.ndarray] = []
    for part in tensors_of(arguments_of(inputs)):
        flat = torch.as_tensor(part).detach().cpu().reshape(len(part), -1).numpy()
        is_name = flat.dtype.kind in "biu"
        for column in flat.T:
            levels = np.unique(column)
            if len(levels) < 2:
                continue
            if is_name and len(levels) <= MAX_LEVELS:
                columns += [(column == level).astype(np.float64) for level in levels]
            elif is_name:
                return None
            else:
                columns.append(column.astype(np.float64))
            if len(columns) > MAX_RAW_WIDTH:
                return None
    return np.stack(columns, axis=1) if columns else None


@dataclass(frozen=True, eq=False)
class _Method:
    """Factors between other units and the same children: bottleneck, then independent axes.

    Attributes:
        y: the children.
        w: the context that acts on them; None if there is none.
        fitted: the rows to learn from.
        n_factors: how many.
    """

    y: Float[np.ndarray, "rows effects"]
    w: Float[np.ndarray, "rows covariates"] | None
    fitted: Int[np.ndarray, " some"]
    n_factors: int

    def factors(
        self, units: Float[np.ndarray, "rows units"], seed: int
    ) -> Float[np.ndarray, "rows factors"]:
        """The factors of all rows; zeros where the units are fewer, or no child ever changes."""
        units, children = (_changing(part, self.fitted) for part in (units, self.y))
        k = min(self.n_factors, units.shape[1])
        if not k or not children.shape[1]:
            return np.zeros((len(self.y), self.n_factors))
        layer_of = [0] * units.shape[1] + [1] * children.shape[1]
        both = np.concatenate([units, children], axis=1)
        data = InterventionalData.from_arrays(both[self.fitted], layer_of=layer_of)
        if self.w is not None:
            names = tuple(f"w{c}" for c in range(self.w.shape[1]))
            data = replace(data, context=Context(names, self.w[self.fitted]))
        scm = fit_bottleneck(data, k, config=METHOD, seed=seed).scm
        z = scm.state_map(both).cpu().numpy()
        return np.concatenate([z, np.zeros((len(z), self.n_factors - k))], axis=1)


def _changing(x: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    """The columns that change: an untrained layer has dead units, and few rows leave some dead.

    A standard deviation does not tell: of equal numbers it may be 1e-17.
    """
    return np.asarray(x[:, x[fitted].max(axis=0) > x[fitted].min(axis=0)])


def _standardised(x: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    spread = x[fitted].std(axis=0)
    return np.asarray((x - x[fitted].mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _principal(x: np.ndarray, fitted: np.ndarray, k: int) -> np.ndarray:
    """The first principal components; zeros where there are fewer."""
    centred = x - x[fitted].mean(axis=0)
    axes = np.linalg.svd(centred[fitted], full_matrices=False)[2][:k]
    return np.concatenate([centred @ axes.T, np.zeros((len(x), k - len(axes)))], axis=1)


def _explained_by_a_cut(values: np.ndarray) -> float:
    above = values > _cut(values)
    total = float(values.var())
    if total == 0 or above.all() or not above.any():
        return 0.0
    within = sum(float(values[part].var()) * part.mean() for part in (above, ~above))
    return 1 - within / total


def _cut(values: np.ndarray, n_rounds: int = 20) -> float:
    """Halfway between the means of the two parts, as in k-means with two centres."""
    cut = float(values.mean())
    for _ in range(n_rounds):
        above = values > cut
        if above.all() or not above.any():
            break
        cut = float((values[above].mean() + values[~above].mean()) / 2)
    return cut
