"""`ucad demo`: the main job on a problem whose answer is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ucad.cli.options import Seed

if TYPE_CHECKING:
    from ucad.metrics import EvaluationTable

__all__ = ["PAPER_MCC", "demo"]

PAPER_MCC = {
    "a": {"16-3": 0.8826, "64-6": 0.7978, "128-8": 0.9294},
    "b": {"16-3": 0.8681, "64-6": 0.8104},
    "c": {"16-3": 0.8049, "64-6": 0.9317},
    "d": {"16-3": 0.7303, "64-6": 0.8232},
    "e": {"16-3": 0.8219, "64-6": 0.7808},
    "f": {"16-3": 0.8650, "64-6": 0.7616},
    "g": {"16-3": 0.6366, "64-6": 0.6248},
    "h": {"64-6": 0.8330},
    "i": {"64-6": 0.8502},
}
"""The mean MCC (Pearson) that the paper reports for its own learner, over five graphs."""

SHOWN = {
    "mcc_pearson": "correlation of each factor with its true one (MCC)",
    "r2_linear": "variance of the true factors explained (R²)",
    "structure_shd": "wrong edges (structural Hamming distance)",
    "structure_precision_Q": "edges found into factors that are right (precision)",
    "structure_recall_Q": "true edges into factors that were found (recall)",
    "structure_precision_R": "edges found out of factors that are right (precision)",
    "structure_recall_R": "true edges out of factors that were found (recall)",
}
"""The metrics that the demo prints, in a newcomer's words."""


def demo(
    *,
    setting: str = "e",
    size: str = "16-3",
    seed: Seed = 1,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("demo"),
    quiet: bool = False,
) -> int:
    """Simulate a system, find its factors, compare them with the truth, and write the report.

    Parameters
    ----------
    setting
        The letter of the paper's setting, a to i.
    size
        Variables-factors: 16-3, 64-6 or 128-8.
    seed
        Random seed of the problem.
    output
        The folder to write; what an earlier demo wrote there is replaced.
    quiet
        Show no progress.
    """
    from ucad.cli.evaluate import evaluate_run
    from ucad.cli.fit import fit_model
    from ucad.cli.inspect import write_run_report
    from ucad.cli.settings import FitSettings
    from ucad.cli.simulate import simulate
    from ucad.errors import InvalidInputError
    from ucad.files import write_text
    from ucad.runs import METRICS
    from ucad.simulate import SETTINGS, SIZES

    if setting not in SETTINGS or size not in SIZES:
        raise InvalidInputError(
            f"The setting must be one of {', '.join(SETTINGS)} and the size one of "
            f"{', '.join(SIZES)}. Got '{setting}' and '{size}' instead."
        )
    _clear(output)
    truth, run = output / "data", output / "run"
    print("1. Simulate")
    simulate(setting, size, output=truth, seed=seed, force=True)
    print("\n2. Fit, from the training data alone")
    chosen = SETTINGS[setting]
    settings = FitSettings(
        factors=int(size.split("-")[1]),
        factor_mechanism="linear" if chosen.linear_factors else "mlp",
        variable_mechanism="linear" if chosen.linear_variables else "mlp",
        seed=seed,
    )
    code = fit_model(
        truth / "train.csv", settings, run, quiet=quiet, json=False, replace=True, conclude=False
    )
    print("\n3. Compare with the truth, and with chance")
    table = evaluate_run(run, truth, metrics=(), seed=seed)
    write_text(run / METRICS, table.to_json())
    _compare(table, PAPER_MCC.get(setting, {}).get(size))
    print(f"All metrics: ucad evaluate {run} --truth {truth}")
    _answers(run)
    page = write_run_report(run)
    print(f"\n5. Open the report in a browser\n{page.resolve()}")
    return code


def _compare(table: EvaluationTable, paper: float | None) -> None:
    """The metrics that a newcomer needs; `paper` is the mean correlation of the paper's learner."""
    from ucad.cli.output import say

    shown = [score for score in table.scores if score.metric in SHOWN]
    width = max(len(SHOWN[score.metric]) for score in shown)
    print(f"{'':{width}}  value  chance")
    for score in shown:
        digits = 0 if score.metric == "structure_shd" else 3
        chance = 0.0 if score.chance is None else score.chance
        print(f"{SHOWN[score.metric]:{width}}  {score.value:5.{digits}f}  {chance:6.{digits}f}")
    print("Chance: permuted samples, or random graphs with as many edges.")
    if paper is not None:
        say(
            f"The paper reports a correlation of {paper:.2f} for its own learner, on average over "
            "five graphs of this kind."
        )


def _answers(run: Path) -> None:
    from ucad.runs import load_run

    certificate = load_run(run).certificate
    print("\n4. What may be claimed")
    print("" if certificate is None else certificate.answers)
    print(f"Every question behind these answers: ucad certify {run}")


def _clear(output: Path) -> None:
    """Removes what an earlier demo wrote, and nothing else."""
    import shutil

    from ucad.errors import InvalidInputError

    made = {"run": _is_run(output / "run"), "data": _is_simulated(output / "data")}
    if output.exists() and not all(made.get(entry.name, False) for entry in output.iterdir()):
        raise InvalidInputError(
            f"'{output}' holds other things than a demo. Choose another folder with -o."
        )
    if output.exists():
        shutil.rmtree(output.resolve())


def _is_run(folder: Path) -> bool:
    from ucad.runs import OURS, RUN

    names = {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
    return RUN in names and names <= OURS


def _is_simulated(folder: Path) -> bool:
    parts = {
        f"{part}.csv{end}" for part in ("train", "validation", "test") for end in ("", ".json")
    }
    wanted = {*parts, "factors.npy", "truth"}
    return folder.is_dir() and {entry.name for entry in folder.iterdir()} == wanted
