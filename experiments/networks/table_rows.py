"""A network's study in one row: fit without labels, k by decisions kept, and the whole table."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ucad.errors import InvalidInputError
from ucad.networks import (
    NetworkSettings,
    Recording,
    RecordSettings,
    Steering,
    SteeringSettings,
    SteeringTable,
    SubspaceSettings,
    SwapPairs,
    decision,
    fit_network,
    record,
    steering_table,
)
from ucad.networks.readouts import readouts
from ucad.scm import FactorSCM
from ucad.solvers.layered import BottleneckConfig, fit_bottleneck

__all__ = [
    "Case",
    "Fit",
    "bottleneck_by_decisions",
    "by_behaviour",
    "study_row",
    "table_lines",
    "three_per_gap",
]

DECISIONS_KEPT = 0.99
"""Share of the network's own decisions that decoding must keep: with fewer factors something that
matters is missing."""
MAX_PER_GAP = 5
SETTINGS = SteeringSettings(
    n_draws=10, n_starts=3, subspace=SubspaceSettings(n_steps=300, learning_rate=0.05)
)
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Case:
    """A trained network and how it is judged.

    Attributes:
        name: of the study.
        seed: of the network.
        model: the network.
        sites: whose units are the variables.
        fitted: inputs for the recording.
        judged: inputs that neither network nor solver has seen, which the pairs number.
        pairs: of every concept.
        blocks: input entries that carry a concept, where they are known.
        decide: from the output to the decision.
        directions: of the supervised subspace.
        about: more to be written into the row.
    """

    name: str
    seed: int
    model: nn.Module
    sites: Sequence[str]
    fitted: Tensor
    judged: Tensor
    pairs: Mapping[str, SwapPairs]
    blocks: Mapping[str, Sequence[str]]
    decide: Callable[[Tensor], Tensor] = decision
    directions: int = 1
    about: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model, how many factors each gap got, and whether swaps replace children."""

    scm: FactorSCM
    per_gap: tuple[int, ...]
    note: str
    replaces: bool = False


def bottleneck_by_decisions(case: Case, recording: Recording) -> Fit:
    """As few factors in each gap as keep 0.99 of the network's own decisions after decoding."""
    n_gaps, rest = len(recording.sites) - 1, _rest(case, recording)
    own = case.decide(case.model(case.judged).detach())
    chosen: list[int] = []
    kept: list[float] = []
    for gap in range(n_gaps):
        for k in range(1, MAX_PER_GAP + 1):
            scm = _fitted(recording, [k] * n_gaps, rest, case.seed)
            steering = Steering(
                case.model, scm, sites=recording.sites, activations=recording.activations
            )
            decoded = steering.decode(case.judged, [recording.sites[gap + 1].name]).output
            share = float((case.decide(decoded) == own).double().mean())
            if share >= DECISIONS_KEPT:
                break
        chosen.append(k)
        kept.append(round(share, 4))
    scm = _fitted(recording, chosen, rest, case.seed)
    with_rest = "with" if rest is not None else "without"
    return Fit(scm, tuple(chosen), f"decisions kept {kept}, {with_rest} readouts")


def three_per_gap(case: Case, recording: Recording) -> Fit:
    """Three factors in every gap, or as many as its units: what `ucad record` proposes."""
    n_gaps = len(recording.sites) - 1
    widths = [len(site.units or ()) for site in recording.sites[:-1]]
    per_gap = [min(3, *widths)] * n_gaps
    return Fit(
        _fitted(recording, per_gap, _rest(case, recording), case.seed), tuple(per_gap), "default"
    )


def by_behaviour(
    case: Case, recording: Recording, parts: Mapping[str, Sequence[str]]
) -> Fit | None:
    """What behaviour finds if it may exchange these parts of the inputs; None if nothing."""
    options = NetworkSettings(solver="behaviour", decide=case.decide, parts=parts, seed=case.seed)
    try:
        found = fit_network(case.model, case.fitted, recording.sites, options)
    except InvalidInputError:
        return None
    per_gap = tuple(len(gap.factors) for gap in found.gaps)
    return Fit(found.scm, per_gap, " ".join(found.status.notes), replaces=found.replaces)


def _rest(case: Case, recording: Recording) -> Any:
    """The rest of the network after every site, where a site determines the output."""
    try:
        return readouts(case.model, recording, case.fitted)
    except InvalidInputError:
        return None


