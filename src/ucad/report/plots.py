"""`model.plot`: the figures of a fitted estimator, by matplotlib (the extra `plot`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ucad.consensus.support import Support
from ucad.data import InterventionalData
from ucad.effects import predict_regimes
from ucad.errors import InvalidInputError
from ucad.report.figures import (
    factor_path_figure,
    graph_figure,
    heat_map_figure,
    prediction_figure,
)
from ucad.scm import FactorSCM

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Plots"]


@dataclass(frozen=True, eq=False)
class Plots:
    """Figures of a fitted model; each is a matplotlib `Figure` to show or save.

    Attributes:
        scm: the model.
        sample: the samples that travel with it, if any.
        support: how often edges come back, if that was tried.
        path: what was found for every number of factors, if that was asked.
    """

    scm: FactorSCM
    sample: InterventionalData | None = None
    support: Support | None = None
    path: Mapping[str, Any] | None = None

    def graph(self) -> Figure:
        """Variables and factors; edges that do not come back are grey and dotted."""
        return graph_figure(self.scm, self.support)

    def heat_map(self) -> Figure:
        """Which variables make each factor (Q), and which it drives (R)."""
        return heat_map_figure(self.scm)

    def factors(self) -> Figure:
        """The held-out likelihood over the number of factors, of `n_factors="auto"`."""
        if self.path is None:
            raise InvalidInputError(
                "There is no path over numbers of factors to plot. Fit with n_factors='auto'."
            )
        return factor_path_figure(self.path)

    def predictions(self, data: InterventionalData | None = None) -> Figure:
        """Predicted against measured changes of every regime, in these data or the model's own."""
        samples = self.sample if data is None else data
        if samples is None:
            raise InvalidInputError("The model holds no samples. Hand some over: 'data'.")
        return prediction_figure(predict_regimes(self.scm, samples))
