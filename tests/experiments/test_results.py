"""What `make results` runs, and the page that is made of it."""

import importlib
import shlex

import pytest

from experiments import pages
from experiments.results import STUDIES
from experiments.running import ROUNDS
from tests.docs.blocks import ROOT


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_a_study_runs_a_module_with_options_that_it_has(study):
    words = shlex.split(study.command)
    source = importlib.import_module(words[2]).__loader__.get_source(words[2])
    for option in (word for word in words if word.startswith("-") and word != "-m"):
        assert f'"{option}"' in source


def test_studies_use_fresh_seeds_unless_they_choose_what_stays():
    for study in STUDIES:
        assert f"{ROUNDS[0]}:" in study.command or study.name == "ablation"


def test_the_page_is_what_its_rows_make():
    """A page edited by hand, or rows that were added without `python -m experiments.pages`."""
    assert (ROOT / "docs" / "results.md").read_text("utf-8") == pages.results_page()


def test_the_newest_rows_of_a_cell_are_shown():
    def row(seed, mcc):
        result = {"mcc_pearson": mcc, "mcc_rdc": mcc, "exact": True}
        task = {"setting": "a", "size": "16-3", "seed": seed}
        return {"task": task, "result": result, "error": None, "about": {"fit_cpu_seconds": 1.0}}

    table = pages.current_table([[], [row(5, 0.5)], [row(1, 0.9)]], [[row(2, 0.25)]], [])
    assert "| a 16-3 | 0.88 | not run | 0.5000 (0.5000) | 1 of 1 | 5–5 |" in table
    assert "0.2500 (0.2500), 1" in table
