"""`ucad evaluate`: every metric of learned factors beside its chance level."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ucad.errors import FormatError, InvalidInputError, UcadError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["evaluate", "read_array"]

MetricName = Literal["mcc_pearson", "mcc_spearman", "mcc_rdc", "r2_linear", "r2_mlp", "dci"]


def evaluate(
    run: Path | None = None,
    *,
    truth: Path | None = None,
    learned: Path | None = None,
    true: Path | None = None,
    metrics: tuple[MetricName, ...] = (),
    trees: Literal["gradient_boosting", "lightgbm"] = "gradient_boosting",
    seed: int = 0,
    json: bool = False,
) -> None:
    """Print every metric of learned against true factors, beside its interval and chance level.

    For two files of factors: ucad evaluate --learned z_hat.npy --true z.npy

    Args:
        run: folder of a fitted run.
        truth: folder of the simulated problem the run was fitted on.
        learned: learned factors, .npy or .csv, one sample a row.
        true: true factors on the same samples, .npy or .csv.
        metrics: which metrics to compute; all if none is named. dci and r2_mlp are the slow ones.
        trees: the boosted trees of dci; its values depend on them.
        seed: of splits, resamples, permutations and rotations.
        json: print JSON instead of a table.
    """
    if run is not None or truth is not None:
        raise UcadError(
            "A run folder cannot be evaluated yet. Save the factors and give them as files: "
            "ucad evaluate --learned z_hat.npy --true z.npy"
        )
    if learned is None or true is None:
        raise InvalidInputError(
            "Both the learned and the true factors must be given. "
            "Use: ucad evaluate --learned z_hat.npy --true z.npy"
        )
    learned_factors, true_factors = read_array(learned), read_array(true)

    from ucad.metrics import ALL_METRICS, EvaluationSettings, Trees
    from ucad.metrics import evaluate as evaluate_factors

    table = evaluate_factors(
        learned_factors,
        true_factors,
        metrics=metrics or ALL_METRICS,
        settings=EvaluationSettings(seed=seed, trees=Trees(trees)),
    )
    print(table.to_json() if json else table)


def read_array(path: Path) -> np.ndarray:
    """Returns the array in a .npy file, or the numbers in a .csv file with or without a heading."""
    import numpy as np

    if path.suffix not in (".npy", ".csv"):
        raise FormatError(f"'{path}' must be a .npy or a .csv file. Got '{path.suffix}' instead.")
    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False))
        n_heading = 0 if _is_numbers(path) else 1
        return np.loadtxt(path, delimiter=",", skiprows=n_heading, ndmin=2)
    except OSError as error:
        raise FormatError(f"'{path}' cannot be read: {error.strerror or error}.") from error
    except (ValueError, EOFError) as error:
        raise FormatError(f"'{path}' does not hold an array of numbers: {error}") from error


def _is_numbers(path: Path) -> bool:
    with path.open(encoding="utf-8") as lines:
        cells = lines.readline().strip().split(",")
    try:
        [float(cell) for cell in cells]
    except ValueError:
        return False
    return True
