"""`Steering`: set factors of an abstraction inside the network itself, and see what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ucad.data import Scaling
from ucad.errors import InvalidInputError
from ucad.networks.features import covariates_of
from ucad.networks.outputs import ReadOutput, output_reader, tensor_output
from ucad.networks.passes import Inputs, forward, input_rows, n_inputs, undisturbed
from ucad.networks.recording import Activation
from ucad.networks.sites import Site, columns_of, layers_of, sites_of_names, variable_names
from ucad.networks.wrapped import unwrapped
from ucad.scm import FactorSCM

__all__ = ["Steered", "Steering", "Swapped"]


class Steered(NamedTuple):
    """What a network did: what it gave, and its units and factors on the way.

    Attributes:
        output: of the network, one row an input.
        x: the units, in the units of the network, after any patch.
        z: the factors that τ reads off them.
    """

    output: Tensor
    x: Float[Tensor, "rows units"]
    z: Float[Tensor, "rows factors"]


class Swapped(NamedTuple):
    """An interchange, beside the same inputs left alone and where the factors came from."""

    before: Steered
    after: Steered
    source: Steered


Wanted = Callable[[Tensor], Tensor]
"""From the factors as they are now to the factors as they should be."""


@dataclass(frozen=True, eq=False)
class Steering:
    """A network together with the factor SCM that was learned of its units.

    Setting factors K to z′ patches the children of K, in the units of the network:

        h′ = act(h + F_X(z with z_K ← z′_K) − F_X(z)),   z = τ(units)

    h and F_X(z) are those of the input left alone, so h − F_X(z) plays the context: this is the
    counterfactual of ℋ carried out in ℒ, and setting a factor to its own value changes nothing.
    The rest of the network then runs by itself. Where K has factors in several gaps, the later
    ones see the units as the earlier patches left them. Only children are patched, never the units
    that a factor is read from: what those do elsewhere, as a recurrent state does to its own
    read-out, stays as it is. If the SCM has a context, such as the next inputs of a recurrent
    network, it is F_X(z, w), with w read off the inputs that are steered.

    Attributes:
        model: the network; it is left as it was.
        scm: of the units, its variables named as `record` names them.
        scaling: if the SCM is of standardised units, how they were; a `UCAD` model or a run folder
            is in the network's own units already, and needs none.
        sites: where the variables are; read off their names if not given.
        activations: act, per site; ReLU where the smallest unit of the inputs at hand is exactly 0
            if not given.
        read_output: from what the model gives to the tensor that counts: a function, or what
            `output_reader` takes, such as "logits" or "logits@-1".
        batch_size: rows in one forward pass.
        replaces: whether children become act(F_X(z′)), without what the factors do not explain;
            at least as good wherever decoding keeps the network's decisions.
    """

    model: nn.Module
    scm: FactorSCM
    scaling: Scaling | None = None
    sites: tuple[Site, ...] = ()
    activations: tuple[Activation, ...] | None = None
    read_output: ReadOutput = tensor_output
    batch_size: int = 8192
    replaces: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", unwrapped(self.model))
        object.__setattr__(self, "read_output", output_reader(self.read_output))
        names = self.scm.graph.variable_names
        sites = tuple(self.sites) or sites_of_names(names)
        object.__setattr__(self, "sites", sites)
        if variable_names(sites) != names:
            raise InvalidInputError(
                f"The sites must have the {len(names)} variables of the SCM, in the same order. "
                f"Got {len(variable_names(sites))} units that differ from them."
            )
        if self.activations is not None and len(self.activations) != len(sites):
            raise InvalidInputError(
                f"'activations' must have one entry a site, {len(sites)}. "
                f"Got {len(self.activations)} instead."
            )
        if not self.scm.graph.respects_layers(layers_of(sites)):
            raise InvalidInputError(
                "Every factor's parents must lie in earlier layers than its children, or it cannot "
                "be set during a forward pass. Fit with the layers of the recording."
            )

    def run(self, inputs: Inputs) -> Steered:
        """The network left alone."""
        with undisturbed(self.model), torch.no_grad():
            return _joined([self._clean(part) for part in self._parts(inputs)])

    def interchange(
        self,
        base: Inputs,
        source: Inputs,
        factors: Sequence[str] | str,
        directions: Float[Tensor, "factors directions"] | None = None,
    ) -> Swapped:
        """Gives every base input the value that factors have on the source input in the same row.

        Args:
            base: the inputs that are steered.
            source: the inputs that the factors' values are taken from.
            factors: by name; set together.
            directions: instead of the factors themselves, orthonormal directions in the space of
                the given factors (each in units of its standard deviation on the base inputs) along
                which the values are taken over.
        """
        columns = self._columns(factors)
        if n_inputs(base) != n_inputs(source):
            raise InvalidInputError(
                "Every base input must have a source input. "
                f"Got {n_inputs(base)} and {n_inputs(source)}."
            )
        before, source_run = self.run(base), self.run(source)
        scale = before.z[:, columns].std(dim=0, correction=0)
        mix = None
        if directions is not None:
            D = directions.to(before.z)
            safe = torch.where(scale > 0, scale, 1.0)
            mix = (D @ D.T) / safe[:, None] * safe

        def wanted(rows: slice, z: Tensor) -> Tensor:
            z, new = z.clone(), source_run.z[rows][:, columns]
            z[:, columns] = new if mix is None else z[:, columns] + (new - z[:, columns]) @ mix
            return z

        return Swapped(before, self._set(base, before, columns, wanted), source_run)

    def set_factors(
        self, inputs: Inputs, factors: Sequence[str] | str, values: Float[Tensor, "rows chosen"]
    ) -> Steered:
        """The network with factors set to given values, one row an input."""
        columns = self._columns(factors)

        def wanted(rows: slice, z: Tensor) -> Tensor:
            z = z.clone()
            z[:, columns] = values[rows].to(z)
            return z

        return self._set(inputs, self.run(inputs), columns, wanted)

    def decode(self, inputs: Inputs, sites: Sequence[str] = ()) -> Steered:
        """The network with the units of some sites replaced by act(F_X(z)), nothing of h kept.

        Args:
            inputs: what the network is run on.
            sites: by name; all sites that factors make if not given. Units that no factor makes
                stay as they are.
        """
        chosen = self._chosen(sites)
        before = self.run(inputs)
        acts = self._acts(before.x)

        def edit_of(rows: slice, part: Inputs) -> _Patch:
            w = self.covariates(part)
            return _Patch(self, acts, before.x[rows], None, chosen, lambda z: z, w)

        return self._edited(inputs, edit_of)

    def covariates(self, inputs: Inputs) -> np.ndarray | None:
        """The context w of inputs, if the SCM has one."""
        effect = self.scm.context
        return None if effect is None else covariates_of(inputs, effect.names)

    def standard(self, x: Tensor, columns: slice = slice(None)) -> Tensor:
        """The network's values of units in the units of the SCM."""
        x = x.to(self.scm.noise_scale)
        if self.scaling is None:
            return x
        mean, scale = (torch.tensor(part[columns]).to(x) for part in self.scaling)
        return (x - mean) / scale

    def _set(
        self,
        inputs: Inputs,
        before: Steered,
        columns: list[int],
        wanted: Callable[[slice, Tensor], Tensor],
    ) -> Steered:
        children = np.asarray(self.scm.graph.R[:, columns].any(axis=1))
        acts = self._acts(before.x)

        def edit_of(rows: slice, part: Inputs) -> _Patch:
            clean, w = before.x[rows], self.covariates(part)
            expected = None
            if not self.replaces:
                expected = self.scm.expected_variables(before.z[rows], w)
            return _Patch(self, acts, clean, expected, children, lambda z: wanted(rows, z), w)

        return self._edited(inputs, edit_of)

    def _edited(self, inputs: Inputs, edit_of: Callable[[slice, Inputs], _Patch]) -> Steered:
        done, at = [], 0
        with undisturbed(self.model), torch.no_grad():
            for part in self._parts(inputs):
                rows = slice(at, at + n_inputs(part))
                at = rows.stop
                passed = forward(self.model, part, self.sites, edit_of(rows, part))
                done.append(self._steered(passed.output, passed.units))
        return _joined(done)

    def _clean(self, part: Inputs) -> Steered:
        passed = forward(self.model, part, self.sites)
        return self._steered(passed.output, passed.units)

    def _steered(self, output: Any, units: Tensor) -> Steered:
        z = self.scm.state_map(self.standard(units))
        return Steered(output_reader(self.read_output)(output).detach(), units, z)

    def _parts(self, inputs: Inputs) -> Iterator[Inputs]:
        total = n_inputs(inputs)
        for start in range(0, total, self.batch_size):
            rows = np.arange(start, min(start + self.batch_size, total))
            yield input_rows(self.model, inputs, rows)

    def _columns(self, factors: Sequence[str] | str) -> list[int]:
        names = [factors] if isinstance(factors, str) else list(factors)
        if not names:
            raise InvalidInputError("At least one factor must be named. Got none.")
        return [self.scm.graph.factor_index(name) for name in names]

    def _acts(self, x: Tensor) -> tuple[Activation, ...]:
        if self.activations is not None:
            return self.activations
        return tuple(Activation.of(x[:, columns]) for columns in columns_of(self.sites))

    def _chosen(self, sites: Sequence[str]) -> Bool[np.ndarray, " units"]:
        made = np.asarray(self.scm.graph.R.any(axis=1))
        names = [site.name for site in self.sites]
        unknown = [name for name in sites if name not in names]
        if unknown:
            raise InvalidInputError(f"There is no site '{unknown[0]}'. There are {names}.")
        for site, columns in zip(names, columns_of(self.sites), strict=True):
            if sites and site not in sites:
                made[columns] = False
        return made


