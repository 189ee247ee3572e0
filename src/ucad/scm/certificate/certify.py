"""`Certificate`: which assumptions hold and which theorem applies, so what may be claimed."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ucad.data import InterventionalData
from ucad.errors import FormatError, InvalidInputError, did_you_mean
from ucad.scm.certificate import claims, directions, evidence, prediction
from ucad.scm.certificate.claims import Answer, Claim, listed
from ucad.scm.factor_scm import FactorSCM

__all__ = ["ASSUMED", "Answer", "Certificate", "Claim", "certify"]

WIDTH = 88
ASSUMED = (
    "Assumed throughout, and not testable with these data: no unmeasured common causes (causal "
    "sufficiency), and no dependence that cancels by accident (Markov property and faithfulness)."
)


@dataclass(frozen=True)
class Certificate:
    """What may be claimed of a fitted model.

    Attributes:
        verdict: one sentence that sums it up.
        claims: one for every question asked, in the order to read them.
        notes: what the solver had to say.
    """

    verdict: str
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, key: str) -> Claim:
        """Returns the claim with that key."""
        known = {claim.key: claim for claim in self.claims}
        if key not in known:
            raise InvalidInputError(
                f"The certificate must hold the claim asked for; it has {', '.join(known)}. "
                f"Got '{key}' instead.{did_you_mean(key, known)}"
            )
        return known[key]

    def to_json(self) -> str:
        """The certificate as JSON, without NaN or infinity."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Reads what `to_json` wrote.

        Raises:
            FormatError: the text is something else.
        """
        try:
            found = json.loads(text)
            read = tuple(_claim(entry) for entry in found["claims"])
            return cls(str(found["verdict"]), read, tuple(str(note) for note in found["notes"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"This is not a certificate: {error!r}.") from error

    def __str__(self) -> str:
        lines = [*_wrapped(self.verdict), ""]
        for claim in self.claims:
            lines += _wrapped(f"[{claim.answer.value:^7}] {claim.question}", indent="          ")
            for text in (claim.text, f"— {claim.statement}"):
                lines += _wrapped(text, first="          ", indent="          ")
            lines.append("")
        for note in self.notes:
            lines += _wrapped(f"Note from the solver: {note}")
        return "\n".join([*lines, *_wrapped(ASSUMED)])


def certify(
    scm: FactorSCM,
    data: InterventionalData,
    *,
    held_out: InterventionalData | None = None,
    notes: Sequence[str] = (),
    seed: int = 0,
) -> Certificate:
    """Checks every assumption that can be checked, and says which theorem then applies.

    Args:
        scm: the model.
        data: what it was fitted to, in the units of the model.
        held_out: data it has not seen, in the same units. Without them, the fit is judged on
            `data`, and the certificate says so.
        notes: what the solver had to say, passed on.
        seed: for permutations, contexts, and the samples that weights are measured on.

    Raises:
        InvalidInputError: the data have other variables than the model.
    """
    for name, part in (("data", data), ("held_out", held_out)):
        if part is not None and part.variable_names != scm.graph.variable_names:
            raise InvalidInputError(
                f"The '{name}' must have the variables of the model, in its order. Got "
                f"{part.n_variables} variables against {scm.graph.n_variables}, or other names."
            )
    graph, some = scm.graph, _some_samples(data, seed)
    shares = evidence.anchor_shares(scm, some)
    found = (
        prediction.held_out_fit(scm, data, held_out, seed),
        claims.acyclicity(graph, data),
        directions.orientation(graph, data),
        claims.two_parents(graph),
        claims.anchors(graph, shares.ins, shares.outs),
        claims.uniqueness(graph),
        evidence.distinctness(scm, some),
        evidence.scale(scm, some),
        prediction.exactness(scm, data, seed),
        prediction.abstraction_error(scm, data if held_out is None else held_out),
    )
    return Certificate(_verdict({claim.key: claim for claim in found}), found, tuple(notes))


def _some_samples(data: InterventionalData, seed: int) -> InterventionalData:
    if data.n_samples <= evidence.MOST_SAMPLES:
        return data
    rng = np.random.default_rng(seed)
    return data.select(np.sort(rng.permutation(data.n_samples)[: evidence.MOST_SAMPLES]))


_DOUBTS = {
    "directions": "some directions",
    "anchors": "that each factor is a single one",
    "unique": "that no other factors would do",
    "distinct": "that the factors can be told apart",
    "error": "predictions at the level of factors",
}


def _verdict(found: Mapping[str, Claim]) -> str:
    """One sentence, from the answers."""
    if found["acyclic"].answer is Answer.NO:
        return "Nothing may be claimed: the graph has a cycle."
    if found["fit"].answer is Answer.NO:
        return "Nothing may be claimed: the factors do not help to predict the data."
    doubts = [text for key, text in _DOUBTS.items() if found[key].answer is not Answer.YES]
    known = {
        Answer.YES: "up to scale and shift",
        Answer.PARTLY: "up to a one-to-one map of each",
    }.get(found["scale"].answer, "not at all")
    if any(found["scale"].details["affine"].values()) and found["scale"].answer is Answer.PARTLY:
        known = "up to scale and shift, but not for all factors"
    weak = "" if found["fit"].details["held_out"] else " No data were held back to check the fit."
    if not doubts:
        return (
            "Under the paper's assumptions, and unless the search missed a graph that fits better, "
            "the graph may be claimed, up to the order of the factors, and the factors' values "
            f"{known}.{weak}"
        )
    return (
        "The factors help to predict the data, but this may not be claimed in full: "
        f"{listed(doubts)}. If the graph is right, the factors' values are known {known}.{weak}"
    )


def _claim(entry: Mapping[str, Any]) -> Claim:
    texts = {name: str(entry[name]) for name in ("key", "question", "text", "statement")}
    return Claim(answer=Answer(entry["answer"]), details=dict(entry["details"]), **texts)


def _wrapped(text: str, *, first: str = "", indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=indent, break_long_words=False
    )
