"""What ℋ predicts against what the network does: downstream units, doses, decoded layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad.networks.decisions import Decide, decision
from ucad.networks.passes import Inputs
from ucad.networks.steering import Steering, Swapped
from ucad.scm import hard

__all__ = [
    "Agreement",
    "DecodedAccuracy",
    "DoseResponse",
    "Match",
    "agreement",
    "decoded_accuracy",
    "dose_response",
]

DOSES = (-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0)
"""Values that a factor is set to, in its standard deviations: closer where most samples lie, and as
far as samples go."""


class Match(NamedTuple):
    """How well predicted changes agree with those that happened, over all nodes and samples.

    Attributes:
        r_squared: 1 − Σ (predicted − happened)² / Σ happened², each node in its standard
            deviations; 0 is what predicting "no change" has, and less is worse than that.
        correlation: Pearson's, of predicted and happened changes.
        n_nodes: how many units or factors that is over.
    """

    r_squared: float
    correlation: float
    n_nodes: int


class Agreement(NamedTuple):
    """What the factor SCM predicts downstream of an interchange, against the network.

    Attributes:
        units: over the units that the factors reach by way of others, and that were not patched;
            None if there is none.
        factors: over the factors downstream; None if there is none.
        output_change: mean absolute change of the output, in its standard deviations.
        decisions_changed: share of the inputs on which the decision is another.
    """

    units: Match | None
    factors: Match | None
    output_change: float
    decisions_changed: float


def agreement(
    steering: Steering,
    base: Inputs,
    source: Inputs,
    factors: Sequence[str] | str,
    decide: Decide = decision,
) -> Agreement:
    """Carries out an interchange in the network and in the factor SCM, and compares the changes.

    The SCM's answer is its counterfactual: the context of the base input, with the factors set to
    the source's values.
    """
    names = [factors] if isinstance(factors, str) else list(factors)
    swapped = steering.interchange(base, source, names)
    columns = [steering.scm.graph.factor_index(name) for name in names]
    wanted = hard({steering.scm.graph.factor_names[k]: swapped.source.z[:, k] for k in columns})
    x = steering.standard(swapped.before.x)
    predicted = steering.scm.counterfactual(x, wanted)
    units, later = _downstream(steering, columns)
    happened_x = steering.standard(swapped.after.x) - x
    return Agreement(
        _match(predicted.x - x, happened_x, x, units),
        _match(
            predicted.z - swapped.before.z,
            swapped.after.z - swapped.before.z,
            swapped.before.z,
            later,
        ),
        *_output_change(swapped, decide),
    )


@dataclass(frozen=True, eq=False)
class DoseResponse:
    """The network's output as one factor is moved.

    Attributes:
        factor: which.
        doses: t, in standard deviations of the factor.
        output: mean output at each dose, doses × outputs.
        decisions_changed: share of inputs whose decision differs from that at t = 0.
    """

    factor: str
    doses: Float[np.ndarray, " doses"]
    output: Float[np.ndarray, "doses outputs"]
    decisions_changed: Float[np.ndarray, " doses"]


def dose_response(
    steering: Steering,
    inputs: Inputs,
    factor: str,
    doses: Sequence[float] = DOSES,
    decide: Decide = decision,
) -> DoseResponse:
    """Moves a factor by t standard deviations, z_k ← z_k + t · sd(z_k), on every input."""
    before = steering.run(inputs)
    z = before.z[:, steering.scm.graph.factor_index(factor)]
    outputs, changed = [], []
    for dose in doses:
        moved = (z + dose * z.std(correction=0))[:, None]
        after = steering.set_factors(inputs, factor, moved).output
        outputs.append(after.reshape(len(after), -1).double().mean(dim=0).cpu().numpy())
        changed.append(float((decide(after) != decide(before.output)).double().mean()))
    return DoseResponse(factor, np.array(doses), np.array(outputs), np.array(changed))


class DecodedAccuracy(NamedTuple):
    """The task's accuracy as it is, and with units replaced by what the factors make of them."""

    before: float
    after: float


def decoded_accuracy(
    steering: Steering,
    inputs: Inputs,
    outcome: np.ndarray,
    sites: Sequence[str] = (),
    decide: Decide = decision,
) -> DecodedAccuracy:
    """Replaces the units of sites by act(F_X(τ(x))) and measures the accuracy of the decisions.

    Args:
        steering: the network and its SCM.
        inputs: on which.
        outcome: the right decision for each.
        sites: by name; all that factors make if not given.
        decide: from the network's output to its decision.
    """
    wanted = torch.from_numpy(np.asarray(outcome).astype(np.int64))

    def accuracy(output: Tensor) -> float:
        return float((decide(output).cpu() == wanted).double().mean())

    return DecodedAccuracy(
        accuracy(steering.run(inputs).output), accuracy(steering.decode(inputs, sites).output)
    )


def _downstream(
    steering: Steering, columns: list[int]
) -> tuple[Bool[np.ndarray, " units"], Bool[np.ndarray, " factors"]]:
    """The units and factors that given factors reach, without their children and themselves."""
    graph = steering.scm.graph
    patched = np.asarray(graph.R[:, columns].any(axis=1))
    reached = patched.copy()
    for _ in range(graph.n_factors):
        later = graph.Q[reached].any(axis=0)
        reached = reached | graph.R[:, later].any(axis=1)
    later = np.asarray(graph.Q[reached].any(axis=0))
    later[columns] = False
    return np.asarray(reached & ~patched), later


def _match(predicted: Tensor, happened: Tensor, level: Tensor, nodes: np.ndarray) -> Match | None:
    if not nodes.any():
        return None
    spread = level.std(dim=0, correction=0)
    scale = torch.where(spread > 0, spread, 1.0)
    a, b = ((change / scale)[:, nodes].reshape(-1) for change in (predicted, happened))
    total = float((b**2).sum())
    both = torch.stack([a, b])
    varies = bool((both.std(dim=1) > 0).all())
    return Match(
        r_squared=1 - float(((a - b) ** 2).sum()) / total if total > 0 else 0.0,
        correlation=float(torch.corrcoef(both)[0, 1]) if varies else 0.0,
        n_nodes=int(nodes.sum()),
    )


def _output_change(swapped: Swapped, decide: Decide) -> tuple[float, float]:
    before, after = swapped.before.output.double(), swapped.after.output.double()
    spread = before.reshape(len(before), -1).std(dim=0, correction=0)
    change = (after - before).reshape(len(before), -1).abs() / torch.where(spread > 0, spread, 1.0)
    changed = decide(swapped.after.output) != decide(swapped.before.output)
    return float(change.mean()), float(changed.double().mean())
