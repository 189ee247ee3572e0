"""`fit_narrow`: a bottleneck between sites with as few factors as keep the network's decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment

from ucad._types import Progress
from ucad.data import InterventionalData
from ucad.data.context import Context
from ucad.networks.activation import Activation
from ucad.networks.features import covariates_of
from ucad.networks.rest import Rest, SiteReadout
from ucad.networks.sites import columns_of
from ucad.networks.subject import Subject
from ucad.solvers.budget import Budget, BudgetEndedError
from ucad.solvers.layered import BottleneckConfig, fit_bottleneck
from ucad.solvers.status import FitResult

__all__ = ["NarrowFit", "fit_narrow"]

ENOUGH_KEPT = 0.99
"""Share of decisions that decoding must keep: necessary, not identifying."""

MAX_FACTORS = 4
"""Per gap; on the networks of docs/networks.md three keep the decisions."""

N_STARTS = 3
"""Fits from different seeds whose factors are compared."""

STABLER = 0.05
"""Mean matched correlation between starts by which one more factor must be stabler to be taken."""

MAX_ROWS = 4000
"""Samples of the fits that choose a number: enough for a few factors, and ten times as fast."""

BATCH, MIN_STEPS = 256, 600
"""Samples per step, and steps of a fit: few samples are gone through more often."""

DETERMINED = 0.99
"""Share of decisions that must follow a swapped site for its units to stand for the output."""

MIN_SECONDS = 0.1
"""Of the last fit when the time is over: it then keeps the factors of a linear regression."""


@dataclass(frozen=True, eq=False)
class NarrowFit:
    """A bottleneck's model, whether decoding keeps the decisions, and why so many factors."""

    result: FitResult
    replaces: bool
    notes: tuple[str, ...]


def fit_narrow(
    subject: Subject,
    data: InterventionalData,
    n_factors: int | None,
    seed: int = 0,
    progress: Progress | None = None,
    budget: Budget | None = None,
) -> NarrowFit:
    """Fits a bottleneck to every gap, with readouts where a site decides alone.

    Without a number of factors: in every gap as few as keep 0.99 of the decisions when the next
    site is decoded from them, or one more if its axes come back better from other starts.

    Args:
        subject: the network.
        data: the units of its sites on some inputs, with the context.
        n_factors: in all gaps together; None to choose.
        seed: of the starts.
        progress: called after every epoch of the last fit.
        budget: limit on the time; half of what is left of it goes into choosing a number, at most.
            A number that it, or an interruption, leaves open is the best of those that were tried.
    """
    search = _Search(Budget() if budget is None else budget)
    gaps = [_Gap(subject, data, i, seed, search) for i in range(len(subject.sites) - 1)]
    notes: tuple[str, ...] = ()
    shares = None
    if n_factors is None:
        chosen = [gap.choose() for gap in gaps]
        shares, notes = tuple(k for k, _ in chosen), tuple(why for _, why in chosen)
        n_factors = sum(shares)
    result = search.marked(_last_fit(gaps, data, n_factors, shares, progress))
    kept = min(gap.kept(result) for gap in gaps)
    return NarrowFit(result, kept >= ENOUGH_KEPT, notes)


def _last_fit(
    gaps: list[_Gap],
    data: InterventionalData,
    n_factors: int,
    shares: tuple[int, ...] | None,
    progress: Progress | None,
) -> FitResult:
    """The fit of all gaps together; if somebody has stopped the search, what it found."""
    search, seed = gaps[0].search, gaps[0].seed
    if search.interrupted and len(gaps) == 1 and (n_factors, seed) in gaps[0].known:
        return gaps[0].known[n_factors, seed]
    config = replace(_config(data.n_samples), factors_per_pair=shares)
    readouts = tuple(gap.readout for gap in gaps if gap.readout is not None)
    if len(readouts) == len(gaps):
        config = replace(config, readouts=readouts)
    left = MIN_SECONDS if search.interrupted else _left(search.all)
    return fit_bottleneck(
        data, n_factors, config=config, seed=seed, progress=progress, max_seconds=left
    )


def _left(budget: Budget) -> float | None:
    limit = budget.max_seconds
    return None if limit is None else max(MIN_SECONDS, limit - budget.seconds)


class _Search:
    """How long numbers of factors may be tried for, and whether somebody has stopped it."""

    def __init__(self, budget: Budget) -> None:
        left = _left(budget)
        self.all, self.choosing = budget, Budget(None if left is None else left / 2)
        self.interrupted = False

    def marked(self, result: FitResult) -> FitResult:
        """The last fit, with a status that says if the time, or somebody, cut any of it short."""
        interrupted = self.interrupted or result.status.interrupted
        self.all.cut_short |= self.choosing.cut_short or not result.status.converged
        if self.all.cut_short:
            result = replace(result, status=replace(result.status, advice=()))
        return replace(result, status=result.status.unless_cut_short(self.all, interrupted))


