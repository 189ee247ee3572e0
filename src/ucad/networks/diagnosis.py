"""`diagnose`: what a site can do to decisions, and what else the next site depends on."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from ucad.errors import InvalidInputError
from ucad.networks.decisions import Decide, decision, said_of
from ucad.networks.features import Feature, covariate_names, covariates_of, features_of, hybrid
from ucad.networks.outputs import ReadOutput, tensor_output
from ucad.networks.passes import Inputs
from ucad.networks.sites import Site
from ucad.networks.subject import Subject

__all__ = ["Diagnosis", "DiagnosisSettings", "SiteCheck", "diagnose", "diagnose_subject"]

MIN_MOVED = 0.01
"""Share of decisions that a whole-site swap must move for the site to be a place to steer: below,
no factor there can be told from none with a few hundred pairs."""

MIN_CHANGE = 1e-3
"""Root mean square change of a site, in its own spread, from which on it counts as changed: single
precision leaves some 1e-6, and a thousandth of the spread makes no decision."""

N_HIDDEN = 300
"""Random tanh units in the regression of the next site on all units. On GRU cells of 16 units, 300
leave less than a hundredth of the variance where nothing is missing."""

RIDGE = 1e-3
"""Of that regression, per sample; its columns have mean squares near 1."""


@dataclass(frozen=True, kw_only=True)
class DiagnosisSettings:
    """How much is run for a diagnosis.

    Attributes:
        n_pairs: pairs of inputs that are swapped.
        n_rows: inputs for R².
        max_features: features of the inputs that are tried one by one; of more, evenly spread ones
            are, and a note says so.
        max_seconds: about how long trying features may take; a large network gets fewer of them.
        seed: of the draws.
    """

    n_pairs: int = 300
    n_rows: int = 2000
    max_features: int = 256
    max_seconds: float = 60.0
    seed: int = 0


@dataclass(frozen=True)
class SiteCheck:
    """What is known of a site, and of its edge to the next one, before anything is fitted.

    Attributes:
        site: its name.
        moved: share of decisions that change when the whole site is taken from another input; no
            factor read or patched there can change more.
        moved_next: the same if it is taken on its way into the next site only; None for the last.
        follows: share of decisions that are the other input's after that; below 1, what comes
            after the site depends on more than the site.
        depends_on: features of the inputs that the site depends on.
        context: features that the next site depends on although this one is held.
        r2: of the next site on all units of this one.
        r2_in_context: the same with the context.
    """

    site: str
    moved: float
    moved_next: float | None = None
    follows: float | None = None
    depends_on: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    r2: float | None = None
    r2_in_context: float | None = None

    @property
    def can_steer(self) -> bool:
        """Whether a factor read here can change any decision by way of the next site."""
        best = self.moved if self.moved_next is None else self.moved_next
        return best >= MIN_MOVED


@dataclass(frozen=True)
class Diagnosis:
    """One line per site.

    Attributes:
        sites: in their order.
        differ: share of the pairs of inputs on which the network decides differently; what a swap
            of everything would move.
        covariates: the context of all sites, as names of columns (`covariates_of`).
        features: of the inputs, all that were tried.
        notes: what to know beside.
        decided: what was taken for the network's decision, one sentence.
    """

    sites: tuple[SiteCheck, ...]
    differ: float
    covariates: tuple[str, ...] = ()
    features: tuple[Feature, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    decided: str = ""

    def __getitem__(self, site: str) -> SiteCheck:
        """The line of a site."""
        for line in self.sites:
            if line.site == site:
                return line
        raise InvalidInputError(f"No site '{site}' was diagnosed.")

    def check_can_steer(self, site: str) -> None:
        """Refuses a site that moves no decision, and names the nearest one that does."""
        line = self[site]
        if line.can_steer:
            return
        if self.differ == 0:
            raise InvalidInputError(f"The network decides alike on all inputs. {self.decided}")
        names = [one.site for one in self.sites]
        at = names.index(site)
        able = [i for i, one in enumerate(self.sites) if one.can_steer]
        nearest = min(able, key=lambda i: abs(i - at)) if able else None
        advice = (
            "None of the diagnosed sites does: record others."
            if nearest is None
            else f"The nearest site that does is '{names[nearest]}'."
        )
        raise InvalidInputError(
            f"The site '{site}' is no place to steer: taken as a whole from another input, it "
            f"changes {line.moved:.1%} of the decisions. {advice}"
        )

    def to_json(self) -> str:
        """The lines as JSON."""
        plain: dict[str, Any] = asdict(self)
        del plain["features"]
        return json.dumps(plain, indent=1, ensure_ascii=False)

    def __str__(self) -> str:
        def number(value: float | None) -> str:
            return "" if value is None else f"{value:.3f}"

        width = max(12, *(len(line.site) for line in self.sites))
        lines = [
            *([self.decided] if self.decided else []),
            f"Inputs on which the network decides differently: {self.differ:.3f} of the pairs.",
            f"{'site':<{width}} {'moves':>6} {'by the next':>11} {'follows':>7} {'R² next':>8} "
            f"{'in context':>10}  context",
        ]
        lines += [
            f"{one.site:<{width}} {one.moved:>6.3f} {number(one.moved_next):>11} "
            f"{number(one.follows):>7} {number(one.r2):>8} {number(one.r2_in_context):>10}  "
            f"{_some(one.context)}{'' if one.can_steer else ' (no place to steer)'}"
            for one in self.sites
        ]
        return "\n".join([*lines, *self.notes])


def diagnose(
    model: Any,
    inputs: Inputs,
    sites: Sequence[Site | str],
    *,
    decide: Decide = decision,
    read_output: ReadOutput = tensor_output,
    settings: DiagnosisSettings | None = None,
) -> Diagnosis:
    """Finds, before any fit and without labels, what factors at each site could do.

    1. *Whole-site swap*: all units of a site are taken from another input. What share of decisions
       changes? An upper bound for every factor there. The same by the edge to the next site only.
    2. *Hold and swap*: a site is held and one feature of the input is exchanged. What still changes
       the next site is its context: F_X(z, w) must be told w.
    3. R² of the next site on all units of a site, without and with that context, on unseen inputs:
       where it is low, no number of factors helps.

    Cost: (sites · features) passes over `n_pairs` inputs.

    Args:
        model: the network; it is left as it was.
        inputs: what it is called with, inputs on the first axis.
        sites: in the order in which they are computed.
        decide: from its output to its decision.
        read_output: from what the model gives to the tensor that counts.
        settings: how many pairs and rows.
    """
    subject = Subject.of(model, inputs, sites, decide=decide, read_output=read_output)
    return diagnose_subject(subject, settings)


def diagnose_subject(subject: Subject, settings: DiagnosisSettings | None = None) -> Diagnosis:
    """The same for a network under study."""
    settings = DiagnosisSettings() if settings is None else settings
    return _Check(subject, settings).run()


class _Check:
    """The passes of one diagnosis: base and source inputs, their units and decisions."""

    def __init__(self, subject: Subject, settings: DiagnosisSettings) -> None:
        self.subject, self.settings = subject, settings
        rng = np.random.default_rng(settings.seed)
        base, source = rng.integers(subject.n_inputs, size=(2, settings.n_pairs))
        self.base, self.source = subject.rows(base), subject.rows(source)
        start = time.monotonic()
        self.before, self.other = subject.units(self.base), subject.units(self.source)
        per_pass = (time.monotonic() - start) / 2
        self.decided, self.wanted = map(subject.decisions, (self.base, self.source))
        _check_outputs(subject, self.base, self.decided)
        self.rows = subject.rows(subject.draw(settings.n_rows, rng))
        self.at_rows = subject.units(self.rows)
        features = features_of(subject.inputs)
        affordable = settings.max_seconds / max(per_pass * 2 * len(subject.sites), 1e-9)
        most = max(1, min(settings.max_features, int(affordable)))
        every = -(-len(features) // most)
        self.features, self.n_skipped = features[::every], len(features) - len(features[::every])

    def run(self) -> Diagnosis:
        depends = self._dependence()
        sites = tuple(self._site(i, depends) for i in range(len(self.subject.sites)))
        names = dict.fromkeys(name for one in sites for name in one.context)
        of_name = {feature.name: feature for feature in self.features}
        columns = [c for n in names for c in covariate_names(of_name[n], self.subject.inputs)]
        notes: tuple[str, ...] = ()
        if self.n_skipped:
            notes = (f"{self.n_skipped} features of the inputs were not tried one by one.",)
        differ = float((self.decided != self.wanted).mean())
        decided = said_of(self.subject.decide, self.subject.outputs(self.rows))
        return Diagnosis(sites, differ, tuple(columns), self.features, notes, decided)

    def _dependence(self) -> np.ndarray:
        """How much every site changes with every feature, features × sites."""
        changes = []
        for feature in self.features:
            mixed = self.subject.units(hybrid(self.base, self.source, [feature]))
            changes.append([_change(a, b) for a, b in zip(self.before, mixed, strict=True)])
        return np.array(changes).reshape(len(self.features), len(self.subject.sites))

    def _site(self, i: int, depends: np.ndarray) -> SiteCheck:
        subject, name = self.subject, self.subject.sites[i].name
        swapped = subject.decisions(self.base, i, self.other[i])
        moved = float((swapped != self.decided).mean())
        own = tuple(
            feature.name
            for feature, change in zip(self.features, depends[:, i], strict=True)
            if change > MIN_CHANGE
        )
        if i + 1 == len(subject.sites):
            return SiteCheck(name, moved, depends_on=own)
        child = subject.edge_values(self.base, i, self.other[i])
        by_edge = subject.decisions(self.base, i + 1, child)
        context = self._context(i, depends)
        w = covariates_of(
            self.rows, [c for f in context for c in covariate_names(f, subject.inputs)]
        )
        x, y = self.at_rows[i], self.at_rows[i + 1]
        return SiteCheck(
            name,
            moved,
            moved_next=float((by_edge != self.decided).mean()),
            follows=float((by_edge == self.wanted).mean()),
            depends_on=own,
            context=tuple(feature.name for feature in context),
            r2=held_out_r2(x, y, self.settings.seed),
            r2_in_context=held_out_r2(np.c_[x, w], y, self.settings.seed) if context else None,
        )

    def _context(self, i: int, depends: np.ndarray) -> list[Feature]:
        found = []
        for feature, change in zip(self.features, depends[:, i + 1], strict=True):
            if change <= MIN_CHANGE:
                continue
            mixed = hybrid(self.base, self.source, [feature])
            child = self.subject.edge_values(mixed, i, self.before[i])
            if _change(self.before[i + 1], child) > MIN_CHANGE:
                found.append(feature)
        return found


def _check_outputs(subject: Subject, inputs: Inputs, decided: np.ndarray) -> None:
    """Refuses outputs that are no numbers, and decisions that are others when asked again."""
    missing = np.isnan(subject.outputs(inputs).double().cpu().numpy())
    if missing.any():
        share = missing.reshape(len(missing), -1).any(axis=1).mean()
        raise InvalidInputError(
            f"The network's output is no number (NaN) on {share:.0%} of the inputs: look for NaN "
            "among the inputs and the weights."
        )
    again = float((subject.decisions(inputs) != decided).mean())
    if again >= MIN_MOVED:
        raise InvalidInputError(
            f"Asked again, the network decides {again:.0%} of the same inputs otherwise: what it "
            "draws at random must be fixed before anything can be said of it."
        )


def held_out_r2(
    x: Float[np.ndarray, "rows inputs"], y: Float[np.ndarray, "rows outputs"], seed: int = 0
) -> float:
    """R² on the second half of the rows of a regression on x and random tanh units of x."""
    rng, half = np.random.default_rng(seed), len(x) // 2
    spread = x[:half].std(axis=0)
    x = (x - x[:half].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    weight = rng.standard_normal((x.shape[1], N_HIDDEN)) / np.sqrt(x.shape[1])
    design = np.c_[np.ones(len(x)), x, np.tanh(x @ weight + rng.standard_normal(N_HIDDEN))]
    gram = design[:half].T @ design[:half] + RIDGE * half * np.eye(design.shape[1])
    found = np.linalg.solve(gram, design[:half].T @ y[:half])
    left = ((y[half:] - design[half:] @ found) ** 2).mean(axis=0).sum()
    total = y[half:].var(axis=0).sum()
    return float(1 - left / total) if total > 0 else 0.0


def _change(before: np.ndarray, after: np.ndarray) -> float:
    """Root mean square change, in the root mean variance of the units."""
    spread = float(np.sqrt(before.var(axis=0).mean()))
    return float(np.sqrt(((after - before) ** 2).mean())) / spread if spread > 0 else 0.0


def _some(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
