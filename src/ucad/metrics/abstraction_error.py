"""The Causal Abstraction Error of learned factors, by the package `causal-abstraction-eval`."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.scm import Abstraction, FactorSCM, hard

__all__ = ["AbstractionErrors", "abstraction_errors", "is_available"]

SYSTEM_SAMPLES = 2000
"""Samples of the system that set the ranges from which interventions are drawn."""

N_NEAREST = 10
"""Of how many samples with nearly the wanted values one is taken to start from."""

NEWTON_STEPS = 30
"""Steps by which values of the variables are found that give a factor the wanted value."""

PHI_SPREAD = 1.0
"""By how many standard deviations variables that no factor reads are moved, to see whether the
factors notice."""

QUIET = logging.CRITICAL
"""The package reports what it skips; that is in the result, too."""


class AbstractionErrors(NamedTuple):
    """How far the diagram is from commuting *in the system itself*; 0 is exact.

    Both are mean squared differences of a factor, divided by the factor's variance in the system.

    Factors without causes among the factors are always acted on, and what is acted on is not
    compared: where no factor acts on another, there is nothing to compare, and both are None.

    Attributes:
        up: interventions are drawn in the system and lifted by τ (CAE↑).
        down: interventions are drawn on factors and brought about in the system (CAE↓).
        skipped: the share of interventions of `up` on factors that read the same variables, which
            cannot be set apart from below.
    """

    up: float | None
    down: float | None
    skipped: float


def is_available() -> bool:
    """Whether the package is installed: `pip install "ucad[yardstick]"`."""
    return importlib.util.find_spec("causal_abstraction") is not None


def abstraction_errors(
    learned: FactorSCM, system: FactorSCM, *, n_samples: int = 200, seed: int = 0
) -> AbstractionErrors:
    """CAE↑ and CAE↓ of a learned model of a system that can be acted on at will.

    The cell of a factor Z is Pa_Z, its value map is F_Z, the high-level model has the mechanisms
    F^H_Z at zero noise, and Φ, what should not matter, are the variables that no factor reads.

    Args:
        learned: the model whose factors are judged.
        system: what happens in truth; noise is switched off.
        n_samples: interventions of each kind.
        seed: of the interventions.

    Raises:
        InvalidInputError: the package is missing, or the two are of different variables.
    """
    if not is_available():
        raise InvalidInputError(
            "The Causal Abstraction Error needs the package 'causal-abstraction-eval': "
            'pip install "ucad[yardstick]".'
        )
    if set(learned.graph.variable_names) != set(system.graph.variable_names):
        raise InvalidInputError("The learned model and the system are of different variables.")
    diagram = _Diagram(learned, system, seed)
    if not diagram.read:
        return AbstractionErrors(None, None, 0.0)
    return diagram.errors(n_samples)


class _Diagram:
    """The learned model and the system in the package's own terms."""

    def __init__(self, learned: FactorSCM, system: FactorSCM, seed: int) -> None:
        self.learned, self.system, self.seed = learned, system, seed
        graph = learned.graph
        order = [system.graph.variable_index(name) for name in graph.variable_names]
        self.x = system.sample(SYSTEM_SAMPLES, seed).x[:, order].cpu().numpy()
        self.z = learned.state_map(self.x).cpu().numpy()
        self.spread = self.z.std(axis=0)
        self.read = [k for k in range(graph.n_factors) if graph.Q[:, k].any() and self.spread[k]]

    def errors(self, n_samples: int) -> AbstractionErrors:
        """Runs both tasks of the package."""
        from causal_abstraction import (
            BottomUpSampler,
            EvaluationConfig,
            EvaluationEngine,
            StandardTasks,
            TopDownSampler,
        )

        config = EvaluationConfig(
            metric="mse", seed=self.seed, logging_level=QUIET, phi_noise_std=PHI_SPREAD
        )
        engine = EvaluationEngine(
            self._high_level(), self._low_level(), self._value_map, self._cells, config
        )
        samplers = {
            "CAE_up": BottomUpSampler(self._value_map),
            "CAE_down": TopDownSampler(self._value_map),
        }
        tasks = [
            StandardTasks.score(engine.builder, name=name, include_faithfulness=True, sampler=one)
            for name, one in samplers.items()
        ]
        with contextlib.redirect_stderr(io.StringIO()):  # its progress bars
            found = engine.run_tasks(tasks, n_samples=n_samples, max_interventions=1)
        up, down = (found[name] for name in samplers)
        skipped = up.metadata.get("overlap_skipped", {}).get("n_skipped", 0) / n_samples
        return AbstractionErrors(_finite(up.score), _finite(down.score), skipped)

    @cached_property
    def _cells(self) -> Any:
        """The variables that each factor reads."""
        from causal_abstraction import CoarseGrainingMap, MicroVariableSchema

        graph = self.learned.graph
        names = graph.variable_names
        cells = {
            graph.factor_names[k]: [names[j] for j in np.flatnonzero(graph.Q[:, k])]
            for k in self.read
        }
        return CoarseGrainingMap(MicroVariableSchema.from_names(names), cells)

    @cached_property
    def _value_map(self) -> Any:
        """τ, in standard deviations of the factors, and ways to bring about a wanted value."""
        from causal_abstraction import ValueMap

        diagram = self

        class StateMap(ValueMap):  # type: ignore[misc]
            def abstract(self, name: str, values: Any) -> float:
                return diagram.lifted(name, np.asarray(values, dtype=np.float64))

            def ground(self, name: str, label: Any, rng: Any = None) -> np.ndarray:
                found = diagram.grounded({name: float(np.asarray(label).item())}, rng)
                return np.array([found[cell.variable] for cell in self.cg_map.get_micro_vars(name)])

            def ground_joint(self, labels: Mapping[str, Any], rng: Any = None) -> dict[str, Any]:
                wanted = {name: float(np.asarray(one).item()) for name, one in labels.items()}
                found = diagram.grounded(wanted, rng)
                return {name: np.array([value]) for name, value in found.items()}

        return StateMap(self._cells, {self._name(k): {0: self._subspace(k)} for k in self.read})

    def _name(self, k: int) -> str:
        return self.learned.graph.factor_names[k]

    def _subspace(self, k: int) -> Any:
        """Values of the variables that the factor reads, as the system shows them."""
        from causal_abstraction.spaces import RectSubspace

        rows = self.x[:, self.learned.graph.Q[:, k]]

        class Seen(RectSubspace):  # type: ignore[misc]
            def sample(self, shape: tuple[int, ...], rng: Any = None) -> np.ndarray:
                chosen = rng.integers(len(rows), size=shape)
                return np.take_along_axis(rows, chosen, axis=0)

        return Seen(*zip(rows.min(axis=0), rows.max(axis=0), strict=True))

    def _low_level(self) -> Any:
        """The system without noise."""
        from causal_abstraction import LowLevelModel, SystemState

        system, names = self.system, self.learned.graph.variable_names
        low_level = Abstraction(system).low_level

        class System(LowLevelModel):  # type: ignore[misc]
            def forward_with_interventions(self, _input_state: Any, interventions: Any) -> Any:
                clamps = {
                    name: torch.as_tensor(np.asarray(value, dtype=np.float64).ravel())
                    for name, value in interventions.items()
                }
                n_samples = max((len(value) for value in clamps.values()), default=1)
                x = low_level.solve(torch.zeros(n_samples, len(names)).double(), hard(clamps))
                return SystemState(
                    values={
                        name: x[:, [system.graph.variable_index(name)]].numpy() for name in names
                    }
                )

        return System()

    def _high_level(self) -> Any:
        """ℋ without noise: F^H_Z(z, 0)."""
        from causal_abstraction import AbstractVariable, CausalGraph
        from causal_abstraction.spaces import RectSubspace

        graph, high_level = self.learned.graph, Abstraction(self.learned).high_level
        model = CausalGraph()
        for k in self._sorted():
            parents = [p for p in self.read if graph.factor_adjacency[p, k]]
            z = self.z[:, k] / self.spread[k]
            domain = RectSubspace((float(z.min()), float(z.max())))
            model.add_variable(
                AbstractVariable(self._name(k), domain=domain),
                equation=self._equation(high_level.mechanism(self._name(k)), k, parents),
                parents=[self._name(p) for p in parents],
            )
        return model

    def _sorted(self) -> list[int]:
        from ucad.graph import topological_levels

        levels = topological_levels(self.learned.graph.factor_adjacency)
        assert levels is not None, "the factors of an f-DAG are acyclic"
        return sorted(self.read, key=lambda k: int(levels[k]))

    def _equation(
        self, mechanism: Callable[[Tensor, Tensor], Tensor], k: int, parents: list[int]
    ) -> Callable[..., float]:
        zero = torch.zeros(1, self.learned.graph.n_variables).double()

        def equation(**values: float) -> float:
            z = [float(values[self._name(p)]) * self.spread[p] for p in parents]
            return float(mechanism(torch.tensor([z]).double(), zero)[0]) / self.spread[k]

        return equation

    def lifted(self, name: str, values: np.ndarray) -> float:
        """F_Z(x_{Pa_Z}), in standard deviations."""
        k = self.learned.graph.factor_index(name)
        x = np.zeros((1, self.learned.graph.n_variables))
        x[0, self.learned.graph.Q[:, k]] = values
        return float(self.learned.state_map(x)[0, k]) / self.spread[k]

    def grounded(self, wanted: Mapping[str, float], rng: np.random.Generator) -> dict[str, float]:
        """Values of the variables that give factors the wanted values.

        From one of the samples that come nearest, by steps of least norm,
        x ← x + Jᵀ(JJᵀ)⁺(z* − F_Z(x)), J the Jacobian of these factors.
        """
        graph = self.learned.graph
        factors = [graph.factor_index(name) for name in wanted]
        goal = torch.tensor([wanted[self._name(k)] * self.spread[k] for k in factors]).double()
        free = np.flatnonzero(graph.Q[:, factors].any(axis=1))
        distance = ((self.z[:, factors] - goal.numpy()) ** 2).sum(axis=1)
        near = np.argsort(distance)[:N_NEAREST]
        x = torch.tensor(self.x[rng.choice(near)]).double()

        def values(part: Tensor) -> Tensor:
            full = x.clone().index_put((torch.from_numpy(free),), part)
            return self.learned.state_map(full[None])[0, factors].double()

        part = x[free]
        for _ in range(NEWTON_STEPS):
            J = torch.func.jacrev(values)(part)
            step = torch.linalg.pinv(J) @ (goal - values(part))
            part = part + step
            if float(step.abs().max()) < 1e-9:
                break
        return {graph.variable_names[j]: float(part[i]) for i, j in enumerate(free)}


def _finite(score: float) -> float | None:
    """None where nothing was compared."""
    return float(score) if np.isfinite(score) else None
