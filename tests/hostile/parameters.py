"""An estimator with parameters that nobody foresaw."""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

ODD = {
    "none": None, "true": True, "zero": 0, "minus": -1, "three": 3, "fraction": 0.5, "huge": 10**30,
    "nan": float("nan"), "inf": float("inf"), "empty": "", "word": "wrod", "half": "\ud800",
    "null": "\0", "bytes": b"auto", "list": [], "names": ["a", "b"], "tuple": (1, 2), "set": {1},
    "dict": {}, "array": np.zeros(3), "matrix": np.eye(4), "object": object(), "type": int,
    "function": len, "complex": 1j, "scalar": np.array("auto"),
    "generator": np.random.default_rng(0),
}  # fmt: skip
BASE = {"n_factors": 1, "solver": "search", "factor_mechanism": "linear"}
BASE |= {"variable_mechanism": "linear", "max_seconds": 20.0, "noise": "gaussian", "reads": "none"}


def try_all(name: str, told: str) -> None:
    """Fits with every odd value of a parameter; what is neither used nor refused is written."""
    import ucad
    from ucad.errors import UcadError

    warnings.simplefilter("ignore")
    x = np.random.default_rng(0).normal(size=(60, 4))
    x[:, 2:] += x[:, :1]
    wrong = {}
    for kind, value in ODD.items():
        if name == "progress" and callable(value):
            continue  # a function of the user's own, which may raise what it likes
        try:
            model = ucad.UCAD(**BASE | {name: value}).fit(x)
            if not np.isfinite(model.transform(x)).all():
                wrong[kind] = "not finite"
        except UcadError:
            continue
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            wrong[kind] = f"{type(error).__name__}: {error}"
    Path(told).write_text(json.dumps(wrong, indent=1))
    sys.exit(bool(wrong))
