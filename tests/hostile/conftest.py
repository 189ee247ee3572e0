"""What several hostile tests start from."""

from pathlib import Path

import pytest

import ucad
from ucad.claims import certify
from ucad.files import write_text
from ucad.metrics import evaluate
from ucad.report import ReportContent, write_report
from ucad.runs import Run, save_run
from ucad.solvers import FitStatus

MAX_SECONDS = 1800
"""That one case may take: it only guards against hanging, also where many others compute."""


def pytest_collection_modifyitems(items):
    """Gives every hostile case the same generous limit."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(MAX_SECONDS))


@pytest.fixture(scope="session")
def problem():
    """A small problem with its true model."""
    return ucad.paper_problem("b", "16-3", seed=0, n_samples=300)


@pytest.fixture(scope="session")
def run_of(problem):
    """A run of the true model, told apart by a note."""
    certificate = certify(problem.scm, problem.train)

    def make(note: str) -> Run:
        return Run(
            scm=problem.scm,
            status=FitStatus(converged=True, feasible=True, reason="Done.", notes=(note,)),
            certificate=certificate,
            sample=problem.train,
            settings=ucad.UCAD(n_factors=3).get_params(deep=False) | {"progress": None},
            history=tuple({"stage": "search", "step": n, "score": n / 2} for n in range(4)),
            data={"fingerprint": problem.train.fingerprint, "n_samples": 300, "path": "a.csv"},
            seconds=1.5,
            created="2026-01-01T00:00:00+00:00",
        )

    return make


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory, problem, run_of) -> Path:
    """A whole run folder, with metrics and a report."""
    folder = tmp_path_factory.mktemp("hostile") / "run"
    run = run_of("whole")
    save_run(run, folder)
    z = problem.scm.state_map(problem.test.x).numpy()
    table = evaluate(z[:50], z[:50], metrics=["mcc_pearson"])
    write_text(folder / "metrics.json", table.to_json())
    content = ReportContent(
        title="whole", scm=run.scm, data=run.sample, certificate=run.certificate
    )
    write_report(content, folder / "report.html")
    return folder
