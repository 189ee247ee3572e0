"""Files that commands are given beside a table: gene sets, priors, layers, graphs, recordings."""

import io
import json
import os
from pathlib import Path

import numpy as np

from tests.hostile.names import ODD
from tests.hostile.run_folders import TEXTS, VALUES, _places

LINES = [
    "", "\t", "A\tB", "A\tB\tX1\tX2", "A\t\t", "set\tgene", "set,gene", "tf\ttarget\tsign", "X1",
    "A -> Z1", '"', "\x00", "\u2028", "# x", "A\tX1", "A,X1", "A\tX1\t" * 2000, "é\té\té",
    "<b>\tx\tX1", "</script>\tx\tX1\tX2\tX3", "nan\tinf\tX1", "X1,0", "X2,1", "X3,²", "X4,-1",
    "X1,99999999999999",
]  # fmt: skip
PRIORS = [
    "required", "forbidden", "anchors", "gene_sets", "zz", "regulons",
]  # fmt: skip
EDGES = [
    '["X1 -> Z1"]', '["Z1 -> X2"]', '["X1 -> X2"]', '["Z1 -> Z2"]', '["X1 -> Z9"]', '["X1"]',
    '["nope -> Z1"]', '["X1 -> Z1", "Z1 -> X1"]', '"X1 -> Z1"', "[1]", "{}", '[""]', '["->"]',
    '["X1 -> Z0"]', '["X1 -> Z99999999999999999999"]', '["X1->Z1"]', '["x1 -> z1"]', "nan", "[]",
    '["X1 -> Z1", "X2 -> Z1", "X3 -> Z1", "X4 -> Z1"]', '["X1 -> Z²"]', '["X1 -> Z-1"]',
]  # fmt: skip


def odd_file(rng, path: Path, content: bytes) -> None:
    """Writes a content, mostly as it is, else cut off, changed, or something that is no file."""
    how = int(rng.integers(12))
    if how == 0:
        os.mkfifo(path)
    elif how == 1:
        path.mkdir()
    elif how == 2:
        path.symlink_to(path)
    elif how == 3:
        path.write_bytes(content[: int(rng.integers(len(content) + 1))])
    elif how == 4:
        path.write_bytes(rng.bytes(200))
    elif how == 5:
        path.write_bytes(content.decode("utf-8", "replace").encode("utf-16"))
    elif how != 6:
        path.write_bytes(content)


def text_beside(rng) -> bytes:
    """Lines of a file of gene sets or layers, some of them right."""
    lines = rng.choice(LINES, size=int(rng.integers(0, 6)))
    return str(rng.choice(["\n", "\r\n", "\r"])).join(map(str, lines)).encode("utf-8", "replace")


def prior_beside(rng) -> bytes:
    """A prior, some of whose edges can be."""
    names = rng.permutation(PRIORS)[: int(rng.integers(0, 4))]
    return "\n".join(f"{name} = {rng.choice(EDGES)}" for name in names).encode()


def attribution_graph(rng) -> dict:
    """A graph as circuit-tracer writes it."""
    n = int(rng.integers(0, 9))
    kinds = ["cross layer transcoder", "embedding", "logit", "mlp reconstruction error", ""]
    nodes = [
        {
            "node_id": f"{i}", "layer": str(rng.choice(["0", "1", "E", "²", "", "-1"])),
            "ctx_idx": int(rng.integers(0, 3)), "feature_type": str(rng.choice(kinds[: 1 + i % 5])),
            "clerp": str(rng.choice(["", "cat", *ODD])), "influence": float(rng.random()),
        }
        for i in range(n)
    ]  # fmt: skip
    ends = [sorted(rng.integers(0, max(n, 1), size=2).tolist()) for _ in range(3 * n)]
    links = [
        {
            "source": str(a),
            "target": str(b),
            "weight": float(rng.normal() * 10.0 ** rng.integers(-9, 9)),
        }
        for a, b in ends
        if a != b
    ]
    pinned = [f"{i}" for i in range(n) if rng.random() < 0.5]
    groups = [["mine", *pinned[:2]]] if rng.random() < 0.3 else []
    q_params = {"pinnedIds": pinned, "supernodes": groups}
    if rng.random() < 0.3:
        q_params = {"pinnedIds": ",".join(pinned), "supernodes": json.dumps(groups)}
    document = {"metadata": {"prompt_tokens": ["a", "b", "c"]}, "qParams": q_params}
    return document | {"nodes": nodes, "links": links}


def spoilt_json(rng, content) -> str:
    """The JSON of a value in which one place holds something else, that may be no JSON."""
    places = list(_places(content))
    parent, key = places[int(rng.integers(len(places)))]
    if rng.random() < 0.3:
        parent[key] = "PLACE"
        return json.dumps(content).replace('"PLACE"', str(rng.choice(TEXTS)), 1)
    parent[key] = VALUES[int(rng.integers(len(VALUES)))]
    return json.dumps(content)


def spoil_one(rng, folder: Path) -> str:
    """Changes one file of a folder."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    path = files[int(rng.integers(len(files)))]
    content, how = path.read_bytes(), int(rng.integers(8))
    path.unlink()
    if how <= 2 and path.suffix == ".json":
        path.write_text(spoilt_json(rng, json.loads(content)), encoding="utf-8", errors="replace")
    elif how <= 2 and path.suffix == ".npy":
        np.save(path, _odd_values(rng, np.load(io.BytesIO(content))))
    elif how <= 3:
        path.write_bytes(content[: int(rng.integers(len(content) + 1))])
    elif how == 4:
        path.write_bytes(rng.bytes(len(content)))
    elif how == 5:
        path.symlink_to("/dev/zero")
    elif how == 6:
        path.mkdir()
    return f"{path.name}, way {how}"


def _odd_values(rng, values: np.ndarray) -> np.ndarray:
    how = int(rng.integers(7))
    changed = values.copy()
    if how == 0:
        return changed[:-1]
    if how == 1:
        return changed[None]
    if how == 2:
        return changed.astype("U4")
    if how == 3:
        return changed.astype(np.complex128)
    if how == 4:
        return changed.astype(np.float32) * np.float32(1e30)
    if changed.dtype.kind == "f":
        changed[0] = [np.nan, np.inf][how - 5]
    else:
        changed[0] = [-1, 10**12][how - 5]
    return changed
