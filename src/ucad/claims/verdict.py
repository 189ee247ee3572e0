"""From the answers to what may be claimed, and to the sentence that sums it up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ucad.claims.adequacy import Level
from ucad.claims.answers import Answer, Claim, listed, percent, worst
from ucad.claims.certificate import CLAIMABLE, Permission
from ucad.claims.suggestions import Suggestion

__all__ = ["permissions", "verdict"]

Found = Mapping[str, Claim]
Doubt = tuple[Answer, str]
"""The most that may be answered because of it, and the reason."""

REFUTING = {
    "fit": "The factors do not help to predict samples that the model has not seen.",
    "left": "Unseen samples can be predicted beyond what the model explains.",
    "clamps": "Some interventions were no clamps, or edges point the wrong way.",
    "upstream": "Acting on some variables moves others that are not below them.",
    "feedback": "Some variables go with the noise of their own causes, as with feedback.",
    "noise": "Some variables share noise that is each one's own in the model.",
    "acyclic": "The graph has a cycle, or contradicts the layers.",
}
"""What a no to each of these questions says of the graph; a question with "no" is easily misread
where the question is a negative one."""


NOISY_READINGS = (
    "Readings are noisy: the tests look at values drawn from what the model makes of the readings, "
    "and see less."
)
"""Why nothing is claimed in full of a model that was told of noise in the readings."""


def permissions(
    found: Found, *, held_out: bool, guesses: Sequence[str], noisy_readings: bool = False
) -> tuple[Permission, ...]:
    """What may be claimed, from the answers to all questions.

    Args:
        found: the answers, by key.
        held_out: whether the tests were made on samples that did not help to find the model.
        guesses: what the solver could not decide, in its words.
        noisy_readings: whether the tests looked at draws of what lies behind the readings.
    """
    refuted = [text for key, text in REFUTING.items() if found[key].answer is Answer.NO]
    noisy = found["scale"].details["with_shared_noise"]
    if noisy:
        refuted.append(
            f"The children of {listed(noisy)} share noise that no measured variable explains."
        )
    graph = _graph(found, refuted, held_out=held_out, guesses=guesses)
    directions = _directions(found, refuted)
    factors = _factors(found, graph, directions)
    values, predictions = _values(found, factors), _predictions(found, refuted)
    given = (graph, directions, factors, values, predictions)
    return tuple(_seen_through_noise(one) for one in given) if noisy_readings else given


def verdict(given: Sequence[Permission], suggested: Sequence[Suggestion]) -> str:
    """One or two sentences."""
    by_name = {one.what: one for one in given}
    graph = by_name["graph"]
    if graph.answer is Answer.NO:
        texts = [one.text.split(" (Seen at")[0] for one in suggested[:2]]
        hint = f" What this suggests: {' Or: '.join(texts)}" if texts else ""
        return f"The graph may not be claimed. {' '.join(graph.conditions[:2])}{hint}"
    if graph.answer is Answer.UNKNOWN:
        return f"Whether the graph may be claimed is not known. {' '.join(graph.conditions[:2])}"
    full = [CLAIMABLE[one.what] for one in given if one.answer is Answer.YES]
    partly = [CLAIMABLE[one.what] for one in given if one.answer is Answer.PARTLY]
    none = [CLAIMABLE[one.what] for one in given if one.answer is Answer.NO]
    unknown = [CLAIMABLE[one.what] for one in given if one.answer is Answer.UNKNOWN]
    opening = f"May be claimed: {listed(full)}." if full else "Nothing may be claimed in full."
    sentences = [opening]
    if partly:
        sentences.append(f"In part: {listed(partly)}.")
    if none:
        sentences.append(f"Not: {listed(none)}.")
    if unknown:
        sentences.append(f"Not known: {listed(unknown)}.")
    sentences += [condition for condition in graph.conditions if condition not in sentences][:3]
    if by_name["values"].answer is Answer.YES:
        sentences += by_name["values"].conditions[:1]
    return " ".join(sentences)


def _seen_through_noise(one: Permission) -> Permission:
    """At best partly."""
    if one.answer not in (Answer.YES, Answer.PARTLY):
        return one
    return Permission(one.what, Answer.PARTLY, (*one.conditions, NOISY_READINGS))


def _graph(
    found: Found, refuted: Sequence[str], *, held_out: bool, guesses: Sequence[str]
) -> Permission:
    if refuted:
        return Permission("graph", Answer.NO, tuple(refuted))
    if found["edges"].answer is Answer.NO:
        return Permission("graph", Answer.NO, (found["edges"].text,))
    doubts = [*_doubts_about_samples(found, held_out=held_out), *_doubts_about_edges(found)]
    if guesses:
        text = f"The solver could not decide: {listed(guesses, most=3)}."
        doubts.append((Answer.PARTLY, text))
    answer = worst(answer for answer, _ in doubts)
    doubts.sort(key=lambda doubt: doubt[0] is not answer)  # the verdict quotes the first ones
    conditions = [*_seen_share(found), *(text for _, text in doubts)]
    if answer in (Answer.YES, Answer.PARTLY):
        conditions += _seen_feedback(found)
    return Permission("graph", answer, tuple(conditions))


def _seen_share(found: Found) -> list[str]:
    left = found["left"]
    if left.answer is not Answer.YES:
        return []
    share = percent(left.details["smallest_share_seen"], 1)
    return [
        "Tests on unseen samples found nothing left to explain, and would have noticed "
        f"{share} of a variable's variance."
    ]


def _seen_feedback(found: Found) -> list[str]:
    feedback = found["feedback"]
    if feedback.answer is not Answer.YES or not feedback.details["n_pairs"]:
        return []
    share = percent(feedback.details["smallest_correlation_seen"] ** 2, 1)
    return [
        f"Feedback from a variable to its own causes would have been noticed from {share} of "
        "their noise on."
    ]


def _doubts_about_samples(found: Found, *, held_out: bool) -> list[Doubt]:
    """What the tests for anything left could not see, or saw beside the graph."""
    left = found["left"]
    doubts: list[Doubt] = []
    if left.answer in (Answer.UNKNOWN, Answer.PARTLY):
        doubts.append((left.answer, left.text))
    if left.details["below_resolution"]:
        weak = listed(left.details["below_resolution"])
        text = f"The factors explain too little of {weak} to say what makes them."
        doubts.append((Answer.PARTLY, text))
    if _has_another_shape(left):
        text = "The shape of F_X is not the model's: fit another class of mechanisms first."
        doubts.append((Answer.PARTLY, text))
    doubts += [
        (Answer.PARTLY, found[key].text)
        for key in ("noise", "feedback")
        if found[key].answer is Answer.UNKNOWN
    ]
    if not held_out:
        text = "No samples were held back from finding the graph."
        doubts.append((Answer.PARTLY, text))
    return doubts


def _has_another_shape(left: Claim) -> bool:
    return any(row["level"] == Level.SHAPE for row in left.details["findings"])


def _doubts_about_edges(found: Found) -> list[Doubt]:
    """Edges without worth or direction, and factors that others could replace."""
    doubts = []
    unsupported, cancelled = (found["edges"].details[key] for key in ("unsupported", "cancelled"))
    if unsupported:
        doubts.append((Answer.PARTLY, _only_without(unsupported)))
    if cancelled:
        text = (
            f"The paths of {listed(cancelled)} cancel: the factors may be mixtures of others, "
            "that need no such paths."
        )
        doubts.append((Answer.PARTLY, text))
    if found["directions"].details["contradicted"] > 0:
        text = "Interventions contradict the directions of some edges."
        doubts.append((Answer.NO, text))
    elif found["directions"].answer is not Answer.YES:
        doubts.append((Answer.PARTLY, "The directions of some edges are open."))
    if found["unique"].answer is not Answer.YES or found["distinct"].details["explain_nothing"]:
        text = (
            "Only which variables act on which may be claimed: other factors, or fewer, give the "
            "same graph."
        )
        doubts.append((Answer.PARTLY, text))
    return doubts


def _only_without(edges: Sequence[str]) -> str:
    noun = "edge" if len(edges) == 1 else "edges"
    return f"It may be claimed only without the {noun} {listed(edges)}."


def _directions(found: Found, refuted: Sequence[str]) -> Permission:
    if refuted:
        return Permission("directions", Answer.NO, tuple(refuted))
    claim = found["directions"]
    answers, conditions = [claim.answer], [claim.text]
    rests_on_fit = claim.details["by_orientation_only"] or claim.details["by_acting_on_the_effect"]
    if found["left"].answer in (Answer.UNKNOWN, Answer.PARTLY) and rests_on_fit:
        answers.append(Answer.PARTLY)
        conditions.append(
            "Some directions rest on a model that could not be tested with so few samples."
        )
    unsupported = found["edges"].details["unsupported"]
    if unsupported:
        answers.append(Answer.PARTLY)
        conditions.append(_only_without(unsupported))
    return Permission("directions", worst(answers), tuple(conditions))


def _factors(found: Found, graph: Permission, directions: Permission) -> Permission:
    if graph.answer is Answer.NO:
        return Permission("factors", Answer.NO, graph.conditions)
    answers = [graph.answer, directions.answer]
    conditions = list(graph.conditions)
    for key in ("anchors", "unique", "distinct"):
        claim = found[key]
        if claim.answer is not Answer.YES:
            is_none = key == "distinct" and claim.answer is Answer.NO
            is_other = key == "unique" and claim.answer is Answer.NO
            answers.append(Answer.NO if is_none or is_other else Answer.PARTLY)
            conditions.append(claim.text)
    return Permission("factors", worst(answers), tuple(conditions))


def _values(found: Found, factors: Permission) -> Permission:
    claim = found["scale"]
    if factors.answer is Answer.NO:
        return Permission("values", Answer.NO, ("The factors themselves may not be claimed.",))
    doubts = factors.conditions if factors.answer is not Answer.YES else ()
    return Permission("values", worst([claim.answer, factors.answer]), (claim.text, *doubts))


def _predictions(found: Found, refuted: Sequence[str]) -> Permission:
    keys = [key for key in ("effects", "regimes") if found[key].answer is not Answer.UNKNOWN]
    if not keys:
        texts = (found["effects"].text, found["regimes"].text)
        return Permission("predictions", Answer.UNKNOWN, texts)
    answers = [found[key].answer for key in keys]
    conditions = [found[key].text for key in keys]
    if found["error"].answer is Answer.NO:
        answers.append(Answer.PARTLY)
        conditions.append(found["error"].text)
    if found["clamps"].answer is Answer.NO:
        answers.append(Answer.NO)
        conditions.append(found["clamps"].text)
    if _has_another_shape(found["left"]):
        answers.append(Answer.PARTLY)
        conditions.append(
            "The shape of F_X is not the model's: effects may be too large or too small."
        )
    if refuted:
        answers.append(Answer.PARTLY)
        conditions.append("The graph is refuted: only for interventions like those in the data.")
    return Permission("predictions", worst(answers), tuple(conditions))
