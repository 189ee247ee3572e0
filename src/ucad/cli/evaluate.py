"""`ucad evaluate`: every metric of learned factors beside its chance level."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from zipfile import BadZipFile

from cyclopts import Parameter

from ucad.cli.options import Seed
from ucad.errors import FormatError, InvalidInputError

if TYPE_CHECKING:
    import numpy as np

    from ucad.data import InterventionalData
    from ucad.metrics import EvaluationTable, Score
    from ucad.runs import Run
    from ucad.scm import FactorSCM

__all__ = ["evaluate", "evaluate_run", "read_array"]

MetricName = Literal["mcc_pearson", "mcc_spearman", "mcc_rdc", "r2_linear", "r2_mlp", "dci"]


def evaluate(
    run: Path | None = None,
    *,
    truth: Path | None = None,
    learned: Path | None = None,
    true: Path | None = None,
    metrics: Annotated[tuple[MetricName, ...], Parameter(consume_multiple=True)] = (),
    trees: Literal["gradient_boosting", "lightgbm"] = "gradient_boosting",
    seed: Seed = 0,
    json: bool = False,
) -> None:
    """Compare learned factors with true ones, every metric beside its chance level.

    For a run on a simulated problem: ucad evaluate run/ --truth data/

    For two files of factors: ucad evaluate --learned z_hat.npy --true z.npy

    Args:
        run: The folder of a fitted run.
        truth: The folder of the simulated problem the run was fitted on.
        learned: Learned factors, .npy or .csv, with one row per sample.
        true: True factors on the same samples, .npy or .csv.
        metrics: Which metrics to compute; by default all but those that take long at this size
            (dci, then r2_mlp), which are named below the table.
        trees: The boosted trees of dci; its values depend on them.
        seed: Random seed of splits, resamples, permutations and rotations.
        json: Print JSON instead of a table.
    """
    if run is not None and truth is not None:
        table = evaluate_run(run, truth, metrics=metrics, trees=trees, seed=seed)
        print(table.to_json() if json else table)
        return
    if run is not None or truth is not None:
        raise InvalidInputError("A run is compared with a truth: ucad evaluate run/ --truth data/")
    if learned is None or true is None:
        raise InvalidInputError(
            "Both the learned and the true factors must be given. "
            "Use: ucad evaluate --learned z_hat.npy --true z.npy"
        )
    learned_factors, true_factors = read_array(learned), read_array(true)

    from ucad.metrics import EvaluationSettings, Trees
    from ucad.metrics import evaluate as evaluate_factors

    table = evaluate_factors(
        learned_factors,
        true_factors,
        metrics=metrics or None,
        settings=EvaluationSettings(seed=seed, trees=Trees(trees)),
    )
    print(table.to_json() if json else table)


def evaluate_run(
    run: Path,
    truth: Path,
    *,
    metrics: tuple[MetricName, ...] = (),
    trees: Literal["gradient_boosting", "lightgbm"] = "gradient_boosting",
    seed: int = 0,
) -> EvaluationTable:
    """The table of a run against the folder that `ucad simulate` wrote: factors, graph and NLL."""
    from ucad.data.duplicates import first_columns
    from ucad.metrics import EvaluationSettings, EvaluationTable, Trees
    from ucad.metrics import evaluate as evaluate_factors
    from ucad.runs import load_run

    loaded, true = load_run(run), _true_model(truth)
    learned = loaded.scm
    graph = _true_graph(truth, true)
    names = learned.graph.variable_names
    test, columns, rows = _as_read(loaded, run, truth, "test")
    validation, _, others = _as_read(loaded, run, truth, "validation")
    if graph is not None and len(graph[0]) == len(columns) != len(names):  # columns were merged
        first = first_columns(columns, names)
        graph = graph[0][first], graph[1][first]
    factors = read_array(truth / "factors.npy")
    factors = factors[rows] if factors.shape[:1] == rows.shape else factors
    left_out = int((~rows).sum() + (~others).sum())
    settings = EvaluationSettings(seed=seed, trees=Trees(trees))
    nll = tuple(
        _nll(name, data, learned, true)
        for name, data in (("observational", test), ("interventional", validation))
    )
    if not factors.size:
        note = f"'{truth}' has no true factors: only how well the samples are explained is told."
        return EvaluationTable(nll, asdict(settings), notes=(note,))
    table = evaluate_factors(
        learned.state_map(test.x).numpy(),
        factors,
        metrics=metrics or None,
        learned_graph=None if graph is None else (learned.graph.Q, learned.graph.R),
        true_graph=graph,
        settings=settings,
    )
    missing = [f"'{truth}' has no graph of factors: the structure is not compared."]
    notes = (*table.notes, *(missing if graph is None else ()))
    if left_out:
        notes = (*notes, f"{left_out} samples that the model cannot read are left out.")
    scores = (*table.scores, *_abstraction_errors(learned, true), *nll)
    return replace(table, scores=scores, notes=notes)


def _as_read(
    loaded: Run, run: Path, truth: Path, part: str
) -> tuple[InterventionalData, tuple[str, ...], np.ndarray]:
    """A part of the data as the model reads them, its columns, and which samples those are."""
    import numpy as np

    import ucad
    from ucad.data.duplicates import merged_as
    from ucad.data.transforms import Reads

    names = loaded.scm.graph.variable_names
    data = ucad.read(_data_file(truth, part))
    try:
        merged = merged_as(data, names)
    except InvalidInputError as error:
        raise InvalidInputError(f"'{run}' and '{truth}' are of different variables.") from error
    reads = Reads.from_json(loaded.data, len(names))
    rows = reads.readable(merged)
    kept = merged if rows.all() else merged.select(np.flatnonzero(rows))
    return reads.of(kept), data.variable_names, rows


def _true_model(truth: Path) -> FactorSCM | None:
    """The true f-SCM; None for a world that is none."""
    import ucad

    is_world = (truth / "world.json").exists() and not (truth / "truth").exists()
    return None if is_world else ucad.load_scm(truth / "truth")


def _true_graph(truth: Path, true: FactorSCM | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Q and R of the truth; None for a world without factors."""
    import numpy as np

    from ucad.files import check_regular

    if true is not None:
        return true.graph.Q, true.graph.R
    check_regular(truth / "truth.npz")
    try:
        with np.load(truth / "truth.npz", allow_pickle=False) as arrays:
            edges = {name: np.asarray(arrays[name]) for name in ("Q", "R") if name in arrays}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise FormatError(f"'{truth / 'truth.npz'}' is damaged: {error}.") from error
    if len(edges) < 2:
        return None
    if any(part.ndim != 2 or part.dtype.kind not in "biu" for part in edges.values()):
        raise FormatError(f"'{truth / 'truth.npz'}' is damaged: Q and R must be Boolean matrices.")
    return edges["Q"].astype(bool), edges["R"].astype(bool)


