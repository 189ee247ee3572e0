"""`Support`: how often every factor and edge comes back, and what that entitles to."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from types import NoneType
from typing import Any, NamedTuple

from ucad.claims import Answer, Certificate
from ucad.consensus.error_control import ErrorControl
from ucad.errors import FormatError
from ucad.files import parse_json
from ucad.schema import Optional, check_shape

__all__ = ["STABLE", "EdgeSupport", "FactorSupport", "FitAccount", "Graph", "Support", "passed"]

STABLE = 0.9
"""The share of the halves in which something must come back to be called stable. With a share of
.9 and more, edges were right in 95 to 100 % of all cases in worlds that the model fits."""

SCHEMA_VERSION = 1
"""Of the JSON form."""


class Graph(StrEnum):
    """The graphs whose edges have support."""

    Q = "Q"
    """Variables that make factors."""
    R = "R"
    """Variables that factors make."""
    A = "A"
    """Variables that act on variables: Q ⋄ Rᵀ."""
    B = "B"
    """Factors that act on factors: Rᵀ ⋄ Q."""


class FactorSupport(NamedTuple):
    """How often a factor comes back.

    Attributes:
        name: of the factor; those that only fits on parts found have the numbers after the others.
        stability: the share of the halves in which it has a partner.
        low: where the 95 % interval of that share begins.
        high: where it ends.
        correlation: the mean |correlation| with its partners, 0 without any.
        without_regimes: the share of the fits without some regimes in which it has a partner.
        in_model: whether the model fitted to all samples has it.
        in_consensus: whether the consensus model has it.
    """

    name: str
    stability: float
    low: float
    high: float
    correlation: float
    without_regimes: float | None
    in_model: bool
    in_consensus: bool


class EdgeSupport(NamedTuple):
    """How often an edge comes back; the members as in `FactorSupport`.

    Attributes:
        hangs: whether it hangs on a direction that the data leave open: fits on parts of the
            samples take it the same way every time, so that coming back says nothing.
    """

    graph: Graph
    cause: str
    effect: str
    support: float
    low: float
    high: float
    without_regimes: float | None
    in_model: bool
    in_consensus: bool
    hangs: bool = False


class FitAccount(NamedTuple):
    """One of the fits.

    Attributes:
        kind: a half, or without some regimes.
        deal: which deal of the samples; the two halves of a pair have it in common.
        part: which half or fold.
        partners: for every factor of the support its number in this fit, or None.
        signs: 1, or −1 where the partner is turned round.
    """

    kind: str
    deal: int
    part: int
    partners: tuple[int | None, ...]
    signs: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class Support:
    """What came back over fits on parts of the samples.

    Attributes:
        factors: one entry per factor of the model, then those that only the fits found.
        edges: every edge of the model and every edge found in at least two fits, most support
            first within each graph.
        control: by graph, how many edges above the threshold are expected by chance.
        fits: the fits that ended well.
        threshold: the support from which on something is stable.
        match_level: the |correlation| that partners exceed.
        n_failed: fits that ended in an error.
        adequacy: whether the model passed the tests on unseen samples: support is claimed only if
            it did, since fits on parts of the samples repeat a model's bias.
        adequacy_text: why, in a sentence.
    """

    factors: tuple[FactorSupport, ...]
    edges: tuple[EdgeSupport, ...]
    control: Mapping[Graph, ErrorControl]
    fits: tuple[FitAccount, ...]
    threshold: float
    match_level: float
    n_failed: int
    adequacy: Answer
    adequacy_text: str

    def __repr__(self) -> str:
        factors = sum(one.stability >= self.threshold for one in self.factors)
        edges = sum(edge.support >= self.threshold for edge in self.edges)
        return (
            f"Support({self.n_halves} half-samples; stable (≥ {self.threshold:.0%}): {factors} of "
            f"{len(self.factors)} factors, {edges} of {len(self.edges)} edges)"
        )

    @property
    def n_halves(self) -> int:
        """How many fits the support is a share of."""
        return sum(fit.kind == "half" for fit in self.fits)

    @property
    def may_be_claimed(self) -> bool:
        """Whether the model passed its tests, so that support says something about the truth."""
        return passed(self.adequacy)

    def edge(self, graph: Graph | str, cause: str, effect: str) -> EdgeSupport | None:
        """The support of one edge; None if it was found in fewer than two fits and the model."""
        return self._by_name.get((Graph(graph), cause, effect))

    def is_stable(self, graph: Graph | str, cause: str, effect: str) -> bool:
        """Whether an edge comes back in enough of the halves."""
        found = self.edge(graph, cause, effect)
        return found is not None and found.support >= self.threshold

    def stable_factor(self, name: str) -> bool:
        """Whether a factor comes back in enough of the halves."""
        return any(one.name == name and one.stability >= self.threshold for one in self.factors)

    def of(self, graph: Graph | str) -> Iterator[EdgeSupport]:
        """The edges of one graph."""
        return (edge for edge in self.edges if edge.graph == Graph(graph))

    def rows(self) -> list[dict[str, Any]]:
        """Factors and edges as one table: a list of plain dicts, as a DataFrame takes it."""
        empty = {"cause": None, "effect": None}
        factors = [
            {"kind": "factor", "name": one.name, **empty, "support": one.stability, "hangs": False}
            | {n: getattr(one, n) for n in _COMMON}
            for one in self.factors
        ]
        edges = [
            {"kind": edge.graph.value, "name": f"{edge.cause} -> {edge.effect}"}
            | {n: getattr(edge, n) for n in ("cause", "effect", "support", "hangs", *_COMMON)}
            for edge in self.edges
        ]
        rows = factors + edges
        for row in rows:
            row["is_stable"] = row["support"] >= self.threshold
            row["may_be_claimed"] = row["is_stable"] and self.may_be_claimed and not row["hangs"]
        return rows

    def to_csv(self) -> str:
        """The table as comma-separated text."""
        text, rows = io.StringIO(), self.rows()
        writer = csv.DictWriter(text, list(rows[0]) if rows else ["kind"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame (the extra `bio` or `parquet` brings pandas)."""
        from ucad.errors import MissingDependencyError

        try:
            import pandas as pd
        except ImportError as error:
            raise MissingDependencyError("pandas", "parquet", "A data frame") from error
        return pd.DataFrame(self.rows())

    def to_json(self) -> str:
        """Everything, as JSON without NaN or infinity."""
        plain = {
            "schema_version": SCHEMA_VERSION,
            "factors": [one._asdict() for one in self.factors],
            "edges": [edge._asdict() for edge in self.edges],
            "control": {graph.value: asdict(one) for graph, one in self.control.items()},
            "fits": [fit._asdict() for fit in self.fits],
            **{name: getattr(self, name) for name in _PLAIN},
        }
        return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Support:
        """Reads what `to_json` wrote, and checks it.

        Raises:
            FormatError: the text is something else.
        """
        found = parse_json(text)
        check_shape(found, _SHAPE, "this is no support of a consensus")
        if found["schema_version"] > SCHEMA_VERSION:
            raise FormatError("The support was written by a newer ucad. Update ucad to read it.")
        try:
            return cls(
                factors=tuple(_made(FactorSupport, one) for one in found["factors"]),
                edges=tuple(
                    _made(EdgeSupport, {**one, "graph": Graph(one["graph"])})
                    for one in found["edges"]
                ),
                control={Graph(g): _made(ErrorControl, c) for g, c in found["control"].items()},
                fits=tuple(
                    _made(FitAccount, {**f, **{n: tuple(f[n]) for n in ("partners", "signs")}})
                    for f in found["fits"]
                ),
                **{name: found[name] for name in _PLAIN if name != "adequacy"},
                adequacy=Answer(found["adequacy"]),
            )
        except ValueError as error:
            raise FormatError(f"This is no support of a consensus: {error}.") from error

    @property
    def _by_name(self) -> dict[tuple[Graph, str, str], EdgeSupport]:
        cached: dict[tuple[Graph, str, str], EdgeSupport] | None = self.__dict__.get("_names")
        if cached is None:
            cached = {(edge.graph, edge.cause, edge.effect): edge for edge in self.edges}
            object.__setattr__(self, "_names", cached)
        return cached


