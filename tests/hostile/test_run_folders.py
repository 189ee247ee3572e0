"""A run folder that somebody has been at is refused in our words, or works with finite numbers."""

import json
import re

import numpy as np
import pytest

import ucad
from tests.hostile.commands import cases, copied, run, run_soundly
from tests.hostile.run_folders import mutate
from ucad.errors import UcadError

COMMANDS = [["certify"], ["certify", "--json"], ["report"], ["predict", "X1=0.5", "--json"]]
COMMANDS += [["predict", "X2=1", "X3=-1"]]


@pytest.mark.parametrize("seed", cases(48, 600))
def test_a_changed_run_folder_is_refused_or_gives_finite_numbers(
    tmp_path, run_folder, problem, seed
):
    folder = copied(run_folder, tmp_path / "run")
    what = mutate(seed, folder)
    command, *options = COMMANDS[seed % len(COMMANDS)]
    said = run_soundly(command, folder, *options)
    done = (0, 1) if command == "certify" else (0,)  # 1: not to be claimed in full
    assert said.code in (*done, 2), what
    try:
        model = ucad.load(folder)
        z, score = model.transform(problem.test.x), model.score(problem.test.x)
    except UcadError:
        return
    assert said.code in done or command in ("report", "predict"), f"{what}: {said.err}"
    assert np.isfinite(z).all(), what
    assert np.isfinite(score), what
    if command == "report" and said.code == 0:
        check_page((folder / "report.html").read_text())


@pytest.mark.parametrize("name", ["run.json", "model.json", "certificate.json"])
@pytest.mark.parametrize("by", [1, 7, 10**6])
def test_a_run_folder_of_a_newer_ucad_is_refused_with_what_to_do(tmp_path, run_folder, name, by):
    folder = copied(run_folder, tmp_path / "run")
    content = json.loads((folder / name).read_text())
    later = content | {"schema_version": content["schema_version"] + by}
    (folder / name).write_text(json.dumps(later))
    said = run_soundly("certify", folder)
    assert said.code == 2
    assert "reads up to" in said.err
    (folder / name).write_text(json.dumps(content | {"of_the_future": {"a": [by]}}))
    before = run_soundly("certify", run_folder)
    assert run_soundly("certify", folder) == before, "what is unknown is left alone"


def check_page(page: str) -> None:
    """No text, figure or payload of a page shows a number that is not finite."""
    shown = re.sub(r"<script>.*?</script>|<style>.*?</style>", "", page, flags=re.DOTALL)
    assert not re.search(r"(?<![\w.])[-−+]?(nan|inf|NaN|Infinity)(?![\w.])", shown)


def test_the_folder_that_all_others_are_made_of_is_sound(run_folder, tmp_path):
    folder = copied(run_folder, tmp_path / "run")
    for command, *options in COMMANDS:
        said = run(command, folder, *options)
        assert said.code == 0 or (command == "certify" and said.code == 1), said
