"""Tables as users bring them: right, nearly right, and wrong in every way we could think of."""

import json
import os
from pathlib import Path

import numpy as np

CELLS = [
    "", "NA", "nan", "inf", "-inf", "1e999", "1e308", "-1e308", "5e-324", "1e-310", "red",
    "1,5", "1.2.3", "0x10", "1_000", "true", "False", "yes", "1+2j", "(1+2j)", "１", "²", "--1",
    "1e", "None", "null", " 3 ", "\x00", "\ufeff1", "🧬", "'", '"', "2020-01-01", "9" * 400,
    "[1]", "{}", "1;2", "\t", "\u2212 1",
]  # fmt: skip
LABELS = [
    "", "a", "b", "A", "B ", "a;b", "b;a", "ab", "ba", "control", "NT", "nan", "None", ";",
    ";;", '"a;b"', '"', "unmeasured", "1", "a;unmeasured", "aaaaaaaa" * 50, "\u200b", "é",
]  # fmt: skip
HEADERS = [
    ["a", "b", "c"], ["a", "a", "c"], ["", "a", "b"], ["Unnamed: 0", "a", "b"], ["a", "", "c"],
    ["a", "b", "target"], ["a", "b", "regime"], ["target", "regime", "x"], [" a", "a ", "b"],
    ["a", "b", "gene"], ["1", "2", "3"], ["\ufeffa", "b", "c"], ["a;b", "c", "d"], ["", "", ""],
    ["STAT1", "JAK2", "gene"], ["a\nb", "c", "d"], ["__index_level_0__", "a", "b"],
    ["é", "é", "c"],
]  # fmt: skip


def hostile_table(seed: int, folder: Path) -> tuple[Path, list[str]]:
    """Writes a table of a random kind and returns it with options for `ucad fit`."""
    rng = np.random.default_rng(seed)
    make = _KINDS[seed % len(_KINDS)]
    path = make(rng, folder)
    return path, _options(rng)


def _options(rng) -> list[str]:
    pool = [
        ["--target", "gene"], ["--target", "target"], ["--target", ""], ["--target", "nope"],
        ["--control", "NT"], ["--control", "nt"], ["--control", ""], ["--ignore", "b"],
        ["--ignore", "zz"], ["--drop-constant"], ["--min-mean", "0"], ["--min-mean", "nan"],
        ["--min-mean", "1e400"], ["--log-counts"], ["--indicators.b", "a"],
        ["--indicators.zz", "a"], ["--indicators.b", ""], ["--indicators.b", "nowhere"],
        ["--layers", "layers.csv"], ["--missing", "drop"], ["--missing", "mean"],
        ["--missing", "maen"],
    ]  # fmt: skip
    chosen = rng.permutation(len(pool))[: int(rng.integers(0, 3))]
    return [word for at in chosen for word in pool[at]]


def _text_table(rng, folder: Path) -> Path:
    """A csv or tsv with some odd cells, labels, heads, lines and line ends."""
    ending = str(rng.choice(["csv", "tsv", "txt", "CSV"]))
    separator = "," if ending.lower() == "csv" else "\t"
    header = list(HEADERS[int(rng.integers(len(HEADERS)))])
    rows = [
        [f"{value:.4g}" for value in row] for row in rng.normal(size=(int(rng.integers(0, 8)), 3))
    ]
    for row in rows:
        if rng.random() < 0.5 and header[-1] in ("target", "gene"):
            row[-1] = str(rng.choice(LABELS))
    for _ in range(int(rng.integers(0, 4))):
        if rows:
            rows[int(rng.integers(len(rows)))][int(rng.integers(3))] = str(rng.choice(CELLS))
    lines = [separator.join(row) for row in [header, *rows]]
    if rng.random() < 0.2:
        lines.insert(
            int(rng.integers(len(lines) + 1)),
            str(rng.choice(["", "1", "1,2", '"', "#", "\x00", ",,,,"])),
        )
    text = str(rng.choice(["\n", "\r\n", "\r"])).join(lines)
    content = text.encode("utf-8", "replace")
    if rng.random() < 0.25:
        content = _spoilt(rng, content)
    path = folder / f"table.{ending}"
    path.write_bytes(content)
    if rng.random() < 0.15:
        sides = ['{"my": 1}', "[", "[]", '{"regime_names": 3, "is_part": 1}', "[" * 100_000]
        (folder / f"table.{ending}.json").write_text(str(rng.choice(sides)))
    return path


