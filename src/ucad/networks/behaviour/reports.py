"""Reports: what was found between two sites, as text and as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["CERTIFIED", "MIN_UNSEEN", "FactorReport", "GapReport"]

CERTIFIED = 0.95
"""Agreement of a factor's swaps with the network's own answers from which on it counts as the
variable that the network uses."""

MIN_UNSEEN = 60
"""Unseen inputs that it takes to say so: of fewer, all may agree by chance, one time in twenty,
although one in twenty does not (0.95⁵⁹ < 0.05). However many pairs are made of them."""


@dataclass(frozen=True)
class FactorReport:
    """What is known of one factor.

    Attributes:
        factor: its name in the model.
        concept: the block of features or the state that it stands for.
        n_classes: how many values it has.
        read_out: share of unseen inputs on which it is read right, classes balanced.
        agreement: of its swaps with the network's own answers, on unseen inputs; nothing is 0.5.
        features: names of the block's features; none for a state.
        typical_share: share of the pairs in which no input lies at a threshold of the network.
        typical_agreement: agreement in these. At a threshold the network itself takes an input now
            for one value and now for another, which no factor with few values can follow.
        n_unseen: different inputs that the pairs are made of; None if not counted.
    """

    factor: str
    concept: str
    n_classes: int
    read_out: float
    agreement: float
    features: tuple[str, ...] = ()
    typical_share: float = 1.0
    typical_agreement: float = 0.0
    n_unseen: int | None = None

    @property
    def is_certified(self) -> bool:
        """Whether swaps agree on all pairs; what holds away from thresholds only is told beside."""
        return self.agreement >= CERTIFIED and not self._has_few

    @property
    def _has_few(self) -> bool:
        return self.n_unseen is not None and self.n_unseen < MIN_UNSEEN

    def __str__(self) -> str:
        away = ""
        if self.typical_share < 1:
            away = (
                f", {self.typical_agreement:.3f} away from thresholds, "
                f"that is in {self.typical_share:.2f} of the pairs"
            )
        if self._has_few:
            away += f", but of {self.n_unseen} unseen inputs only: {MIN_UNSEEN} are needed"
        return (
            f"{self.factor} = {self.concept} ({self.n_classes} values, read out "
            f"{self.read_out:.3f}, swaps agree {self.agreement:.3f}{away})"
        )


@dataclass(frozen=True)
class GapReport:
    """What was found between two sites.

    Attributes:
        site: the earlier one.
        next_site: the later one.
        factors: one line each; none if nothing was found.
        decoder: the simplest that keeps the decisions, or the best of those tried.
        tuned: whether it had to be improved by swaps inside the network.
        kept: share of decisions kept when the next site is decoded from the factors.
        context: covariates that the decoder takes.
        note: why there is no factor, or what is missing.
    """

    site: str
    next_site: str
    factors: tuple[FactorReport, ...] = ()
    decoder: str = ""
    tuned: bool = False
    kept: float = 0.0
    context: tuple[str, ...] = ()
    note: str = ""

    def __str__(self) -> str:
        head = f"{self.site} → {self.next_site}:"
        if not self.factors:
            return f"{head} {self.note}"
        each = "; ".join(map(str, self.factors))
        with_context = f" with context {', '.join(self.context)}" if self.context else ""
        by_swaps = ", improved by swaps" if self.tuned else ""
        decoder = f"{self.decoder} decoder{by_swaps}{with_context}"
        note = f" {self.note}" if self.note else ""
        return f"{head} {each}; {decoder} keeps {self.kept:.3f} of the decisions.{note}"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)
