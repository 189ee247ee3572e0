"""`ucad sweep`, as a person would run it."""

import pytest

from tests.processes import run
from ucad.data.formats import write
from ucad.errors import InvalidInputError
from ucad.simulate import paper_problem
from ucad.sweep import read_grid, read_rows
from ucad.sweep.work import reply_to

GRID = """
[[grid]]
setting = "b"
size = "16-3"
seed = "0:2"
n_samples = 500
metrics = "fast"
ceiling = false
"""


def test_a_sweep_writes_its_table_and_goes_on_from_it(tmp_path):
    (tmp_path / "grid.toml").write_text(GRID)
    words = ["sweep", "grid.toml", "--on", "local", "--workers", 1, "-o", "table.jsonl"]
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 rows in table.jsonl." in done.stdout
    assert "sweep: 0/2" in done.stderr
    rows = list(read_rows(tmp_path / "table.jsonl").values())
    assert [row["task"]["seed"] for row in rows] == [0, 1]
    assert all(row["result"]["mcc_pearson"] > 0.5 for row in rows)
    assert "2 of them from before" in run(*words, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sweep", "none.toml", "-o", "t.jsonl"], "cannot be read"),
        (["sweep", "grid.toml", "-o", "t.jsonl", "--address", "auto"], "needs --on ray"),
        (["sweep", "grid.toml", "-o", "t.jsonl", "--workers", "0"], "from 1 to 1024"),
        (["sweep", "grid.toml", "-o", "t.jsonl", "--on", "moon"], "local"),
    ],
)
def test_wrong_use_of_a_sweep_is_one_line(tmp_path, words, message):
    (tmp_path / "grid.toml").write_text(GRID)
    failed = run(*words, cwd=tmp_path)
    assert failed.returncode == 2
    assert message in failed.stderr
    assert len(failed.stderr.strip().splitlines()) == 1


OWN = """
[[grid]]
data = "{path}"
target = "target"
factors = [2, 3]
solver = "search"
factor_mechanism = "linear"
variable_mechanism = "linear"
"""


def test_a_grid_on_a_file_of_ones_own_fits_it_and_judges_it_on_unseen_samples(tmp_path):
    problem = paper_problem("b", "16-3", 1, n_samples=400)
    write(problem.train, tmp_path / "mine.csv")
    (tmp_path / "grid.toml").write_text(OWN.format(path=tmp_path / "mine.csv"))
    grid = read_grid(tmp_path / "grid.toml")
    assert [task["factors"] for task in grid.tasks] == [2, 3]
    replies = [reply_to(grid.function, task) for task in grid.tasks]
    assert [reply.error for reply in replies] == [None, None]
    two, three = (reply.result for reply in replies)
    assert (two["n_factors"], three["n_factors"]) == (2, 3)
    assert three["log_likelihood"] > two["log_likelihood"]
    assert set(three["may_claim"]) == {"graph", "directions", "factors", "values", "predictions"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OWN + "factrs = 3\n", "Did you mean 'factors'"),
        (OWN + GRID, "make two grids"),
        (OWN.replace("{path}", "nowhere.csv"), "no data file"),
    ],
)
def test_a_grid_on_a_file_is_refused_before_any_work(tmp_path, text, message):
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    (tmp_path / "grid.toml").write_text(text.replace("{path}", str(tmp_path / "mine.csv")))
    with pytest.raises(InvalidInputError, match=message):
        read_grid(tmp_path / "grid.toml")