def _abstraction_errors(learned: FactorSCM, true: FactorSCM | None) -> tuple[Score, ...]:
    """CAE↑ and CAE↓ where the package that defines them is installed, beside the true model's."""
    from ucad.metrics import Score
    from ucad.metrics.abstraction_error import abstraction_errors, is_available

    if true is None or not is_available():
        return ()
    ours, exact = abstraction_errors(learned, true), abstraction_errors(true, true)
    return tuple(
        Score(
            metric=f"cae_{way}",
            value=error,
            detail="squared error per factor, in variances"
            + ("" if of_truth is None else f"; the true model: {of_truth:.4f}"),
        )
        for way, error, of_truth in (("up", ours.up, exact.up), ("down", ours.down, exact.down))
        if error is not None
    )


def _nll(name: str, data: InterventionalData, learned: FactorSCM, true: FactorSCM | None) -> Score:
    """The negative log-likelihood of held-out samples, beside that of the true model."""
    from ucad.metrics import Score

    known = "" if true is None else f"; the true model: {true.nll(data.x, data.is_intervened):.4f}"
    return Score(
        metric=f"nll_{name}",
        value=learned.nll(data.x, data.is_intervened),
        detail=f"{data.n_samples} held-out samples{known}",
    )


def _data_file(folder: Path, part: str) -> Path:
    found = sorted(p for p in folder.glob(f"{part}.*") if not p.name.endswith(".json"))
    if not found:
        raise FormatError(f"'{folder}' holds no {part} data: was it made by `ucad simulate`?")
    return found[0]


def read_array(path: Path) -> np.ndarray:
    """Returns the array in a .npy file, or the numbers in a .csv file with or without a heading."""
    import numpy as np

    from ucad.files import check_regular, read_text

    if path.suffix not in (".npy", ".csv"):
        raise FormatError(f"'{path}' must be a .npy or a .csv file. Got '{path.suffix}' instead.")
    check_regular(path)
    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False))
        lines = read_text(path).splitlines()
        n_heading = 0 if not lines or _is_numbers(lines[0]) else 1
        return np.loadtxt(lines, delimiter=",", skiprows=n_heading, ndmin=2, comments=None)
    except OSError as error:
        raise FormatError(f"'{path}' cannot be read: {error.strerror or error}.") from error
    except (ValueError, EOFError, MemoryError, TypeError) as error:
        raise FormatError(f"'{path}' does not hold an array of numbers: {error}") from error


def _is_numbers(line: str) -> bool:
    try:
        [float(cell) for cell in line.split(",")]
    except ValueError:
        return False
    return True