def _fitted(
    recording: Recording, per_gap: Sequence[int], rest: Any, seed: int, epochs: int = 15
) -> FactorSCM:
    batch = max(128, min(1024, recording.data.n_samples // 40))
    config = BottleneckConfig(
        factors_per_pair=tuple(per_gap), readouts=rest, epochs=epochs, batch_size=batch
    )
    return fit_bottleneck(recording.data, sum(per_gap), config=config, seed=seed).scm


def study_row(
    case: Case,
    fit: Callable[[Case, Recording], Fit | None] = bottleneck_by_decisions,
    *,
    method: str,
    per_clamp: int | None = None,
) -> Row:
    """Records, fits and judges one network; no concepts are judged if nothing is found."""
    started = time.process_time()
    recording = record(
        case.model,
        case.fitted,
        case.sites,
        settings=RecordSettings(per_clamp=per_clamp),
        seed=case.seed,
    )
    found = fit(case, recording)
    fitted = time.process_time()
    about = {"study": case.name, "seed": case.seed, "method": method, **(case.about or {})}
    about["cpu_seconds_fit"] = round(fitted - started, 1)
    if found is None or not found.scm.graph.R.any():
        return {**about, "factors_per_gap": [], "fit": "nothing found", "concepts": []}
    steering = Steering(
        case.model,
        found.scm,
        sites=recording.sites,
        activations=recording.activations,
        replaces=found.replaces,
    )
    settings = SteeringSettings(
        n_draws=SETTINGS.n_draws,
        n_starts=SETTINGS.n_starts,
        subspace=SETTINGS.subspace,
        ceiling_directions=case.directions,
    )
    table = steering_table(
        steering, case.judged, case.pairs, settings=settings, decide=case.decide, blocks=case.blocks
    )
    return {
        **about,
        "factors_per_gap": found.per_gap,
        "fit": found.note,
        "cpu_seconds_table": round(time.process_time() - fitted, 1),
        "concepts": _rounded(table),
    }


def _rounded(table: SteeringTable) -> list[Row]:
    rows = json.loads(table.to_json())["concepts"]

    def short(value: Any) -> Any:
        if isinstance(value, float):
            return round(value, 4)
        if isinstance(value, dict):
            return {key: short(one) for key, one in value.items()}
        return [short(one) for one in value] if isinstance(value, list) else value

    return [short(row) for row in rows]


COLUMNS = {
    "copy": "copy of the source's output",
    "random": "random factors, same decoder",
    "PCA": "PCA, same decoder",
    "ICA": "ICA, same decoder",
    "untrained": "untrained layer, same decoder",
    "input": "raw input, same decoder",
    "anew": "learned, decoder trained anew",
    "table": "learned, two values and a table",
    "site": "whole site that is patched",
}


def table_lines(rows: Sequence[Row]) -> list[str]:
    """Markdown: one line per network, method and concept; largest draws of placebos."""
    heads = ["network", "method", "k", "concept", "factor", "score"]
    heads += [*COLUMNS, "largest, table", "hybrid", "supervised", "verdict"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        if not row["concepts"]:
            cells = [f"{row['study']} {row['seed']}", row["method"], "0", row["fit"]]
            lines.append(f"| {' | '.join(cells + ['–'] * (len(heads) - len(cells)))} |")
        for concept in row["concepts"]:
            score = concept["by_factor"][concept["best"]]
            value = (score["on_changes"] + score["on_keeps"]) / 2
            named = {line["kind"]: line for line in concept["controls"]}
            cells = [f"{row['study']} {row['seed']}", row["method"]]
            cells += ["+".join(map(str, row["factors_per_gap"])), concept["concept"]]
            cells += [concept["best"], f"**{value:.3f}** [{score['low']:.3f}, {score['high']:.3f}]"]
            cells += [_cell(named.get(kind)) for kind in COLUMNS.values()]
            tables = [line for line in concept["controls"] if line["role"] == "restricted"]
            cells.append(max((_cell(line) for line in tables), default="–"))
            cells.append(_cell(named.get("hybrid inputs")))
            supervised = [line for kind, line in named.items() if kind.startswith("supervised")]
            cells += [_cell(supervised[0] if supervised else None), concept["verdict"]]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _cell(line: Row | None) -> str:
    if line is None:
        return "–"
    score = line["score"]
    return f"{(score['on_changes'] + score['on_keeps']) / 2:.3f}"
