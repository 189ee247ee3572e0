"""Options and settings files that nobody should give."""

import json
from pathlib import Path

import numpy as np

NUMBERS = [
    "-1", "0", "1", "2", "99999999999999999999", "-5", "nan", "inf", "-inf", "1e400", "1.5",
    "0.999999", "", "abc", "²", "0x10", "1_0", "٣", "1e-320", "True", "null", "--", "-0",
]  # fmt: skip
TEXTS = [
    "",
    "auto",
    "search",
    "AUTO",
    "banana",
    "cuda",
    "cuda:99",
    "meta",
    "cpu:7",
    "\x01",
    "é",
    "a" * 999,
]
PATHS = [
    "/dev/zero",
    "/dev/null",
    ".",
    "/",
    "nowhere",
    "a\0b",
    "fifo",
    "binary",
    "/proc/self/mem",
    "",
]
TOML_VALUES = [
    "-1", "true", "nan", "inf", "1.5", '"x"', "[]", "[1]", '["a", 2]', "{}", "{ a = 1 }", "1e400",
    "99999999999999999999", "2020-01-01", '""', "[[[[]]]]", "'''x'''", '"\\u0000"', "-0",
]  # fmt: skip
FIT = [
    "factors", "solver", "factor-mechanism", "variable-mechanism", "layers", "prior", "standardise",
    "validation-share", "seed", "device", "target", "control", "ignore", "min-mean", "config",
]  # fmt: skip


def hostile_words(seed: int, folder: Path) -> list[str]:
    """A command with odd options; nothing in it is meant to start a long fit."""
    rng = np.random.default_rng(seed)
    _make_files(rng, folder)
    return [str(word) for word in _COMMANDS[seed % len(_COMMANDS)](rng)]


def _fit(rng) -> list[str]:
    words = ["fit", "ok.csv", "--factors", "1", "--solver", "search"]
    for name in rng.permutation(FIT)[: int(rng.integers(1, 4))]:
        pool = (
            PATHS if name in ("layers", "prior", "config") else TEXTS if name in _TEXTS else NUMBERS
        )
        words += [f"--{name}", str(rng.choice(pool))]
    return words


def _fit_from_file(rng) -> list[str]:
    return ["fit", "ok.csv", "--config", "settings.toml", "--print-config"][
        : int(rng.integers(4, 6))
    ]


def _simulate(rng) -> list[str]:
    words = [
        "simulate",
        str(rng.choice(["a", "q", "", "e"])),
        str(rng.choice(["16-3", "9-9", "", "-"])),
    ]
    words += ["-o", str(rng.choice(["/dev/null", ".", "ok.csv", "ok.csv/x"]))]
    return [
        *words,
        "--seed",
        str(rng.choice(NUMBERS)),
        "--samples",
        str(rng.choice(["-1", "0", "abc", "1e9"])),
    ]


def _sweep(rng) -> list[str]:
    words = [
        "sweep",
        str(rng.choice(["grid.toml", "grid.toml", "nowhere", "/dev/zero", "fifo", "binary"])),
    ]
    words += [
        "-o",
        str(rng.choice(["foreign.json", "foreign.txt", "/dev/null", ".", "fifo", "binary"])),
    ]
    for name in ("--workers", "--budget", "--task-minutes"):
        if rng.random() < 0.5:
            words += [name, str(rng.choice(NUMBERS))]
    return [*words, "--quiet", *(["--retry-failed"] if rng.random() < 0.3 else [])]


def _predict(rng) -> list[str]:
    clamps = ["X1=nan", "X1=inf", "X1", "=", "X1=1e308", "Z1=1", "nope=1", "X1=1", "X1=2", "X1==1"]
    chosen = rng.permutation(clamps)[: int(rng.integers(0, 3))].tolist()
    return [
        "predict",
        "run",
        *chosen,
        "--samples",
        str(rng.choice(["0", "-1", "abc", "5", "1", "1e99"])),
    ]


