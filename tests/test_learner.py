"""A learner fits as the estimator does, without scikit-learn."""

import subprocess
import sys
import warnings

import pytest
from sklearn.exceptions import NotFittedError

import ucad
from ucad.learner import Learner

LINEAR = {"solver": "search", "factor_mechanism": "linear", "variable_mechanism": "linear"}

FIT = """
import sys
from ucad.__main__ import main
sys.argv = ["ucad", "fit", sys.argv[1], "--factors", "1", "-o", sys.argv[2], "--quiet"]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print([name for name in ("sklearn", "pandas", "scipy.stats") if name in sys.modules])
"""


@pytest.fixture(scope="module")
def problem():
    return ucad.paper_problem("a", "16-3", seed=0, n_samples=2000)


def test_it_finds_what_the_estimator_finds_and_saves_the_same_parameters(problem, tmp_path):
    learned = Learner(3, **LINEAR).fit(problem.train)
    fitted = ucad.UCAD(3, **LINEAR).fit(problem.train)
    assert (learned.graph_.Q == fitted.graph_.Q).all()
    assert learned.score(problem.test) == fitted.score(problem.test)
    learned.save(tmp_path / "run")
    assert ucad.load(tmp_path / "run").get_params() == fitted.get_params()


def test_nothing_is_asked_of_it_before_its_fit(problem, tmp_path):
    with pytest.raises(NotFittedError, match="not fitted"):
        Learner().score(problem.test)
    with pytest.raises(NotFittedError, match="not fitted"):
        Learner().save(tmp_path / "run")


def test_a_fit_that_did_not_converge_says_so_in_its_status_alone(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learned = Learner(3, max_seconds=1e-9, **LINEAR).fit(problem.train)
    assert not learned.status_.converged


def test_a_command_that_fits_does_without_what_is_slow_to_import(problem, tmp_path):
    table = tmp_path / "data.csv"
    ucad.write(problem.train, table)
    words = (sys.executable, "-c", FIT, str(table), str(tmp_path / "run"))
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
