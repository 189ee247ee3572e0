"""One odd table in every format: kinds of columns, extreme numbers, and what options point at."""

import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from tests.hostile.names import ODD

FORMATS = ["t.csv", "t.tsv", "t.parquet", "t.npz", "t.npy", "t.h5ad", "t.zarr"]
BESIDE = ["gene", "batch", "kind", "depth"]
"""Columns that are no variables: what was acted on, two of context, and what was done."""


NAMES = [name for name in ODD if name.casefold() not in ("nan", "inf")]
"""Names that are not taken for numbers where they are shown."""


def odd_frame(rng) -> pd.DataFrame:
    """A few variables of odd kinds and names, and the columns of `BESIDE`."""
    n = int(rng.choice([0, 1, 2, 3, 8, 30, 60]))
    names = ["a", "b", "c", *map(str, rng.choice(NAMES, size=2))][int(rng.integers(3)) :]
    columns = {name: _column(rng, n) for name in names}
    columns["gene"] = rng.choice(["", "a", "b", "a;b", "b;a", "c", "NT", "gone", " a "], size=n)
    batches = [["x", "y"], ["1", "2"], ["", "x"], [str(at) for at in range(n + 1)], ["nan", "x"]]
    columns["batch"] = rng.choice(batches[int(rng.integers(len(batches)))], size=n)
    columns["kind"] = rng.choice(["clamp", "soft", "shift", "unknown", "?"], size=n)
    columns["depth"] = _column(rng, n)
    return pd.DataFrame(columns)


def write_frame(frame: pd.DataFrame, path: Path, rng) -> None:
    """Writes a frame as other programs would."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if path.suffix in (".csv", ".tsv"):
            text = frame.to_csv(
                sep="," if path.suffix == ".csv" else "\t", index=bool(rng.integers(2))
            )
            path.write_bytes(text.encode("utf-8", "replace"))
        elif path.suffix == ".parquet":
            frame.to_parquet(path, index=bool(rng.integers(2)))
        else:
            _write_matrix(frame, path, rng)


def options_of(rng, path: Path) -> list[str]:
    """Options that point at columns, rightly or not, and say what the data are."""
    pool = [["--context", str(rng.choice([*BESIDE, "a", "nope", ""]))]]
    pool += [["--intervention", str(rng.choice(["kind", "soft", "auto", "batch", "a", "CLAMP"]))]]
    pool += [["--missing", str(rng.choice(["drop", "mean"]))], ["--drop-constant"]]
    pool += [["--noise", str(rng.choice(["student", "counts", "auto", "gaussian", "cauchy"]))]]
    pool += [["--transform", str(rng.choice(["log", "log1p", "rank", "auto", "sqrt"]))]]
    pool += [["--measurement", str(rng.choice(["counts", "gaussian", "auto", "none", "x"]))]]
    pool += [["--measurement-noise", str(rng.choice(["0", "-1", "1e-9", "0.1", "1e9", "nan"]))]]
    pool += [["--unmeasured", str(rng.choice(["keep", "infer", "drop", "?"]))]]
    pool += [["--context-acts-on", str(rng.choice(["mechanisms", "readings", "auto", "x"]))]]
    pool += [["--min-mean", "0"], ["--no-standardise"], ["--control", "NT"]]
    pool += [["--validation-share", str(rng.choice(["0.5", "0", "0.9"]))]]
    if path.suffix in (".h5ad", ".zarr", ".npy"):
        pool += [["--memory", str(rng.choice(["1e-9", "1e-320", "inf", "0", "nan", "1e300"]))]]
        pool += [["--log-counts"]]
    chosen = rng.permutation(len(pool))[: int(rng.integers(0, 4))]
    words = [word for at in chosen for word in pool[at]]
    words += ["--target", "gene"] if path.suffix != ".npz" else []
    left = [name for name in BESIDE if name not in words]
    return [*words, "--ignore", *left] if path.suffix in (".csv", ".tsv", ".parquet") else words


def _column(rng, n: int):
    normal = rng.normal(size=n)
    with np.errstate(all="ignore"):
        pool = [
            normal, normal, normal.astype(np.float32), normal.astype(np.float16), normal * 1e99,
            normal * 1e-99, normal * 1e200, normal * 1e-310, normal * 1e-3 + 1e12,
            np.where(rng.random(n) < 0.1, np.nan, normal), np.where(normal > 1, np.inf, normal),
            np.full(n, np.nan), np.full(n, 3.0), rng.poisson(2, n), rng.poisson(300, n),
            rng.integers(-(2**63), 2**63 - 1, n), rng.integers(0, 2**64 - 1, n, dtype=np.uint64),
            normal > 0, (normal > 0).astype(int), np.abs(normal), np.exp(normal * 3),
            pd.array(rng.integers(0, 3, n), dtype="Int64"), pd.Categorical(rng.integers(0, 3, n)),
            pd.Categorical(["x", "y"] * n)[:n], pd.to_datetime(rng.integers(0, 10**9, n)),
            pd.to_timedelta(rng.integers(0, 10**9, n)), [str(v) for v in normal],
            np.array([*normal.tolist(), None], dtype=object)[:n], ["red"] * n,
            np.where(normal > 2, 1e80, normal), -np.zeros(n), np.round(normal * 2) / 2,
        ]  # fmt: skip
    return pool[int(rng.integers(len(pool)))]


def _write_matrix(frame: pd.DataFrame, path: Path, rng) -> None:
    numbers = frame.drop(columns=BESIDE).apply(pd.to_numeric, errors="coerce")
    x = numbers.astype(float).to_numpy()
    x = x.astype(rng.choice(["f8", "f4", "f2", "i8", "i1", "u2", "?"])) if rng.random() < 0.4 else x
    if path.suffix == ".npz":
        np.savez(path, x=x, variable_names=np.array(numbers.columns, dtype="U"), depth=frame.depth)
    elif path.suffix == ".npy":
        np.save(path, np.asfortranarray(x) if rng.random() < 0.3 else x)
        write_frame(frame[BESIDE], path.with_suffix(".obs.csv").with_suffix(".csv"), rng)
    else:
        _write_anndata(frame, numbers.columns, x, path, rng)


def _write_anndata(frame, names, x, path: Path, rng) -> None:
    import anndata
    from scipy import sparse

    obs = frame[BESIDE].copy()
    obs.index = obs.index.astype(str)
    if rng.random() < 0.4:
        x = [sparse.csr_matrix, sparse.csc_matrix][int(rng.integers(2))](x.astype(float))
    table = anndata.AnnData(X=x, obs=obs, var=pd.DataFrame(index=list(map(str, names))))
    if path.exists():
        shutil.rmtree(path)
    table.write_h5ad(path) if path.suffix == ".h5ad" else table.write_zarr(path)
