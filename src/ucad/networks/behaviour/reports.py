"""Reports: what was found between two sites, as text and as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["FactorReport", "GapReport"]


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
    """

    factor: str
    concept: str
    n_classes: int
    read_out: float
    agreement: float
    features: tuple[str, ...] = ()


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
        each = "; ".join(
            f"{one.factor} = {one.concept} ({one.n_classes} values, read out {one.read_out:.3f}, "
            f"swaps agree {one.agreement:.3f})"
            for one in self.factors
        )
        with_context = f" with context {', '.join(self.context)}" if self.context else ""
        by_swaps = ", improved by swaps" if self.tuned else ""
        decoder = f"{self.decoder} decoder{by_swaps}{with_context}"
        note = f" {self.note}" if self.note else ""
        return f"{head} {each}; {decoder} keeps {self.kept:.3f} of the decisions.{note}"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)
