"""How honest the certificate is: `python -m experiments.claims --seeds 1000:1020 --jobs 2`.

Fits the search to every world and to the paper's settings, and compares what the certificate claims
with the truth. One JSON row is appended per fit as it finishes, and fits already in the file are
skipped. The table and the figure are made anew from all rows that were asked for.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.running import provenance
from ucad.claims.samples import MIN_SAMPLES_TO_HOLD_OUT
from ucad.data import InterventionalData
from ucad.errors import UcadError
from ucad.graph import FactorGraph
from ucad.metrics import mean_correlation
from ucad.simulate import Problem, paper_problem
from ucad.simulate.worlds import WORLDS, Violation, WorldProblem, world_problem

__all__ = ["CASES", "Case", "is_full", "judged", "main", "run_case", "table", "tasks_of"]

MUST_REFUSE = {
    Violation.MISSING_FACTOR: "factor",
    Violation.NO_FACTORS: "edge",
    Violation.DIRECT_EDGE: "edge",
    Violation.HIDDEN_CAUSE: "cause",
    Violation.NOT_A_CLAMP: "clamp",
    Violation.FEEDBACK: "feedback",
    Violation.NOISY_FACTOR: "cause",
}
"""Worlds in which no f-SCM with that many factors is right, and the suggestion that is expected.
In all others a claimed graph is an over-claim only if it is not the true one."""

HARMLESS = {Violation.NOISE_FAMILY, Violation.SPARE_FACTOR}
"""What a world may break and a model still be right: the graph says nothing about noise."""

MIN_CORRELATION = 0.95
"""Values claimed up to scale and shift must correlate with the true ones at least so much."""


@dataclass(frozen=True)
class Case:
    """What is fitted: a world or a setting of the paper, and in which class.

    Attributes:
        name: how the table calls it.
        world: a name of `WORLDS`, or None.
        setting: a letter of the paper's settings, or None.
        size: of the setting.
        classes: of F_Z and F_X; `auto`, as users fit, unless the wrong one is asked for.
        wrong_class: whether the truth is of another class.
    """

    name: str
    world: str | None = None
    setting: str | None = None
    size: str = "16-3"
    classes: tuple[str, str] = ("auto", "auto")
    wrong_class: bool = False

    def problem(self, seed: int) -> WorldProblem | Problem:
        """The data and the truth."""
        if self.world is not None:
            return world_problem(self.world, seed)
        assert self.setting is not None
        return paper_problem(self.setting, self.size, seed=seed)


def _cases() -> Iterator[Case]:
    linear = ("linear", "linear")
    for letter in "abcdefg":
        yield Case(f"setting {letter}", setting=letter)
        if letter in "efg":
            name = f"setting {letter}, fitted linear"
            yield Case(name, setting=letter, classes=linear, wrong_class=True)
    yield from (Case(name, world=name) for name in WORLDS)


CASES = {case.name: case for case in _cases()}


SLOW = (
    *("genes", "genes-27", "genes-8", "genes-3", "genes-technical", "batches", "two-populations"),
    *("rates-50", "rates-90", "cut-off-90", "exponential", "known-context", "raw-counts"),
    *("knockdown", "shift", "time-series", "logic", "counts-50", "counts-90"),
)
"""Cases of which one fit takes ten seconds and more: run after all others, so that a run that
is stopped early has the others whole."""


def run_case(name: str, seed: int) -> dict[str, Any]:
    """Fits one case and judges its certificate."""
    from ucad.estimator import UCAD

    warnings.simplefilter("ignore")
    case = CASES[name]
    problem = case.problem(seed)
    data = _together(problem.train, problem.validation)
    asked = getattr(problem, "asked_factors", None) or problem.scm.graph.n_factors
    started = time.process_time()
    try:
        F_Z, F_X = case.classes
        model = UCAD(asked, solver="search", factor_mechanism=F_Z, variable_mechanism=F_X)
        model.fit(data)
    except UcadError as error:
        return {"case": name, "seed": seed, "error": f"{type(error).__name__}: {error}"}
    row = {"case": name, "seed": seed, "seconds": round(time.process_time() - started, 2)}
    return row | judged(case, problem, model)


def judged(case: Case, problem: WorldProblem | Problem, model: Any) -> dict[str, Any]:
    """What was claimed, beside what is true."""
    found, graph = model.certificate_, _used(model.graph_)
    truth = problem.graph if isinstance(problem, WorldProblem) else problem.scm.graph
    columns = np.unique(model.columns_.variable, return_index=True)[1]  # copies are merged
    if truth is not None:
        truth = FactorGraph(truth.Q[columns], truth.R[columns])
    violates = getattr(problem, "violates", ())
    exact = truth is not None and graph.is_same_up_to_relabelling(truth)
    answers = {one.what: one.answer.value for one in found.permissions}
    A = problem.adjacency if truth is None else truth.variable_adjacency
    learned = graph.variable_adjacency
    correlation = _correlation(problem, model) if exact else None
    must_refuse = [kind for kind in violates if kind in MUST_REFUSE]
    if truth is not None and (truth.R.sum(axis=0) <= 1).all():  # then it is the child's
        must_refuse = [kind for kind in must_refuse if kind is not Violation.NOISY_FACTOR]
    over = {
        "graph": answers["graph"] == "yes" and (not exact or bool(must_refuse)),
        "directions": answers["directions"] == "yes" and bool((learned & A.T & ~A).any()),
        "values": answers["values"] == "yes" and (correlation or 0.0) < MIN_CORRELATION,
    }
    expected = [MUST_REFUSE[kind] for kind in must_refuse if A.any()]
    expected += ["class"] * case.wrong_class
    return {
        "violates": [str(kind) for kind in violates],
        "exact": exact,
        "right": exact and not set(violates) - HARMLESS and not case.wrong_class,
        "can_be_full": _can_be_full(problem.train.select_variables(columns), A),
        "answers": answers,
        "over_claims": [what for what, is_over in over.items() if is_over],
        "fired": _fired(found),
        "suggestions": [one.kind for one in found.suggestions],
        "expected": expected,
        "edges_missing": int((A & ~learned).sum()),
        "edges_spurious": int((learned & ~A).sum()),
        "correlation": correlation,
        "smallest_share_seen": found["left"].details["smallest_share_seen"],
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A line per case, and the totals, as markdown."""
    lines = [
        "| case | fits | exact | over-claims | full claims of right models | false alarms "
        "| refused | expected suggestion in first two | what fired |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    done = [row for row in rows if "error" not in row]
    found = {row["case"] for row in done}
    names = [name for name in CASES if name in found]
    lines += [_line(name, [row for row in done if row["case"] == name]) for name in names]
    lines.append(_line("**all**", done))
    failed = [row for row in rows if "error" in row]
    if failed:
        lines.append(f"\n{len(failed)} fits failed, the first: {failed[0]['error']}")
    return "\n".join(lines)


def _line(name: str, rows: Sequence[dict[str, Any]]) -> str:
    right = [row for row in rows if row["right"]]
    able = [row for row in right if row["can_be_full"]]
    full = [row for row in able if is_full(row)]
    alarms = [row for row in right if row["answers"]["graph"] == "no"]
    wrong = [row for row in rows if row["expected"]]
    hit = [row for row in wrong if set(row["expected"]) & set(row["suggestions"][:2])]
    refused = [row for row in rows if row["answers"]["graph"] != "yes"]
    fired: dict[str, int] = {}
    for row in rows:
        for test in row["fired"]:
            fired[test] = fired.get(test, 0) + 1
    tests = ", ".join(f"{test} {count}" for test, count in sorted(fired.items()))
    over = sum(bool(row["over_claims"]) for row in rows)
    cells = [
        name,
        len(rows),
        sum(row["exact"] for row in rows),
        over,
        f"{len(full)}/{len(able)}" if able else "–",
        f"{len(alarms)}/{len(right)}" if right else "–",
        len(refused),
        f"{len(hit)}/{len(wrong)}" if wrong else "–",
        tests,
    ]
    return f"| {' | '.join(map(str, cells))} |"


def main(words: Sequence[str] | None = None) -> None:
    """Reads the command line, runs what is missing, and writes table and figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES, metavar="CASE")
    parser.add_argument("--seeds", default="1000:1020", help="first:last, the last left out")
    parser.add_argument("--slow-fits", type=int, help="seeds of each slow case, at most")
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time")
    parser.add_argument("--rows", type=Path, default=Path("docs/claims.jsonl"))
    parser.add_argument("--table", type=Path, default=None, help="a markdown file to write")
    parser.add_argument("--figure", type=Path, default=None, help="an image to write")
    options = parser.parse_args(words)
    first, last = (int(part) for part in options.seeds.split(":"))
    tasks = tasks_of(options.cases, range(first, last), options.slow_fits)
    rows = _run(tasks, options.rows, options.jobs)
    print(table(rows))
    if options.table is not None:
        options.table.write_text(table(rows) + "\n", encoding="utf-8")
    if options.figure is not None:
        from experiments.figures import draw_claims

        draw_claims([row for row in rows if "error" not in row], options.figure)


def tasks_of(cases: Sequence[str], seeds: range, slow_fits: int | None) -> list[tuple[str, int]]:
    """Cases and seeds in the order to run them: slow cases last, and some or all of their seeds.

    Seed by seed, so that a run that is stopped early has every case as often as any other.
    """
    quick = [(name, seed) for seed in seeds for name in cases if name not in SLOW]
    slow = [(name, seed) for seed in seeds[:slow_fits] for name in cases if name in SLOW]
    return [*quick, *slow]


def _run(tasks: Sequence[tuple[str, int]], path: Path, jobs: int) -> list[dict[str, Any]]:
    """Does the tasks that have no row yet, and returns the rows of all, in their order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    known = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            known[row["case"], row["seed"]] = row
    missing = [task for task in tasks if task not in known]
    commit = provenance()["commit"]
    with path.open("a", encoding="utf-8") as file, ProcessPoolExecutor(jobs) as pool:
        waiting = {pool.submit(run_case, *task): task for task in missing}
        for number, done in enumerate(as_completed(waiting), 1):
            task = waiting[done]
            known[task] = _result(done, task) | {"commit": commit}
            file.write(json.dumps(known[task]) + "\n")
            file.flush()
            print(f"\r{number} of {len(missing)}", end="", flush=True)
    print()
    return [known[task] for task in tasks]


def _result(done: Future[dict[str, Any]], task: tuple[str, int]) -> dict[str, Any]:
    """The row of a task; one that failed becomes a row with its error, and the rest goes on.

    A process that was killed says nothing about the task: the run ends, and can be resumed.
    """
    error = done.exception()
    if error is None or isinstance(error, BrokenProcessPool):
        return done.result()
    return {"case": task[0], "seed": task[1], "error": f"{type(error).__name__}: {error}"}


def _together(train: InterventionalData, validation: InterventionalData) -> InterventionalData:
    """The estimator makes its own split."""
    return InterventionalData(
        np.concatenate([train.x, validation.x]),
        np.concatenate([train.is_intervened, validation.is_intervened]),
        np.concatenate([train.regime, validation.regime]),
        train.variable_names,
        train.layer_of,
        train.regime_names,
        is_part=True,
    )


def _used(graph: FactorGraph) -> FactorGraph:
    """The graph without factors that explain nothing."""
    used = graph.Q.any(axis=0) & graph.R.any(axis=0)
    names = tuple(name for name, is_used in zip(graph.factor_names, used, strict=True) if is_used)
    return FactorGraph(graph.Q[:, used], graph.R[:, used], graph.variable_names, names)


def _can_be_full(train: InterventionalData, A: np.ndarray) -> bool:
    """Whether the data allow a full claim: samples to hold out, and most causes acted on."""
    never = A[~train.is_intervened.any(axis=0)].sum()
    return train.n_samples >= MIN_SAMPLES_TO_HOLD_OUT and bool(2 * never <= A.sum())


def _correlation(problem: WorldProblem | Problem, model: Any) -> float:
    """That of the factor that was recovered worst, each matched with a true one."""
    found = mean_correlation(model.transform(problem.test.x), problem.factors)
    return round(float(np.abs(found.values).min(initial=1.0)), 4)


def is_full(row: Mapping[str, Any]) -> bool:
    """Whether graph, directions and factors were claimed without reserve."""
    return all(row["answers"][what] == "yes" for what in ("graph", "directions", "factors"))


def _fired(found: Any) -> list[str]:
    """The tests that spoke against the model."""
    levels = {row["level"] for row in found["left"].details["findings"]}
    checks = {
        "left": 1 in levels,
        "shape": 0 in levels and 1 not in levels,
        "few samples": found["left"].answer.value in ("partly", "not known"),
        "clamps": bool(found["clamps"].details["not_clamped"]),
        "edges": bool(found["edges"].details["unsupported"]),
        "cancelled": bool(found["edges"].details["cancelled"]),
        "upstream": found["upstream"].answer.value == "no",
        "feedback": found["feedback"].answer.value == "no",
        "shared noise": bool(found["scale"].details["with_shared_noise"])
        or found["noise"].answer.value == "no",
        "contradicted": found["directions"].details["contradicted"] > 0,
        "open directions": found["directions"].details["not_oriented"] > 0,
        "fit": found["fit"].answer.value == "no",
    }
    return [name for name, is_fired in checks.items() if is_fired]


if __name__ == "__main__":
    main()