def _odd_array(rng, shape=None) -> np.ndarray:
    """An array of an odd kind or shape, or with an odd value in it."""
    shape = shape or [(6, 3), (6,), (0, 3), (6, 0), (2, 3, 2), (), (1, 3)][int(rng.integers(7))]
    values = rng.normal(size=shape)
    kind = str(
        rng.choice(["f8", "f4", "f2", "i8", "u1", "?", "c16", "U5", "S3", "M8[s]", "f16", "V4"])
    )
    if kind == "c16":
        return values + 1j
    if kind in ("U5", "S3"):
        return np.full(shape, "red").astype(kind)
    if kind == "M8[s]":
        return np.zeros(shape, dtype=kind)
    if kind == "V4":
        return np.zeros(shape, dtype=[("a", "f2"), ("b", "i2")])
    if kind in ("f8", "f4") and values.size and rng.random() < 0.5:
        values.reshape(-1)[0] = rng.choice([np.nan, np.inf, 1e30, 0.0])
    return values.astype(kind)


def _npz(rng, folder: Path) -> Path:
    members = {"x": rng.normal(size=(6, 3))}
    names = ["x", "is_intervened", "variable_names", "layer_of", "regime", "side", "other"]
    for _ in range(int(rng.integers(0, 4))):
        members[str(rng.choice(names))] = _odd_array(rng)
    if rng.random() < 0.3:
        members["layer_of"] = np.array([np.nan, 1, 2])
    if rng.random() < 0.3:
        members["is_intervened"] = rng.integers(0, 3, size=(6, 3))
    if rng.random() < 0.3:
        members["side"] = np.array(
            str(rng.choice(["{}", "[]", "nan", "x", '{"regime_names": []}', "[" * 5000]))
        )
        members["is_intervened"] = np.zeros((6, 3), dtype=bool)
        members["variable_names"] = np.array(["a", "b", "c"])
    if rng.random() < 0.1:
        del members["x"]
    path = folder / "table.npz"
    np.savez(path, **members)
    if rng.random() < 0.25:
        path.write_bytes(_spoilt(rng, path.read_bytes()))
    return path


def _parquet(rng, folder: Path) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    n = int(rng.integers(0, 6))
    pool = [
        pa.array(rng.normal(size=n)), pa.array(rng.integers(0, 9, n)), pa.array([True] * n),
        pa.array(["red"] * n), pa.array([None] * n), pa.array([[1.0]] * n),
        pa.array([{"a": 1}] * n), pa.array([b"x"] * n), pa.array(np.zeros(n, dtype="M8[s]")),
        pa.array([None, 1.0][:n] * 3)[:n], pa.array(["a", "b", "", None, "NT", "a;b"][:n]),
        pa.nulls(n),
    ]  # fmt: skip
    header = HEADERS[int(rng.integers(len(HEADERS)))]
    columns = [pool[int(rng.integers(len(pool)))] for _ in header]
    table = pa.Table.from_arrays(columns, names=header)
    if rng.random() < 0.3:
        table = table.replace_schema_metadata({b"ucad": rng.choice([b"{}", b"[", b"\xff", b"3"])})
    path = folder / "table.parquet"
    parquet.write_table(table, path)
    if rng.random() < 0.3:
        path.write_bytes(_spoilt(rng, path.read_bytes()))
    return path