@dataclass(frozen=True, eq=False)
class _Patch:
    """The edit that gives chosen units the values that wanted factors make.

    Attributes:
        steering: the network and its SCM.
        acts: per site.
        clean: the units of the inputs left alone.
        expected: F_X(z) of those, or None to keep nothing of them.
        chosen: the units to patch.
        wanted: from the factors as they are in this pass to those that should be.
        covariates: the context of the inputs, if the SCM has one.
    """

    steering: Steering
    acts: tuple[Activation, ...]
    clean: Float[Tensor, "rows units"]
    expected: Float[Tensor, "rows units"] | None
    chosen: Bool[np.ndarray, " units"]
    wanted: Wanted
    covariates: np.ndarray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "_now", self.steering.standard(self.clean).clone())

    def __call__(self, i: int, values: Tensor) -> Tensor | None:
        columns = columns_of(self.steering.sites)[i]
        now: Tensor = self.__dict__["_now"]
        now[:, columns] = self.steering.standard(values, columns)
        if not self.chosen[columns].any():
            return None
        mine = torch.from_numpy(self.chosen[columns]).to(values.device)
        patched = torch.where(mine, self._patched(now, i, columns).to(values), values)
        now[:, columns] = self.steering.standard(patched, columns)
        return patched

    def _patched(self, now: Tensor, i: int, columns: slice) -> Tensor:
        scm, scaling = self.steering.scm, self.steering.scaling
        z = self.wanted(scm.state_map(now))
        targets = torch.arange(columns.start, columns.stop, device=now.device)
        made = scm.expected_variables(z, self.covariates, targets)
        mean, scale = torch.zeros_like(made[0]), torch.ones_like(made[0])
        if scaling is not None:
            mean, scale = (torch.tensor(part[columns]).to(made) for part in scaling)
        if self.expected is None:
            return self.acts[i](mean + scale * made)
        change = scale * (made - self.expected[:, columns])
        return self.acts[i](self.clean[:, columns].to(made) + change)


def _joined(parts: Sequence[Steered]) -> Steered:
    return Steered(*(torch.cat(pieces) for pieces in zip(*parts, strict=True)))
