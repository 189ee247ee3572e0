"""Which number of factors to use: the smallest adequate one, checked against the likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ucad.consensus.factor_path import FactorStep, bend, gain

__all__ = ["Recommendation", "WithoutFactors", "recommend"]

SIGMAS = 3.0
"""Standard errors by which more factors must raise the held-out likelihood to overrule a test that
found nothing, as for every gain in likelihood in a certificate."""

FEW = 1 / 3
"""Factors per variable up to which few factors are a finding by themselves. Random DAGs over 20
variables with 0.1 edges per pair need 8 to 9 factors, most of them with a single child."""

MIN_KEPT = 0.95
"""The part of what direct edges gain in held-out likelihood that factors must gain, too."""

LIKE_THIS = (
    "Causes that go together, factors with noise of their own, hidden causes and direct edges look "
    "like this."
)
"""What makes factors be found that are none."""

NOTHING_SHOWN = "no low-rank structure that these data can show."


@dataclass(frozen=True, kw_only=True, eq=False)
class WithoutFactors:
    """The sparse DAG without factors that factors are compared with.

    Attributes:
        step: what held-out samples say of it.
        n_edges: direct edges.
        n_driven: variables with causes.
    """

    step: FactorStep
    n_edges: int
    n_driven: int

    def row(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "nll": round(self.step.nll, 6),
            "standard_error": round(self.step.standard_error, 6),
            "is_adequate": self.step.is_adequate,
            "n_edges": self.n_edges,
            "n_driven": self.n_driven,
        }


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """How many factors to use, and why.

    Attributes:
        n_factors: the number to use.
        plausible: all numbers that the data do not decide between, this one among them; empty if
            none of those that were tried may be claimed.
        reason: why, in plain words.
    """

    n_factors: int
    plausible: tuple[int, ...]
    reason: str

    def __str__(self) -> str:
        if not self.plausible:
            return (
                f"none of those tried ({self.n_factors} for want of a better one) — {self.reason}"
            )
        others = [m for m in self.plausible if m != self.n_factors]
        beside = f" (or {', '.join(map(str, others))})" if others else ""
        return f"{self.n_factors}{beside} — {self.reason}"


def recommend(
    steps: Sequence[FactorStep],
    direct: WithoutFactors | None,
    *,
    is_held_out: bool = True,
) -> Recommendation:
    """The smallest adequate number of factors; with what the likelihood says, if that differs.

    Args:
        steps: what was found for each number of factors.
        direct: the model without factors, if there is one that explains anything.
        is_held_out: whether the likelihood is that of samples which did not help to fit.
    """
    full = [step for step in steps if step.n_empty == 0] or list(steps[:1])
    adequate = next((step for step in full if step.is_adequate), None)
    likely = within_one_error(full) if is_held_out else None
    if adequate is None:
        likely = likely or full[-1]
        return _none_adequate(full, likely, direct, rises=likely is steps[-1])
    if _is_no_reduction(adequate, direct):
        return _no_reduction(adequate, direct)
    if _are_rewritten(adequate, few := bend(full)):
        return _rewritten(full[0], few, adequate)
    if likely is None or likely.n_factors == adequate.n_factors:
        tried_more = full[-1].n_factors > adequate.n_factors
        return _agreed(adequate, checked=likely is not None and tried_more)
    if not adequate.n_factors:
        return _only_likely(full[0], likely, direct)
    return _both(adequate, likely)


def within_one_error(steps: Sequence[FactorStep]) -> FactorStep:
    """The smallest m whose held-out likelihood is within one standard error of the best.

    Paired over samples: mean(l_best − l_m) ≤ se(l_best − l_m).
    """
    best = max(steps, key=lambda step: float(step.log_likelihood.mean()))
    for step in steps:
        lost, error = gain(best, step)
        if lost <= error:
            return step
    return best


def _agreed(step: FactorStep, *, checked: bool) -> Recommendation:
    m = step.n_factors
    if m == 0:
        return Recommendation(
            n_factors=0,
            plausible=(0,),
            reason=f"{NOTHING_SHOWN} Nothing is left of any variable once its mean is known"
            + (", and no factor raises the held-out likelihood." if checked else "."),
        )
    reason = (
        f"the smallest number that leaves nothing unexplained in held-out samples"
        f"{', and more factors do not raise their likelihood' if checked else ''}."
    )
    if step.n_single_child == m:
        names = "Every factor has one child and is" if m > 1 else "The factor has one child and is"
        reason += f" {names} only a name for its mechanism: direct edges say the same."
        return Recommendation(n_factors=m, plausible=(0, m), reason=reason)
    if step.n_single_child == 1:
        reason += " One of them has one child and is only a name for its mechanism."
    elif step.n_single_child:
        reason += f" {step.n_single_child} of them have one child each and are only names for it."
    return Recommendation(n_factors=m, plausible=(m,), reason=reason)


def _only_likely(
    empty: FactorStep, likely: FactorStep, direct: WithoutFactors | None
) -> Recommendation:
    """Nothing was found to be left without factors, but factors raise the likelihood."""
    mean, error = gain(likely, empty)
    strong = mean > SIGMAS * error and not _is_no_reduction(likely, direct)
    return Recommendation(
        n_factors=likely.n_factors if strong else 0,
        plausible=(0, likely.n_factors),
        reason=(
            "without factors nothing is left that the test of single variables can show, but "
            f"{_factors(likely.n_factors)} raise the held-out likelihood by {mean:.2g} ± "
            f"{error:.1g} nats per sample. More samples would decide."
        ),
    )


def _both(adequate: FactorStep, likely: FactorStep) -> Recommendation:
    """Adequacy and likelihood say different numbers of factors."""
    mean, error = gain(likely, adequate)
    if likely.n_factors > adequate.n_factors:
        text = (
            f"nothing is left that the test of single variables can show at {adequate.n_factors}, "
            f"but {likely.n_factors} raise the held-out likelihood by {mean:.2g} ± {error:.1g} "
            "nats per sample."
        )
    else:
        text = (
            f"the likelihood of held-out samples is no higher with more than {likely.n_factors}, "
            f"but only from {adequate.n_factors} on nothing is left that a test can show."
        )
    return Recommendation(
        n_factors=adequate.n_factors,
        plausible=tuple(sorted({adequate.n_factors, likely.n_factors})),
        reason=text,
    )


def _none_adequate(
    steps: Sequence[FactorStep],
    likely: FactorStep,
    direct: WithoutFactors | None,
    *,
    rises: bool,
) -> Recommendation:
    """No number that was tried is adequate: none of these, unless factors do as well as edges.

    What is used then is the likelihood's number, or that at the bend where the likelihood rises to
    the last number tried, or where most factors only rewrite what is none.
    """
    last = steps[-1]
    variable, share = likely.leftover or ("", 0.0)
    left = f"{share:.1%} of the variance of {variable} can still be predicted"
    opening = f"no number from {steps[0].n_factors} to {last.n_factors} is adequate"
    if last.n_factors == 0:
        reason = f"{left} without factors, and no larger number was tried: nothing can be said."
        return Recommendation(n_factors=0, plausible=(0,), reason=reason)
    if likely.n_factors == 0:
        reason = f"{NOTHING_SHOWN} Factors do not raise the held-out likelihood ({left})."
        return Recommendation(n_factors=0, plausible=(0,), reason=reason)
    if direct is not None and (
        _is_no_reduction(likely, direct) or not _keeps_up(steps[0], likely, direct)
    ):
        reason = (
            f"{NOTHING_SHOWN} None of these: {opening} (at "
            f"{likely.n_factors}, {left}), and {direct.n_edges} direct edges between variables "
            "predict held-out samples as well or better."
        )
        return Recommendation(n_factors=0, plausible=(0,), reason=reason)
    used = bend(steps) if rises or _are_rewritten(likely, bend(steps)) else likely
    gained = "" if used is likely else f" {_share_gained(steps[0], used, likely)}."
    reason = f"{opening}, so no number may be claimed.{gained} {_still_left(used)} {LIKE_THIS}"
    return Recommendation(n_factors=used.n_factors, plausible=(), reason=reason)


def _are_rewritten(adequate: FactorStep, few: FactorStep) -> bool:
    """Whether most factors only rewrite what is no factor.

    At least half of them are beyond the bend, and all of them together have no more anchored ones
    than there are up to it.
    """
    m = few.n_factors
    return m > 0 and adequate.n_factors >= 2 * m and adequate.n_anchored <= m


def _rewritten(empty: FactorStep, few: FactorStep, adequate: FactorStep) -> Recommendation:
    m = adequate.n_factors
    reason = (
        f"nothing is left that held-out samples can show only from {m} on, but "
        f"{_share_gained(empty, few, adequate)}, and only {adequate.n_anchored} of {m} have "
        f"anchors on both sides. {LIKE_THIS}"
    )
    return Recommendation(n_factors=few.n_factors, plausible=(few.n_factors, m), reason=reason)


def _share_gained(empty: FactorStep, few: FactorStep, many: FactorStep) -> str:
    share = gain(few, empty)[0] / max(gain(many, empty)[0], 1e-12)
    return (
        f"{_factors(few.n_factors)} gain {min(share, 1.0):.0%} of what {many.n_factors} gain in "
        "held-out likelihood"
    )


def _still_left(step: FactorStep) -> str:
    variable, share = step.leftover or ("", 0.0)
    left = f"At {step.n_factors}, {share:.1%} of the variance of {variable} can still be predicted"
    if not step.n_single_child:
        return f"{left}."
    return f"{left}, and {step.n_single_child} of them have a single child."


def _is_no_reduction(step: FactorStep, direct: WithoutFactors | None) -> bool:
    """Many factors that do not even save edges are a rewriting of direct edges."""
    n = step.scm.graph.n_variables
    return direct is not None and step.n_factors > FEW * n and step.n_edges >= direct.n_edges


def _no_reduction(step: FactorStep, direct: WithoutFactors | None) -> Recommendation:
    assert direct is not None
    reason = (
        f"{NOTHING_SHOWN} It takes {step.n_factors} factors and {step.n_edges} edges to leave "
        f"nothing, where {direct.n_edges} direct edges between variables say the same of the "
        f"{direct.n_driven} that have causes."
    )
    return Recommendation(n_factors=0, plausible=(0,), reason=reason)


def _keeps_up(empty: FactorStep, step: FactorStep, direct: WithoutFactors) -> bool:
    """Whether factors gain nearly as much in held-out likelihood as direct edges do."""
    if empty.n_factors:
        return True
    return gain(step, empty)[0] >= MIN_KEPT * gain(direct.step, empty)[0]


def _factors(m: int) -> str:
    return f"{m} factor{'s' if m != 1 else ''}"