def _h5ad(rng, folder: Path) -> Path:
    import h5py

    path = folder / "table.h5ad"
    from ucad.data import InterventionalData, formats

    data = InterventionalData.from_targets(
        rng.normal(size=(6, 3)), ["", "", "a", "a", "b", ""], variable_names=("a", "b", "c")
    )
    formats.write(data, path)
    if rng.random() < 0.3:
        path.write_bytes(_spoilt(rng, path.read_bytes()))
        return path
    with h5py.File(path, "r+") as file:
        if rng.random() < 0.5:
            del file["uns"]["ucad"]
        for _ in range(int(rng.integers(0, 3))):
            place = str(
                rng.choice(
                    [
                        "X",
                        "layers/is_intervened",
                        "obs/regime",
                        "obs/target",
                        "uns/ucad",
                        "var",
                        "obs",
                    ]
                )
            )
            if place in file:
                attributes = dict(file[place].attrs)
                del file[place]
                if rng.random() < 0.7 and place not in ("var", "obs"):
                    made = file.create_dataset(
                        place, data=np.abs(rng.normal(size=(6, 3))[: int(rng.integers(1, 7))])
                    )
                    if rng.random() < 0.7:
                        made.attrs.update(attributes)
        if "X" in file and isinstance(file["X"], h5py.Dataset) and rng.random() < 0.3:
            kind = str(rng.choice(["nan", "complex"]))
            del file["X"]
            x = rng.normal(size=(6, 3)) + (1j if kind == "complex" else 0)
            x[0, 0] = np.nan
            made = file.create_dataset("X", data=x)
            made.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        if rng.random() < 0.3:  # how a file says that there is nothing
            place = str(rng.choice(["raw", "layers", "uns", "obs", "X"]))
            file.pop(place, None)
            made = file.create_dataset(place, data=h5py.Empty("f4"))
            made.attrs.update({"encoding-type": "null", "encoding-version": "0.1.0"})
    return path


def _dcdi(rng, folder: Path) -> Path:
    path = folder / "table"
    path.mkdir()
    x = rng.normal(size=(6, 3)) if rng.random() < 0.5 else _odd_array(rng)
    np.save(path / "data_interv1.npy", x)
    lines = [
        str(rng.choice(["", "", "0", "2", "0,1", "7", "-1", "a", "²", "9" * 30, "0.5"]))
        for _ in range(6)
    ]
    (path / "intervention1.csv").write_text("\n".join(lines) + "\n")
    regimes = [
        str(rng.choice(["0", "0", "1", "2", "1000000000000", "-1", "nan", "1.5", "9" * 30, "x"]))
        for _ in range(6)
    ]
    (path / "regime1.csv").write_text("\n".join(regimes) + "\n")
    if rng.random() < 0.3:
        side = rng.choice(["{}", "[]", "{", json.dumps({"variable_names": 3}), "[" * 50_000])
        (path / "ucad.json").write_text(str(side))
    if rng.random() < 0.3:
        victim = path / str(rng.choice(["data_interv1.npy", "intervention1.csv", "regime1.csv"]))
        if rng.random() < 0.3:
            victim.unlink()
        elif rng.random() < 0.3:
            victim.unlink()
            victim.mkdir()
        elif rng.random() < 0.3:
            victim.unlink()
            os.mkfifo(victim)
        else:
            victim.write_bytes(_spoilt(rng, victim.read_bytes()))
    return path


def _strange_file(rng, folder: Path) -> Path:
    """Pipes, folders, devices, loops and files of nothing under the name of a table."""
    path = folder / f"table.{rng.choice(['csv', 'npz', 'parquet', 'h5ad', 'tsv'])}"
    kind = int(rng.integers(7))
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.mkdir()
    elif kind == 2:
        path.symlink_to("/dev/zero")
    elif kind == 3:
        path.symlink_to(path)
    elif kind == 4:
        path.write_bytes(b"")
    elif kind == 5:
        path.write_bytes(rng.bytes(int(rng.integers(1, 500))))
    else:
        path.symlink_to("/proc/self/mem")
    return path


def _spoilt(rng, content: bytes) -> bytes:
    """Cut off, changed somewhere, or with something in front or behind."""
    how = int(rng.integers(4))
    if how == 0:
        return content[: int(rng.integers(len(content) + 1))]
    if how == 1 and content:
        changed = bytearray(content)
        for at in rng.integers(len(content), size=int(rng.integers(1, 6))):
            changed[at] = int(rng.integers(256))
        return bytes(changed)
    return rng.bytes(8) + content if how == 2 else content + rng.bytes(20)


_KINDS = [_text_table, _text_table, _text_table, _npz, _parquet, _h5ad, _dcdi, _strange_file]
