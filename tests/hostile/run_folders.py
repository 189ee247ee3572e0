"""Run folders that somebody has been at."""

import json
import os
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

VALUES = [
    None, True, False, 0, -1, 10**30, 1.5, -0.0, 1e308, 5e-324, "", "x", "\u0000", "\ud800", [], {},
    [None], [[]], {"": 1}, {"a": {"b": []}}, ["a", 1], "a" * 5000, [1e308] * 3,
]  # fmt: skip
TEXTS = ["NaN", "Infinity", "-Infinity", "1e999", "[" * 100_000, "1" * 5000, "{", "", "'a'", "\xff"]
HUGE, TINY = 1e300, 5e-324
NAMES = ["run.json", "model.json", "history.json", "certificate.json", "metrics.json"]
EXTRA = ["../x", "report.html", "steering.json", "notes.txt"]


def mutate(seed: int, folder: Path) -> str:
    """Changes one thing in a run folder, and says what."""
    rng = np.random.default_rng(seed)
    how = _MUTATIONS[seed % len(_MUTATIONS)]
    return f"{how.__name__}: {how(rng, folder)}"


def _value_of_json(rng, folder: Path) -> str:
    """Puts another value anywhere into a JSON file, takes one out, or adds one."""
    name = str(rng.choice(NAMES))
    content = json.loads((folder / name).read_text())
    places = list(_places(content))
    parent, key = places[int(rng.integers(len(places)))]
    value = VALUES[int(rng.integers(len(VALUES)))]
    what = f"{name} {key} = {str(value)[:40]!r}"
    if rng.random() < 0.15:
        del parent[key]
        what = f"{name} without {key}"
    else:
        parent[key] = value
    (folder / name).write_text(json.dumps(content))
    return what


def _text_of_json(rng, folder: Path) -> str:
    """Puts something that is no JSON in the place of a value."""
    name, text = str(rng.choice(NAMES)), str(rng.choice(TEXTS))
    content = json.loads((folder / name).read_text())
    places = list(_places(content))
    parent, key = places[int(rng.integers(len(places)))]
    parent[key] = "PLACE"
    (folder / name).write_text(json.dumps(content).replace('"PLACE"', text, 1))
    return f"{name} {key} = {text[:20]}"


def _whole_file(rng, folder: Path) -> str:
    """Makes a file something else: nothing, cut off, changed, a folder, a pipe, a link."""
    path = folder / str(rng.choice([*NAMES, "model.safetensors", "sample.npz"]))
    content, how = path.read_bytes(), int(rng.integers(9))
    path.unlink()
    if how == 0:
        return f"{path.name} is gone"
    if how == 1:
        path.mkdir()
    elif how == 2:
        os.mkfifo(path)
    elif how == 3:
        path.symlink_to("/dev/zero")
    elif how == 4:
        path.symlink_to(path)
    elif how == 5:
        path.write_bytes(content[: int(rng.integers(len(content)))])
    elif how == 6:
        path.write_bytes(rng.bytes(100))
    else:
        changed = bytearray(content)
        for at in rng.integers(len(content), size=4):
            changed[at] = int(rng.integers(256))
        path.write_bytes(bytes(changed))
    return f"{path.name}, way {how}"


def _tensors(rng, folder: Path) -> str:
    """Changes the kind, the shape or a value of a tensor, or leaves it out."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    name = sorted(tensors)[int(rng.integers(len(tensors)))]
    tensor, how = tensors[name].clone(), int(rng.integers(9))
    if how == 0:
        del tensors[name]
    elif how <= 4 and tensor.is_floating_point():
        value = [np.nan, np.inf, HUGE, TINY][how - 1]
        tensor.reshape(-1)[int(rng.integers(tensor.numel()))] = value
        tensors[name] = tensor
    elif how == 5:
        kinds = [torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.float32, torch.uint8]
        tensors[name] = tensor.to(kinds[int(rng.integers(len(kinds)))])
    elif how == 6:
        tensors[name] = tensor[None].clone()
    elif how == 7:
        tensors[name] = tensor.reshape(-1)[:-1].clone()
    else:
        tensors[name] = torch.full_like(tensor, 2)
    save_file(tensors, path)
    return f"tensor {name}, way {how}"


def _sample(rng, folder: Path) -> str:
    """Changes an array of the sample."""
    path = folder / "sample.npz"
    arrays = dict(np.load(path))
    name, how = str(rng.choice(list(arrays))), int(rng.integers(7))
    if how == 0:
        del arrays[name]
    elif how == 1:
        arrays["x"] = np.where(
            np.arange(arrays["x"].size).reshape(arrays["x"].shape) == 3, np.nan, 1
        )
    elif how == 2:
        arrays["x"] = arrays["x"] * 1e300
    elif how == 3:
        arrays["variable_names"] = arrays["variable_names"][::-1]
        side = json.loads(str(arrays["side"]))
        arrays["side"] = np.array(
            json.dumps(side | {"variable_names": side["variable_names"][::-1]})
        )
    elif how == 4:
        arrays[name] = arrays[name][:1] if arrays[name].ndim else np.array("[")
    elif how == 5:
        arrays[name] = arrays[name].astype("U9")
    else:
        side = json.loads(str(arrays["side"]))
        key = str(rng.choice(list(side)))
        side[key] = VALUES[int(rng.integers(len(VALUES)))]
        arrays["side"] = np.array(json.dumps(side))
    np.savez(path, **arrays)
    return f"sample {name}, way {how}"


def _places(value):
    """Every member of every object and list of a JSON value, with where it is."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in list(inner):
        yield value, key
        if isinstance(entry, dict | list):
            yield from _places(entry)


_MUTATIONS = [_value_of_json, _value_of_json, _text_of_json, _whole_file, _tensors, _sample]
