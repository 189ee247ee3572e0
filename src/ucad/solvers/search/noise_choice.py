"""Which noise family: normal, Student's t or counts, by the likelihood of held-out samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, ndtr

from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.scm import FactorSCM, StudentT
from ucad.scm.families import AFFINE
from ucad.scm.noise.student import MIN_FREEDOM
from ucad.solvers.problem import Problem, Response
from ucad.solvers.registry import Help
from ucad.solvers.search.auto import is_bent
from ucad.solvers.search.count_response import CountSamples
from ucad.solvers.search.count_search import fit_counts
from ucad.solvers.search.export import as_scm
from ucad.solvers.search.search import Search
from ucad.solvers.status import FitResult

__all__ = ["fit_by_noise"]

SIGMAS = 2.0
"""Standard errors by which the held-out likelihood of a richer family must be higher."""

FREEDOMS = (MIN_FREEDOM, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0, 50.0, 200.0)
"""Degrees of freedom that are tried for each variable: 200 is normal to the eye."""

FEWEST_RESIDUALS = 50
"""Residuals of a variable from which its tails can be told."""

MAX_SAYING = float(np.log(1e9))
"""Nats that one sample may say for counts or against them: one in a billion under a law is an
outlier to it, and a few such samples of thousands must not decide what the others are."""

MAX_TRIED = 5_000_000
"""Values of data up to which `auto` tries counts: 20,000 cells of 1,000 genes take minutes, every
variable having weights of its own for its samples."""

N_LOOKED_AT = 1000
"""Samples by which it is told whether larger data are counts."""

NOT_TRIED = (
    "Noise: normal. The values come from whole counts, but there are so many that the noise of "
    "counts was not tried; noise='counts' (--noise counts) asks for it."
)

Samples = Float[np.ndarray, " samples"]


def fit_by_noise(
    problem: Problem, aid: Help, gaussian: Callable[[Problem], FitResult], first: FitResult | None
) -> FitResult:
    """Fits with the noise family asked for, or with the one that held-out samples prefer.

    Args:
        problem: its `noise_family` is `gaussian`, `student`, `counts` or `auto`.
        aid: held-out samples and progress.
        gaussian: a whole fit with normal noise, in whatever class of mechanisms it takes.
        first: such a fit, if there is one already.
    """
    asked = problem.noise_family
    counts, may_count = None, problem.noise is None and problem.is_linear
    is_tried = asked == "counts" or (asked == "auto" and problem.data.x.size <= MAX_TRIED)
    if may_count and is_tried:
        counts = CountSamples.of(problem.data)
    if asked == "counts" and counts is None:
        raise InvalidInputError(
            "noise='counts' wants values log(1 + count / depth) of whole counts, and linear "
            "mechanisms. These are not. Give counts with reads='log1p' (--transform log1p), or "
            "use noise='auto'. A context leaves no whole counts when it is taken off: with one, "
            "take counts for readings of rates instead, measurement='counts'."
        )
    if counts is not None:
        found = fit_counts(problem, counts, aid)
        if asked == "counts" or _beats_normal(problem, found, aid, gaussian):
            return found
    result = gaussian(problem) if first is None else first
    if asked not in ("student", "auto") or problem.noise is not None:
        return result
    result = _with_tails(problem, result, aid, is_asked=asked == "student")
    left_out = asked == "auto" and may_count and not is_tried and _looks_like_counts(problem.data)
    return result.with_notes(NOT_TRIED) if left_out else result


def _looks_like_counts(data: InterventionalData) -> bool:
    """Whether some of the samples come from whole counts."""
    rows = np.unique(np.linspace(0, data.n_samples - 1, N_LOOKED_AT).astype(np.int64))
    return CountSamples.of(data.select(rows)) is not None


def _beats_normal(
    problem: Problem, found: FitResult, aid: Help, gaussian: Callable[[Problem], FitResult]
) -> bool:
    """Whether counts are likelier than normal noise whose density is summed over each count."""
    validation = aid.validation
    counts = CountSamples.of(validation)
    if counts is None or not validation.n_samples:
        return False
    own = found.scm.log_likelihood(validation.x, validation.is_left_out).numpy()
    line = as_scm(problem, Search(problem, aid.progress).run().model)
    if not _is_higher(own, _normal_mass(line, validation, counts), MAX_SAYING):
        return False
    if not is_bent(found.scm, problem.data, validation):
        return True
    return _is_higher(own, _normal_mass(gaussian(problem).scm, validation, counts), MAX_SAYING)


def _normal_mass(scm: FactorSCM, data: InterventionalData, counts: CountSamples) -> Samples:
    """Log P(c − ½ < c' ≤ c + ½) of every sample under normal noise around F_X(τ(x))."""
    expected = scm.expected_variables(scm.state_map(data.x)).detach().numpy()
    spread = np.sqrt(np.maximum(scm.noise_scale.numpy() ** 2, 1e-4))
    mean, unit = (0.0, 1.0) if data.scaling is None else data.scaling
    depth = np.exp(counts.log_depth)[:, None]

    def edge(step: float) -> np.ndarray:
        at = np.log1p(np.maximum(counts.counted + step, 0.0) / depth)
        return ((at - mean) / unit - expected) / spread

    low = np.where(counts.counted == 0, -np.inf, edge(-0.5))
    mass = np.maximum(ndtr(edge(0.5)) - ndtr(low), 1e-300)
    return np.where(counts.free, np.log(mass), 0.0).sum(axis=1)


def _with_tails(problem: Problem, result: FitResult, aid: Help, *, is_asked: bool) -> FitResult:
    """The fit with Student's t noise where that is asked for or likelier on held-out samples."""
    heavy = _with_student(result.scm, problem.data)
    before, after = (_likelihood(scm, aid.validation) for scm in (result.scm, heavy))
    if not is_asked and not _is_higher(after, before):
        return result
    best = heavy
    if _is_line(problem, result.scm):
        weighted = replace(problem, response=_response(heavy, problem.data))
        search = Search(weighted, aid.progress).run()
        again = _with_student(as_scm(problem, search.model), problem.data)
        if not search.was_cut_short and _likelihood(again, aid.validation).mean() > after.mean():
            best = again
    note = "Noise: Student's t, whose tails are heavier than normal ones."
    status = replace(result.status, notes=(*result.status.notes, note))
    nll = best.nll(aid.validation.x, aid.validation.is_left_out)
    return replace(result, scm=best, status=status, validation_nll=nll)


def _with_student(scm: FactorSCM, data: InterventionalData) -> FactorSCM:
    """The model with degrees of freedom and scales of the largest likelihood of its residuals."""
    left = scm.abduct(data.x).detach().numpy()
    freedom, ratio = np.full(left.shape[1], FREEDOMS[-1]), np.ones(left.shape[1])
    scale = np.maximum(scm.noise_scale.numpy(), 1e-12)
    for j, free in enumerate((~data.is_left_out).T):
        e = left[free, j]
        if len(e) < FEWEST_RESIDUALS or not e.any():
            continue
        fits = [(nu, _spread(e, nu)) for nu in FREEDOMS]
        nu, s = max(fits, key=lambda fit: _likelihood_of_student(e, *fit))
        freedom[j], ratio[j] = nu, s / scale[j]
    as_tensor = scm.noise_scale.new_tensor
    return replace(scm, noise=StudentT(as_tensor(freedom), as_tensor(ratio)))


def _likelihood_of_student(e: Samples, nu: float, s: float) -> float:
    """Σ log of the density of s · t with ν degrees of freedom, up to a constant."""
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - np.log(nu) / 2 - np.log(s)
    return float((constant - (nu + 1) / 2 * np.log1p((e / s) ** 2 / nu)).sum())


def _spread(e: Samples, nu: float) -> float:
    """The scale s of s · t with the largest likelihood, by reweighting."""
    square = float(np.mean(e**2)) * (nu - 2) / nu
    for _ in range(30):
        weights = (nu + 1) / (nu + e**2 / max(square, 1e-300))
        square = float(np.mean(weights * e**2))
    return float(np.sqrt(max(square, 1e-300)))


def _response(scm: FactorSCM, data: InterventionalData) -> Response:
    """The variables themselves, each sample with the weight (ν + 1) / (ν + e² / s²)."""
    assert isinstance(scm.noise, StudentT)
    nu = scm.noise.freedom.numpy()
    left = scm.abduct(data.x).detach().numpy()
    square = np.maximum((scm.noise_scale * scm.noise.ratio).numpy() ** 2, 1e-4)
    weights = np.where(data.is_left_out, 0.0, (nu + 1) / (nu + left**2 / square))
    mean = weights.sum(axis=0) / np.maximum((weights > 0).sum(axis=0), 1)
    return Response(np.asarray(data.x, dtype=np.float64), weights / np.maximum(mean, 1e-300))


def _is_line(problem: Problem, scm: FactorSCM) -> bool:
    both = (scm.factor_mechanism, scm.variable_mechanism)
    return problem.is_linear and all(isinstance(one, AFFINE.mechanism_type) for one in both)


def _likelihood(scm: FactorSCM, data: InterventionalData) -> Samples:
    values: Samples = scm.log_likelihood(data.x, data.is_left_out).detach().numpy()
    return values


def _is_higher(one: Samples, other: Samples, most: float = np.inf) -> bool:
    """Whether a likelihood is higher by two standard errors of the paired difference.

    Args:
        one: the log-likelihood of every sample under the richer law.
        other: that under the simpler one.
        most: nats that one sample may say for either.
    """
    difference = np.clip(one - other, -most, most)
    error = float(difference.std()) / np.sqrt(max(len(difference), 1))
    return bool(len(difference) and difference.mean() > SIGMAS * error)
