"""`ucad certify` and `ucad report`: what a run folder has to say."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from ucad.data import InterventionalData
    from ucad.interrupts import Request
    from ucad.runs import Run

__all__ = ["certify", "report", "report_beside", "write_run_report"]

_logger = logging.getLogger(__name__)


def certify(run: Path, /, *, claim: str = "graph", json: bool = False) -> int:
    """Say what may be claimed of a fitted model, and why.

    Exit code 0: the graph (or what --claim names) may be claimed in full. 1: in part, or not.

    Parameters
    ----------
    run
        The run folder.
    claim
        What the exit code answers for: graph, directions, factors, values or predictions.
    json
        Print JSON.
    """
    from ucad.errors import FormatError
    from ucad.runs import CERTIFICATE, load_run

    certificate = load_run(run).certificate
    if certificate is None:
        earlier = (run / CERTIFICATE).exists()
        reason = (
            "only a certificate of an earlier ucad, whose claims were not tested on unseen "
            "samples: fit again to get one"
            if earlier
            else "no certificate"
        )
        raise FormatError(f"'{run}' holds {reason}.")
    permission = certificate.may_claim(claim)
    print(certificate.to_json() if json else certificate)
    return 0 if permission else 1


def report(
    run: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    gene_sets: Path | None = None,
) -> None:
    """Write one self-contained HTML page about a run.

    Parameters
    ----------
    run
        The run folder.
    output
        The page to write; report.html in the run folder if not given.
    gene_sets
        A GMT or TSV file of gene sets that factors are tested for.
    """
    from ucad.errors import InvalidInputError
    from ucad.report.page import is_report

    if output is not None and output.exists() and not is_report(output):
        raise InvalidInputError(f"'{output}' exists and is no report of ucad: it is kept.")
    print(f"Report: {write_run_report(run, output, gene_sets)}")


def write_run_report(folder: Path, path: Path | None = None, gene_sets: Path | None = None) -> Path:
    """Writes the report of a run folder and returns where it is."""
    from ucad.cli.regimes import run_enrichment, run_regimes
    from ucad.report import ReportContent, write_report
    from ucad.runs import REPORT, load_metrics, load_run

    run = load_run(folder)
    content = ReportContent(
        title=f"Causal abstraction of {run.data.get('path', folder.name)}",
        scm=run.scm,
        data=_sample(run, folder),
        n_samples=run.data.get("n_samples"),
        certificate=run.certificate,
        status=run.status.to_json(),
        history=run.history,
        metrics=load_metrics(folder),
        support=None if run.consensus is None else run.consensus.support,
        factors=run.factors,
        provenance={
            "created": run.created,
            "seconds": round(run.seconds, 2),
            "data": run.data,
            "settings": run.settings,
            "versions": run.versions,
        },
        regimes=run_regimes(run),
        enrichment=run_enrichment(run, gene_sets),
    )
    return write_report(content, path or folder / REPORT)


def report_beside(folder: Path, request: Request, gene_sets: Path | None = None) -> Path | None:
    """Writes the report of a run that was just saved; whatever prevents it, the run is kept."""
    from ucad.errors import UcadError

    reason: object = "interrupted"
    try:
        request.answer()
        return write_run_report(folder, gene_sets=gene_sets)
    except (OSError, UcadError) as error:
        reason = error
    except KeyboardInterrupt:
        pass
    _logger.warning("the run folder '%s' is written, but not its report: %s", folder, reason)
    return None


def _sample(run: Run, folder: Path) -> InterventionalData:
    from ucad.errors import FormatError
    from ucad.scm import at_average_context

    if run.sample is None:
        raise FormatError(f"'{folder}' holds no sample of the data to report on.")
    return at_average_context(run.scm, run.sample)
