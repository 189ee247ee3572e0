"""`record`: a trained network as a low-level SCM, observed and with its units clamped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import nn

from ucad._types import Progress, ProgressEvent
from ucad.data import InterventionalData
from ucad.data.context import Context
from ucad.data.targets import split_targets
from ucad.errors import InvalidInputError
from ucad.networks.activation import Activation
from ucad.networks.clamps import RowClamps, check_groups, clamp_targets, regime_label
from ucad.networks.diagnosis import Diagnosis, diagnose
from ucad.networks.features import covariates_of
from ucad.networks.inputs import check_inputs
from ucad.networks.passes import (
    Edit,
    Inputs,
    forward,
    input_rows,
    n_inputs,
    resolve_sites,
    tensors_of,
    undisturbed,
)
from ucad.networks.sites import Site, check_units, columns_of, layers_of, variable_names
from ucad.networks.storage import Shelf, digest_of, finished, keep_recording, open_recording
from ucad.networks.wrapped import unwrapped

__all__ = ["Activation", "RecordSettings", "Recording", "load_recording", "record"]


MIN_PER_CLAMP, MAX_PER_CLAMP = 4, 500
"""Inputs for each clamp, if the user does not say how many: a mean needs a few, and 500 is what the
paper takes."""

CLAMPED_PER_OBSERVED = 4
"""Clamped samples for each one without a clamp, in all, if the user does not say how many: the cost
of a recording is then a fixed multiple of that of running the network on the inputs once."""


@dataclass(frozen=True, kw_only=True)
class RecordSettings:
    """What is recorded, and in what portions.

    Attributes:
        observational: how many inputs are recorded without a clamp, drawn without repetition; all,
            in their order, if not given.
        per_clamp: how many inputs each clamp is recorded on. If not given, it follows the width:
            all clamps together have up to four times as many samples as are recorded without one,
            each at least 4 and at most 500 (the paper's number).
        each_unit: whether every unit is clamped by itself, as in the paper.
        groups: further clamps, of several units at once, by the names of the variables.
        batch_size: rows in one forward pass, also the portion that goes to disk at once.
        precision: in which the values are kept; solvers add up squares, so double is the default.
    """

    observational: int | None = None
    per_clamp: int | None = None
    each_unit: bool = True
    groups: tuple[tuple[str, ...], ...] = ()
    batch_size: int = 4096
    precision: str = "float64"

    def __post_init__(self) -> None:
        least = {"per_clamp": 0, "batch_size": 1, "observational": 2}
        for name, lowest in least.items():
            value = getattr(self, name)
            if value is not None and value < lowest:
                raise InvalidInputError(
                    f"The '{name}' setting of RecordSettings must be at least {lowest}. "
                    f"Got {value} instead."
                )
        if self.precision not in ("float32", "float64"):
            raise InvalidInputError(
                "The 'precision' setting of RecordSettings must be 'float32' or 'float64'. "
                f"Got {self.precision!r} instead."
            )

    def per_clamp_for(self, n_observed: int, n_clamps: int) -> int:
        """How many inputs each of the clamps is recorded on.

        >>> [RecordSettings().per_clamp_for(20_000, n) for n in (8, 96, 1152)]
        [500, 500, 69]
        """
        if self.per_clamp is not None:
            return self.per_clamp
        shared = CLAMPED_PER_OBSERVED * n_observed // max(n_clamps, 1)
        return max(MIN_PER_CLAMP, min(MAX_PER_CLAMP, shared))


@dataclass(frozen=True, eq=False)
class Recording:
    """What a network did, as data, and what is needed to go back into it.

    Attributes:
        data: one variable per live unit, with layers in the order of the sites.
        sites: with the units that `data` holds, in the same order.
        input_of: which input each sample of `data` was recorded on.
        dead: the units that never changed without a clamp. They carry no information, are not
            clamped, and are no variables.
    """

    data: InterventionalData
    sites: tuple[Site, ...]
    input_of: Int[np.ndarray, " samples"]
    dead: tuple[str, ...] = ()

    @property
    def is_observational(self) -> Bool[np.ndarray, " samples"]:
        """Which samples were recorded without a clamp."""
        return np.asarray(self.data.regime == 0)

    @property
    def activations(self) -> tuple[Activation, ...]:
        """Per site: ReLU if the smallest value seen without a clamp is exactly 0."""
        seen = self.data.x[: int(self.is_observational.sum())]
        return tuple(Activation.of(seen[:, columns]) for columns in columns_of(self.sites))

    def diagnose(self, model: Any, inputs: Inputs, **options: Any) -> Diagnosis:
        """What the recorded sites can do to decisions, and what their context is (`diagnose`)."""
        return diagnose(model, inputs, self.sites, **options)

    def in_context(self, inputs: Inputs, names: Sequence[str]) -> Recording:
        """The recording with entries of the inputs as context, such as a diagnosis finds."""
        w = covariates_of(inputs, names)[self.input_of]
        return replace(self, data=self.data.with_context(Context(tuple(names), w)))


def record(  # noqa: PLR0913 - the front door: every option by its own name
    model: Any,
    inputs: Inputs,
    sites: Sequence[Site | str],
    *,
    settings: RecordSettings | None = None,
    context: Sequence[str] = (),
    seed: int = 0,
    directory: str | Path | None = None,
    progress: Progress | None = None,
) -> Recording:
    r"""Records the units of a network, by themselves and under clamps.

        x = units of model(input),    x_J ← x̃_J,   x̃ = units of a random observational sample

    First the observational passes, then for every unit (and group J) `per_clamp` passes on inputs
    drawn at random, in which the unit has a value drawn from its own empirical distribution; a
    group is drawn jointly. Every row of a batch has a clamp of its own, so that the clamps of many
    units share one pass. The model is in evaluation mode and without gradients meanwhile, and left
    exactly as it was, also after an error. Cost: one pass a row.

    With a `directory`, values go to disk portion by portion, and the same call goes on where an
    interrupted one stopped, with the same result. The finished folder is a data set that
    `ucad.read` and `ucad fit` take, and `load_recording` gives all of it back.

    Source: the paper's appendix "Interpretability".

    >>> model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2), nn.Tanh())
    >>> recording = record(model, torch.randn(100, 4), ["1", "3"])
    >>> recording.data
    InterventionalData(500 samples × 5 variables, 6 regimes, 2 layers)

    Args:
        model: a module, or one that nnsight wraps.
        inputs: what the model is called with, inputs on the first axis: a tensor or array, a tuple
            of them (arguments by position) or a mapping (by name).
        sites: whose units become the variables, in the order in which they are computed.
        settings: how much is recorded.
        context: entries of the inputs that act on units beside the units before them, such as
            `input[2,0]`; see `diagnose`, whose `covariates` are what is meant here.
        seed: of the inputs and values that are drawn.
        directory: where values go, if not into memory.
        progress: called after every portion.
    """
    settings = RecordSettings() if settings is None else settings
    model, inputs = unwrapped(model), check_inputs(inputs)
    chosen = resolve_sites(model, inputs, [_site(site) for site in sites])
    check_groups(settings.groups, variable_names(chosen))
    covariates_of(inputs, context)  # says what is wrong with them before any work is done
    known: dict[str, Any] = {"context": list(context)} if context else {}
    shelf = Shelf.of(directory, lambda: _identity(model, inputs, chosen, settings, seed) | known)
    if shelf.is_finished:
        return load_recording(shelf.folder)
    job = _Job(model, inputs, settings, shelf, progress)
    with shelf.left_if_any(), undisturbed(model), torch.no_grad():
        observed, rows = _observe(job, chosen, seed)
        check_units(observed, variable_names(chosen))
        live = observed.min(axis=0) < observed.max(axis=0)
        if not live.any():
            raise InvalidInputError("No unit of the chosen sites ever changes on these inputs.")
        kept = _only(chosen, live)
        recording = _clamp(job, kept, _Observed(observed, live, rows), seed)
    names = zip(variable_names(chosen), live, strict=True)
    recording = replace(recording, dead=tuple(name for name, alive in names if not alive))
    if context:
        recording = recording.in_context(inputs, context)
    if shelf.folder is None:
        return recording
    about = {"sites": [str(site) for site in kept], "dead": recording.dead, "seed": seed}
    about |= {"settings": asdict(settings), "activations": recording.activations}
    keep_recording(shelf, recording.data, recording.input_of, about)
    return load_recording(shelf.folder)


def load_recording(directory: str | Path | None) -> Recording:
    """Reads the folder that `record` wrote; the values stay on disk until they are used."""
    found = open_recording(Path(directory or ""))
    sites = tuple(Site.parse(site) for site in found.about["sites"])
    names = variable_names(sites)
    targets = np.array([np.isin(names, split_targets(name)) for name in found.regime_names])
    data = InterventionalData(
        found.x,
        targets[found.regime],
        found.regime,
        names,
        layer_of=layers_of(sites),
        regime_names=found.regime_names,
        context=found.context,
    )
    return Recording(data, sites, found.input_of, tuple(found.about["dead"]))


@dataclass(frozen=True, eq=False)
class _Job:
    model: nn.Module
    inputs: Inputs
    settings: RecordSettings
    shelf: Shelf
    progress: Progress | None

    def fill(
        self,
        stage: str,
        sites: Sequence[Site],
        input_of: Int[np.ndarray, " samples"],
        clamps: Callable[[slice], Edit] | None = None,
    ) -> np.ndarray:
        """The units on the given inputs, portion by portion, from where the shelf stands."""
        width = len(variable_names(sites))
        values = self.shelf.array(stage, (len(input_of), width), self.settings.precision)
        for start in range(self.shelf.done(stage), len(input_of), self.settings.batch_size):
            part = slice(start, start + self.settings.batch_size)
            inputs = input_rows(self.model, self.inputs, input_of[part])
            edit = None if clamps is None else clamps(part)
            values[part] = forward(self.model, inputs, sites, edit).units.cpu().numpy()
            end = min(part.stop, len(input_of))
            self.shelf.mark(stage, end)
            if self.progress is not None:
                self.progress(ProgressEvent(f"Recording, {stage}", end, len(input_of)))
        return finished(values)


@dataclass(frozen=True, eq=False)
class _Observed:
    """The observational values of all units, which of these live, and on which inputs."""

    values: np.ndarray
    live: Bool[np.ndarray, " units"]
    rows: Int[np.ndarray, " samples"]

    def live_values(self, rows: slice | Int[np.ndarray, " rows"]) -> np.ndarray:
        return np.asarray(self.values[rows][:, self.live])


def _observe(
    job: _Job, sites: Sequence[Site], seed: int
) -> tuple[np.ndarray, Int[np.ndarray, " samples"]]:
    total, wanted = n_inputs(job.inputs), job.settings.observational
    if wanted is not None and wanted > total:
        raise InvalidInputError(
            f"The 'observational' setting of RecordSettings must be at most the number of inputs, "
            f"{total}. Got {wanted} instead."
        )
    rows = np.arange(total)
    if wanted is not None:
        rows = np.random.default_rng([seed, 0]).permutation(total)[:wanted]
    return job.fill("observational", sites, rows), rows


def _clamp(job: _Job, sites: tuple[Site, ...], seen: _Observed, seed: int) -> Recording:
    """Records the clamps, and puts them together with what was observed."""
    names = variable_names(sites)
    targets = clamp_targets(names, each_unit=job.settings.each_unit, groups=job.settings.groups)
    per_clamp = job.settings.per_clamp_for(len(seen.rows), len(targets) - 1)
    regime = np.concatenate(
        [np.zeros(len(seen.rows), dtype=np.int64), np.repeat(np.arange(1, len(targets)), per_clamp)]
    )
    clamped = regime[len(seen.rows) :]
    rng = np.random.default_rng([seed, 1])
    input_of = rng.integers(n_inputs(job.inputs), size=len(clamped))
    drawn = rng.integers(len(seen.rows), size=len(clamped))
    values = job.fill(
        "clamped",
        sites,
        input_of,
        lambda part: RowClamps(sites, targets[clamped[part]], seen.live_values(drawn[part])),
    )
    both = job.shelf.array("all", (len(regime), len(names)), job.settings.precision)
    for start in range(0, len(seen.rows), job.settings.batch_size):
        part = slice(start, min(start + job.settings.batch_size, len(seen.rows)))
        both[part] = seen.live_values(part)
    both[len(seen.rows) :] = values
    data = InterventionalData(
        finished(both),
        targets[regime],
        regime,
        names,
        layer_of=layers_of(sites),
        regime_names=tuple(regime_label(np.array(names)[target].tolist()) for target in targets),
    )
    return Recording(data, sites, np.concatenate([seen.rows, input_of]))


def _only(sites: Sequence[Site], live: Bool[np.ndarray, " units"]) -> tuple[Site, ...]:
    alive = [
        tuple(np.array(site.units)[live[columns]].tolist())
        for site, columns in zip(sites, columns_of(sites), strict=True)
    ]
    return tuple(replace(s, units=units) for s, units in zip(sites, alive, strict=True) if units)


def _site(site: Site | str) -> Site:
    return Site.parse(site) if isinstance(site, str) else site


def _identity(
    model: nn.Module,
    inputs: Inputs,
    sites: Sequence[Site],
    settings: RecordSettings,
    seed: int,
) -> dict[str, Any]:
    """What must be the same for a recording to be gone on with."""
    return {
        "sites": [str(site) for site in sites],
        "settings": asdict(settings),
        "seed": seed,
        "inputs": digest_of(tensors_of(inputs)),
        "model": digest_of(list(model.state_dict().values())),
    }
