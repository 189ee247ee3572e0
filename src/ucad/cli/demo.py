"""`ucad demo`: the main job on a problem whose answer is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ucad.cli.options import Seed

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
    code = fit_model(truth / "train.csv", settings, run, quiet=quiet, json=False, replace=True)
    print("\n3. Compare with the truth, and with chance")
    table = evaluate_run(run, truth, metrics=(), seed=seed)
    print(table)
    paper = PAPER_MCC.get(setting, {}).get(size)
    if paper is not None:
        print(f"The paper's learner: mcc_pearson {paper:.4f} on average over five such graphs.")
    write_text(run / METRICS, table.to_json())
    print("\n4. What may be claimed")
    _answers(run)
    page = write_run_report(run)
    print(f"\n5. Open the report in a browser: {page.resolve()}")
    return code


def _answers(run: Path) -> None:
    from ucad.runs import load_run

    certificate = load_run(run).certificate
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
