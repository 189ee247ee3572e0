"""`ucad factors`, and a fit that is not told how many."""

import json

import pytest

import ucad
from ucad.cli import main

QUICK = ["--factor-mechanism", "linear", "--variable-mechanism", "linear", "--quiet"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    from ucad.data.formats import write

    path = tmp_path_factory.mktemp("factors") / "data.csv"
    write(ucad.paper_problem("b", "16-3", seed=1, n_samples=2000).train, path)
    return path


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return ended.value.code


def test_the_curve_is_shown_and_written(table, tmp_path, capsys):
    files = [tmp_path / name for name in ("path.json", "path.csv", "path.svg")]
    words = [word for file in files for word in ("-o", file)]
    assert run("factors", table, *QUICK, *words) == 0
    shown = capsys.readouterr().out
    assert "3 — the smallest number" in shown
    assert json.loads(files[0].read_text())["n_factors"] == 3
    assert files[1].read_text().startswith("n_factors,nll,standard_error,is_adequate")
    assert "<svg" in files[2].read_text()


def test_what_exists_is_not_overwritten(table, tmp_path, capsys):
    kept = tmp_path / "kept.json"
    kept.write_text("mine")
    assert run("factors", table, "-o", kept) == 2
    assert kept.read_text() == "mine"
    assert "not overwritten" in capsys.readouterr().err


def test_a_fit_finds_the_number_and_reports_it(table, tmp_path, capsys):
    assert run("fit", table, *QUICK, "-o", tmp_path / "run") == 0
    assert "Number of factors: 3" in capsys.readouterr().out
    page = (tmp_path / "run" / "report.html").read_text()
    assert 'id="factors-title"' in page
    assert json.loads((tmp_path / "run" / "factors.json").read_text())["n_factors"] == 3
