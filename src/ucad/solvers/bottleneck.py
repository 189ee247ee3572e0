"""The bottleneck solver: a few factors between every two layers, singled out by independence."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ucad._types import Progress
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.solvers.gap_training import BottleneckConfig, GapData, GapTraining, Readout
from ucad.solvers.gaps import FactorSwitch, GapModel, assemble, gaps_of, held_out_nll
from ucad.solvers.independence import excess_kurtosis, independent_axes
from ucad.solvers.status import FitResult, FitStatus
from ucad.solvers.switches import Switch, two_valued_direction

__all__ = ["BottleneckConfig", "Readout", "fit_bottleneck"]

_MOST_CLUSTERED = 20_000


def fit_bottleneck(
    data: InterventionalData,
    n_factors: int,
    *,
    config: BottleneckConfig | None = None,
    validation: InterventionalData | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> FitResult:
    """Fits z = W x_l + b and x_{l+1} = F_X(z) + u in every gap between two layers.

    A dense layer makes every gap complete bipartite: any invertible map of a gap's factors explains
    the data as well, and there are no anchors to choose by. So the factors are found in two steps:

    1. W and F_X (one hidden layer of tanh) minimise Σ_j (x_j − F_X,j(W x_l + b))² over the samples
       in which no x_j of layer l + 1 is clamped. Errors are in the units the data were measured
       in: a unit that hardly varies hardly counts.
    2. The factors of a gap are turned to the axes of least kurtosis (`independent_axes`), the most
       two-valued first.

    With the setting `switch`, a two-valued factor comes first: the axes of a first bottleneck are
    improved among all units (`two_valued_direction`), and the most two-valued of these directions
    is put through a steep tanh. The other factors are then trained beside it, and made uncorrelated
    with it; a gap without such an axis is fitted as above. With `readouts`, small errors that
    matter to the network count too: its decisions from F_X(z) must be those it takes itself, which
    is a measurement, not a label.

    Nothing else beyond the next layer is used. O(samples · factors · hidden) an epoch.

    Args:
        data: samples of layered variables, standardised or not.
        n_factors: of all gaps together.
        config: the settings.
        validation: held-out samples in the same units; the data themselves if None.
        seed: of the start, the batches and the axes.
        progress: told after every epoch.
    """
    started, config = time.perf_counter(), config or BottleneckConfig()
    gaps = gaps_of(data, n_factors, config.factors_per_gap)
    readouts = config.readouts or (None,) * len(gaps)
    if len(readouts) != len(gaps):
        raise InvalidInputError(
            f"The 'readouts' setting of BottleneckConfig must have one entry a gap, {len(gaps)}. "
            f"Got {len(readouts)} instead."
        )
    measured = data.unstandardised()
    models, history, interrupted = [], [], False
    for number, gap in enumerate(gaps):
        gap_data = GapData.of(measured, gap)
        stage = f"Gap {number + 1} of {len(gaps)}"
        switch = None
        if config.switch is not None and not interrupted:
            search = _SwitchSearching(gap_data, config, readouts[number], seed)
            switch, interrupted = search.run(progress, stage)
        training = GapTraining(gap_data, gap.n_factors, config, seed, switch, readouts[number])
        if not interrupted:
            interrupted = training.run(progress, stage)
        found = _turned(training)
        models.append(found.model)
        history.append(_row(number, gap_data, found))
    scm = assemble(measured, gaps, models)
    if data.scaling is not None:
        scm = scm.in_standard_units(data.scaling)
    return FitResult(
        scm,
        _status(interrupted),
        held_out_nll(scm, data, validation),
        tuple(history),
        time.perf_counter() - started,
    )


class _Found(NamedTuple):
    model: GapModel
    kurtosis: Float[np.ndarray, " factors"]


class _SwitchSearching(NamedTuple):
    data: GapData
    config: BottleneckConfig
    readout: Readout | None
    seed: int

    def run(self, progress: Progress | None, stage: str) -> tuple[Switch | None, bool]:
        """The switch of a gap, if it has one, and whether somebody stopped the search."""
        data, search, seed = self.data, self.config.switch, self.seed
        assert search is not None
        wide = replace(self.config, hidden=search.hidden, epochs=search.epochs)
        readout = self.readout if search.by_behaviour else None
        n_factors = min(search.n_factors, data.x.shape[1])
        training = GapTraining(data, n_factors, wide, seed, readout=readout)
        if training.run(progress, f"{stage}, in search of a switch"):
            return None, True
        axes = independent_axes(training.factors()[data.seen], seed=seed).unmixing
        starts = axes @ training.parameters[0].detach().double().numpy()
        rows = np.random.default_rng(seed).permutation(data.seen)[:_MOST_CLUSTERED]
        x = data.x.numpy()[rows].astype(np.float64)
        # A heavy-tailed factor can keep the search for axes from its goal, so every axis is tried.
        found = np.array([two_valued_direction(x, start) for start in starts])
        kurtosis = excess_kurtosis(x @ found.T)
        if kurtosis.min() > search.most_kurtosis:
            return None, False
        direction = found[kurtosis.argmin()]
        return Switch.along(x, direction, search.steepness), False


def _turned(training: GapTraining) -> _Found:
    """The trained gap in the units of the data: z = U (ẑ − mean) of the trained factors ẑ.

    U leaves the switch alone, takes what is correlated with it out of the other factors, and turns
    those to independent axes; every factor has mean 0 and variance 1.
    """
    data, k = training.data, training.s.shape[1]
    A, W1, b1, W2, b2 = (part.detach().double().numpy() for part in training.parameters)
    z = training.factors()[data.seen]
    U, mean = _unmixing(z, k, training.seed), z.mean(axis=0)
    mixing, effects = np.linalg.inv(U), data.y.shape[1]
    weight = U[:, k:] @ A / data.x_scale
    moves = (data.y.std(dim=0) > 0).numpy()[:, None]
    model = GapModel(
        weight=weight,
        bias=-U @ mean - weight @ data.x_mean,
        w1=np.tile(W1 @ mixing, (effects, 1, 1)),
        b1=np.tile(b1 + W1 @ mean, (effects, 1)),
        w2=np.where(moves, W2, 0.0) * data.y_scale,
        b2=data.y_mean + b2 * data.y_scale,
        noise_scale=training.errors() * data.y_scale,
        switch=_in_measured_units(training.switch, data, U[:, :k]),
    )
    return _Found(model, excess_kurtosis((z - mean) @ U.T))


def _unmixing(
    z: Float[np.ndarray, "samples factors"], n_switches: int, seed: int
) -> Float[np.ndarray, "factors factors"]:
    k, U = n_switches, np.zeros((z.shape[1], z.shape[1]))
    s, others = z[:, :k] - z[:, :k].mean(axis=0), z[:, k:] - z[:, k:].mean(axis=0)
    shared = np.linalg.lstsq(s, others, rcond=None)[0]
    U[:k, :k] = np.diag(1 / s.std(axis=0))
    if others.shape[1]:
        U[k:, k:] = independent_axes(others - s @ shared, seed=seed).unmixing
        U[k:, :k] = -U[k:, k:] @ shared.T
    return U


def _in_measured_units(
    switch: Switch | None, data: GapData, gain: Float[np.ndarray, "factors switches"]
) -> FactorSwitch | None:
    if switch is None:
        return None
    direction = switch.direction / data.x_scale
    return FactorSwitch(direction, switch.offset - float(direction @ data.x_mean), gain[:, 0])


def _row(number: int, data: GapData, found: _Found) -> dict[str, float | int | str]:
    unexplained = (found.model.noise_scale / data.y_scale) ** 2
    return {
        "gap": number,
        "r2": float(1 - unexplained.mean()),
        "kurtosis": " ".join(f"{value:.2f}" for value in found.kurtosis),
        "switch": "no" if found.model.switch is None else "yes",
    }


def _status(interrupted: bool) -> FitStatus:
    note = (
        "Every gap is complete bipartite, so there are no anchors: the axes were chosen by "
        "independence (least kurtosis), which the paper's theorem does not cover."
    )
    if interrupted:
        reason = "Stopped before the end of training."
        return FitStatus(
            converged=False, feasible=True, interrupted=True, reason=reason, notes=(note,)
        )
    return FitStatus(
        converged=True, feasible=True, reason="Every gap was trained to the end.", notes=(note,)
    )