def passed(adequacy: Answer) -> bool:
    """Whether the tests on unseen samples left the graph standing, in full or in part."""
    return adequacy in (Answer.YES, Answer.PARTLY)


def adequacy_of(certificate: Certificate | None) -> tuple[Answer, str]:
    """Whether the graph may be claimed, and what decides it."""
    if certificate is None:
        return Answer.UNKNOWN, "The model was not tested on unseen samples."
    permission = certificate.may_claim("graph")
    return permission.answer, " ".join(permission.conditions[:2])


def _made(kind: Any, members: Mapping[str, Any]) -> Any:
    """An object of its own members; others are let pass, as everywhere."""
    known = getattr(kind, "_fields", None) or tuple(kind.__dataclass_fields__)
    return kind(**{name: members[name] for name in known if name in members})


_COMMON = ("low", "high", "without_regimes", "in_model", "in_consensus")
_PLAIN = ("threshold", "match_level", "n_failed", "adequacy", "adequacy_text")
_MEMBERS = {
    **dict.fromkeys(("low", "high"), float),
    "without_regimes": (float, NoneType),
    **dict.fromkeys(("in_model", "in_consensus"), bool),
}
_SHAPE = {
    "schema_version": int,
    "factors": [{"name": str, "stability": float, "correlation": float, **_MEMBERS}],
    "edges": [
        {
            **dict.fromkeys(("graph", "cause", "effect"), str),
            "support": float,
            "hangs": Optional(bool),
            **_MEMBERS,
        }
    ],
    "control": {
        str: {
            **dict.fromkeys(("n_possible", "n_above"), int),
            **dict.fromkeys(("n_selected", "expected_false"), float),
            "expected_false_unimodal": (float, NoneType),
        }
    },
    "fits": [
        {"kind": str, "deal": int, "part": int, "partners": [(int, NoneType)], "signs": [int]}
    ],
    "threshold": float,
    "match_level": float,
    "n_failed": int,
    "adequacy": str,
    "adequacy_text": str,
}