def _evaluate(rng) -> list[str]:
    files = [
        "ok.csv",
        "binary",
        "fifo.npy",
        "nowhere.npy",
        "complex.npy",
        "text.npy",
        "flat.npy",
        ".",
    ]
    learned, true = rng.choice(files, size=2)
    return [
        "evaluate",
        "--learned",
        learned,
        "--true",
        true,
        "--metrics",
        "mcc_pearson",
        "--seed",
        rng.choice(NUMBERS),
    ]


def _record(rng) -> list[str]:
    script = str(
        rng.choice(
            [
                "model.py:net",
                "model.py:nope",
                "model.py",
                "leaves.py:net",
                "raises.py:net",
                "fifo:x",
            ]
        )
    )
    inputs = str(
        rng.choice(
            [
                "inputs.npy",
                "complex.npy",
                "text.npy",
                "binary",
                "nowhere.npy",
                "fifo.npy",
                "flat.npy",
            ]
        )
    )
    words = [
        "record",
        script,
        "--inputs",
        inputs,
        "--sites",
        str(rng.choice(["0", "9", "", "0@1", "0[99]", "[["])),
    ]
    words += ["-o", str(rng.choice(["ok.csv", ".", "/dev/null"]))]
    return [
        *words,
        "--per-clamp",
        str(rng.choice(NUMBERS)),
        "--batch-size",
        str(rng.choice(NUMBERS)),
        "--quiet",
    ]


def _demo(rng) -> list[str]:
    return [
        "demo",
        "--setting",
        str(rng.choice(["q", "", "A"])),
        "--size",
        "16-3",
        "-o",
        "demo",
        "--seed",
        "1",
    ]


def _make_files(rng, folder: Path) -> None:
    import os

    x = rng.normal(size=(30, 3))
    lines = ["a,b,c", *(",".join(map(str, row)) for row in x)]
    (folder / "ok.csv").write_text("\n".join(lines))
    names = [
        "factors",
        "seed",
        "ignore",
        "indicators",
        "control",
        "min_mean",
        "solver",
        "zz",
        "device",
    ]
    toml = [
        f"{name} = {rng.choice(TOML_VALUES)}"
        for name in rng.permutation(names)[: int(rng.integers(1, 4))]
    ]
    if rng.random() < 0.1:
        toml = ["ignore = " + "[" * 5000]
    (folder / "settings.toml").write_text("\n".join(toml))
    grid = [
        f"{name} = {rng.choice([*TOML_VALUES, json.dumps('0:999999999')])}"
        for name in rng.permutation(
            ["setting", "size", "seed", "noise_scale", "n_samples", "ceiling", "metrics", "zz"]
        )[: int(rng.integers(0, 5))]
    ]
    head = str(
        rng.choice(
            ["", "", 'function = "os:system"', "function = 3", "grid = 3", "grid = [1]", "x = 1"]
        )
    )
    (folder / "grid.toml").write_text(
        "\n".join([head, "[[grid]]" if "grid" not in head else "", *grid])
    )
    (folder / "foreign.json").write_text('{"my": "settings"}\n')
    (folder / "foreign.txt").write_text("my thesis")
    (folder / "binary").write_bytes(rng.bytes(50))
    for name in ("fifo", "fifo.npy"):
        os.mkfifo(folder / name)
    np.save(folder / "inputs.npy", x.astype(np.float32))
    np.save(folder / "complex.npy", x + 1j)
    np.save(folder / "text.npy", np.full((3, 2), "red"))
    np.save(folder / "flat.npy", np.ones((5, 2)))
    (folder / "model.py").write_text("from torch import nn\nnet = nn.Sequential(nn.Linear(3, 2))\n")
    (folder / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    (folder / "raises.py").write_text("raise KeyError('x')\n")


_TEXTS = (
    "solver",
    "factor-mechanism",
    "variable-mechanism",
    "device",
    "target",
    "control",
    "ignore",
)
_COMMANDS = [
    _fit,
    _fit,
    _fit_from_file,
    _simulate,
    _sweep,
    _sweep,
    _predict,
    _evaluate,
    _record,
    _demo,
]
