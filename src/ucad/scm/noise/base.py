"""What a noise family must offer: likelihood, sampling and quantile residuals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor

from ucad.scm.families import Mechanism, Targets

__all__ = ["Given", "NoiseFamily"]


class Given(NamedTuple):
    """What the law of some variables is conditional on.

    Attributes:
        mechanism: F_X.
        z: the factors at every sample.
        scale: the standard deviation of x_j − F_X(z)_j, one per variable.
        targets: which variables; all of them unless said.
    """

    mechanism: Mechanism
    z: Float[Tensor, "samples factors"]
    scale: Float[Tensor, " variables"]
    targets: Targets = slice(None)


@dataclass(frozen=True, eq=False)
class NoiseFamily(ABC):
    """The law of x_j given z, with mean F_X(z)_j. Its tensors are what a run folder stores."""

    name: ClassVar[str]

    @abstractmethod
    def log_prob(
        self,
        x: Float[Tensor, "samples variables"],
        given: Given,
        floor: float,
        is_left_out: Bool[Tensor, "samples variables"] | None = None,
    ) -> Float[Tensor, "samples variables"]:
        """The log-likelihood of every entry; the variance of a density is at least the floor."""

    @abstractmethod
    def draw(
        self, quantile: Float[Tensor, "samples variables"], given: Given
    ) -> Float[Tensor, "samples variables"]:
        """The values of the targets at given quantiles of their laws."""

    @abstractmethod
    def quantile_residual(
        self, x: Float[Tensor, "samples variables"], given: Given
    ) -> Float[Tensor, "samples variables"]:
        """Φ⁻¹ of the quantile at which a value lies, N(0, 1) where the law is right.

        Of discrete values the middle of their step is taken.
        """