class _Gap:
    """Two consecutive sites, and bottlenecks between them."""

    def __init__(
        self, subject: Subject, data: InterventionalData, site: int, seed: int, search: _Search
    ) -> None:
        self.subject, self.site, self.seed, self.search = subject, site, seed, search
        self.names = [one.name for one in subject.sites[site : site + 2]]
        self.columns = [np.arange(c.start, c.stop) for c in columns_of(subject.sites)]
        rng = np.random.default_rng(seed)
        self.rows = subject.draw(min(1000, subject.n_inputs), rng)
        self.inputs = subject.rows(self.rows)
        self.decided = subject.decisions(self.inputs)
        self.units = np.concatenate(subject.units(self.inputs), axis=1)
        self.rest = Rest(subject, site + 1)
        self.decide = self.rest.decisions(self.inputs)
        self.act = Activation.of(data.x[:, self.columns[site + 1]])
        self.data = self._pair(data)
        self.readout = self._readout()
        self.known: dict[tuple[int, int], FitResult] = {}

    def choose(self) -> tuple[int, str]:
        """The number of factors, and why."""
        most = min(MAX_FACTORS, *(len(self.columns[self.site + k]) for k in (0, 1)))
        kept: dict[int, float] = {}
        try:
            return self._chosen(most, kept)
        except KeyboardInterrupt:
            self.search.interrupted = True
        except BudgetEndedError:
            pass
        k = max(kept, key=lambda one: kept[one], default=1)
        what = f"kept {kept[k]:.3f} of the decisions" if kept else "was not tried to the end"
        return k, (
            f"{self.names[0]} → {self.names[1]}: the search for the number of factors was cut "
            f"short; {k}, which {what}."
        )

    def _chosen(self, most: int, kept: dict[int, float]) -> tuple[int, str]:
        for k in range(1, most + 1):
            kept[k] = self.kept(self._fitted(k, self.seed))
            if kept[k] >= ENOUGH_KEPT:
                break
        k = max(kept, key=lambda one: (kept[one] >= ENOUGH_KEPT, kept[one]))
        many = f"{k} factors" if k > 1 else "1 factor"
        where = f"{self.names[0]} → {self.names[1]}: {many}"
        if kept[k] < ENOUGH_KEPT:
            return k, f"{where} kept {kept[k]:.3f} of the decisions, the most of 1 to {most}."
        stable = {one: self._stability(one) for one in (k, k + 1) if one <= most}
        if k + 1 in stable and stable[k + 1] > stable[k] + STABLER:
            return k + 1, (
                f"{where} kept {kept[k]:.3f} of the decisions, and the axes of {k + 1} come back "
                f"better from other starts ({stable[k + 1]:.2f} against {stable[k]:.2f})."
            )
        return k, (
            f"{where}, as few as keep {kept[k]:.3f} of the decisions; axes agree between "
            f"starts at {stable[k]:.2f}."
        )

    def kept(self, result: FitResult) -> float:
        """Share of decisions kept when the later site is decoded from the factors."""
        scm, x = result.scm, self.units
        names = () if scm.context is None else scm.context.names
        w = covariates_of(self.inputs, names) if names else None
        if scm.graph.n_variables != x.shape[1]:
            x = np.concatenate([x[:, self.columns[self.site + k]] for k in (0, 1)], axis=1)
            effects = np.arange(len(self.columns[self.site]), x.shape[1])
        else:
            effects = self.columns[self.site + 1]
        with torch.no_grad():
            made = scm.expected_variables(scm.state_map(x), w)[:, effects]
            decided = self.decide(self.act(made))
        return float((decided == self.decided).mean())

    def _stability(self, k: int) -> float:
        """Mean matched |r| of factors between starts."""
        starts = [self._fitted(k, self.seed + s) for s in range(N_STARTS)]
        found = [one.scm.state_map(self.data.x).detach().numpy() for one in starts]
        scores = []
        for a, b in combinations(found, 2):
            r = np.abs(np.corrcoef(a, b, rowvar=False)[:k, k:])
            scores.append(r[linear_sum_assignment(-r)].mean())
        return float(np.mean(scores))

    def _fitted(self, k: int, seed: int) -> FitResult:
        """The fit of so many factors from a start.

        Raises:
            KeyboardInterrupt: somebody stopped it, or an earlier one.
            BudgetEndedError: the time for such fits is over.
        """
        if (k, seed) not in self.known:
            self.search.choosing.check()
            self.known[k, seed] = self._fit(k, seed)
            if self.known[k, seed].status.interrupted:
                raise KeyboardInterrupt
            self.search.choosing.check()
        return self.known[k, seed]

    def _fit(self, k: int, seed: int) -> FitResult:
        config = _config(self.data.n_samples)
        if self.readout is not None:
            config = replace(config, readouts=(self.readout,))
        left = _left(self.search.choosing)
        return fit_bottleneck(self.data, k, config=config, seed=seed, max_seconds=left)

    def _pair(self, data: InterventionalData) -> InterventionalData:
        columns = np.concatenate([self.columns[self.site + k] for k in (0, 1)])
        rows = slice(MAX_ROWS)
        context = data.context
        return InterventionalData(
            data.x[rows][:, columns],
            data.is_intervened[rows][:, columns],
            data.regime[rows],
            tuple(data.variable_names[j] for j in columns),
            layer_of=np.repeat([0, 1], [len(self.columns[self.site + k]) for k in (0, 1)]),
            context=None if context is None else Context(context.names, context.values[rows]),
            is_part=True,
        )

    def _readout(self) -> SiteReadout | None:
        """The rest of the network, if the later site's units determine its decisions."""
        shuffled = np.random.default_rng(self.seed).permutation(len(self.rows))
        units = self.units[shuffled][:, self.columns[self.site + 1]]
        swapped = self.decide(torch.as_tensor(units))
        if (swapped == self.decided[shuffled]).mean() < DETERMINED:
            return None
        return SiteReadout(self.rest, self.act)


def _config(n_samples: int) -> BottleneckConfig:
    steps = -(-n_samples // BATCH)
    return BottleneckConfig(batch_size=BATCH, epochs=max(12, -(-MIN_STEPS // steps)))
