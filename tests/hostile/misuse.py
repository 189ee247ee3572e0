"""Every method of a fitted model, with arguments that nobody foresaw."""

import json
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from tests.hostile.parameters import BASE, ODD

TABLES = {
    "path": Path("table.csv"), "mapping": {"a": [1.0, 2.0]}, "row": np.zeros(4),
    "cube": np.zeros((2, 3, 4)), "nothing": np.zeros((0, 4)), "narrow": np.zeros((60, 3)),
    "ragged": [[1.0, 2.0], [3.0]], "texts": np.full((60, 4), "x"),
    "dates": np.zeros((60, 4), "M8[s]"), "masked": np.ma.masked_equal(np.eye(60)[:, :4], 1.0),
    "series": pd.Series(np.zeros(60)), "frame": pd.DataFrame(np.zeros((60, 4)), columns=[*"vwxy"]),
    "flags": np.ones((60, 4), bool), "labels": ["a"] * 60, "short": ["a"] * 3,
    "lists": [["a", "nope"]] * 60, "nans": [float("nan")] * 60, "mixed": [None, 1, "a"] * 20,
    "infinite": np.full((60, 4), np.inf), "vast": np.full((60, 4), 1e300),
}  # fmt: skip
"""Besides the odd values of parameters: what is nearly a table, or nearly what was clamped."""


def methods(folder: Path) -> dict:
    """Calls of one argument each, by name; a model of four variables a … d is fitted first."""
    import ucad

    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    x["c"] += x.a
    x["d"] -= x.a
    model = ucad.UCAD(**BASE).fit(x)

    def fit(X=x, **beside):
        return ucad.UCAD(**BASE).fit(X, **beside)

    return {
        "fit X": fit,
        "fit y": lambda y: fit(y=y),
        "fit interventions": lambda given: fit(interventions=given),
        "fit context": lambda given: fit(context=given),
        "fit checkpoint": lambda given: fit(checkpoint=given),
        "transform": model.transform,
        "transform context": lambda given: model.transform(x, context=given),
        "inverse_transform": model.inverse_transform,
        "score": model.score,
        "score interventions": lambda given: model.score(x, interventions=given),
        "predict_regimes": model.predict_regimes,
        "save": model.save,
        "load": ucad.load,
        "read": ucad.read,
        "read target": lambda given: ucad.read(_table(folder, x), target=given),
        "read ignore": lambda given: ucad.read(_table(folder, x), ignore=given),
        "may_claim": model.certificate_.may_claim,
        "do": model.scm_.do,
        "do a": lambda value: model.scm_.do({"a": value}),
        "intervention_map": model.abstraction_.intervention_map,
        "parents": model.graph_.parents,
        "children": model.graph_.children,
        "sample": lambda n: model.scm_.sample(min(n, 1000) if isinstance(n, int) else n),
        "paper_problem": lambda setting: ucad.paper_problem(setting, "16-3", seed=0, n_samples=50),
        "paper_problem size": lambda size: ucad.paper_problem("a", size, seed=0, n_samples=50),
        "paper_problem seed": lambda seed: ucad.paper_problem("a", "16-3", seed, n_samples=50),
    }


def try_method(name: str, told: str) -> None:
    """Calls one method with every odd value; what is neither used nor refused is written."""
    from ucad.errors import UcadError

    warnings.simplefilter("ignore")
    folder = Path(told).parent
    call = methods(folder)[name]
    wrong = {}
    for kind, value in (ODD | TABLES).items():
        try:
            call(value)
        except UcadError:
            continue
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            if not _is_scikit_learns(error):
                wrong[kind] = f"{type(error).__name__}: {error}"
    Path(told).write_text(json.dumps(wrong, indent=1))
    sys.exit(bool(wrong))


def _is_scikit_learns(error: Exception) -> bool:
    """Whether scikit-learn itself refused an array, in the words that its contract asks for."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return isinstance(error, TypeError | ValueError) and "sklearn" in last.filename


def _table(folder: Path, x: pd.DataFrame) -> Path:
    path = folder / "table.csv"
    if not path.exists():
        x.assign(clamped="").to_csv(path, index=False)
    return path
