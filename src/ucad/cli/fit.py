"""`ucad fit`: from a data file to a run folder."""

from __future__ import annotations

import json as json_module
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ucad.cli.fit_options import (
    NO_MODEL,
    NO_NETWORK,
    NO_READING,
    ModelOptions,
    NetworkOptions,
    ReadingOptions,
    given,
)
from ucad.cli.options import Whole, WholeOrWord
from ucad.interrupts import Request, deferred

if TYPE_CHECKING:
    from ucad.cli.settings import FitSettings
    from ucad.consensus.running import RunOptions
    from ucad.data import InterventionalData
    from ucad.learner import Learner

__all__ = ["fit", "fit_model"]

DONE, UNFINISHED = 0, 1
"""Exit codes of a fit: whether the solver was done, or was stopped with its best model so far."""


def fit(
    data: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    factors: WholeOrWord | None = None,
    solver: str | None = None,
    model: ModelOptions = NO_MODEL,
    reading: ReadingOptions = NO_READING,
    gene_sets: str | None = None,
    device: str | None = None,
    network: NetworkOptions = NO_NETWORK,
    runs: Whole | None = None,
    jobs: Whole = -1,
    on: str = "local",
    config: Path | None = None,
    print_config: bool = False,
    force: bool = False,
    resume: bool = False,
    quiet: bool = False,
    json: bool = False,
) -> int:
    """Learn factors and their causal model from a data file, and write a run folder.

    Exit code 0: done. 1: it ran, but did not converge or is infeasible, and the best model so far
    is written. 2: wrong use, and nothing is written.

    Parameters
    ----------
    data
        A .csv, .tsv, .parquet, .npz or .h5ad file, or a DCDI folder.
    output
        The run folder to write.
    factors
        How many factors to find, or auto (the default): as many as the data can show; see
        `ucad factors`.
    solver
        auto, search, gradient or gradient-paper; for layers that are dense, as in networks,
        bottleneck, switch or rectified; behaviour for a recording with its network.
    gene_sets
        A GMT or TSV file of gene sets that factors are tested for, in the report.
    device
        Where to compute: cpu (the default), cuda, or another device of torch.
    runs
        How many fits on parts of the samples tell what comes back, such as 50: that many times
        the cost of one fit. Stopped, it is resumed by --resume.
    jobs
        How many of those fits at a time; -1 for one per CPU.
    on
        Where they run: local, ray, or the address of a Ray cluster, which must see the folder of
        the output.
    config
        A TOML file with settings; options given here take precedence.
    print_config
        Show the settings that would be used, and stop.
    force
        Replace a run folder that exists.
    resume
        Continue an interrupted fit.
    quiet
        Show no progress.
    json
        Print the result as JSON.
    """
    from ucad.cli.fit_recording import asks_network, fit_recording
    from ucad.cli.settings import resolve
    from ucad.consensus.resampling import check_n_runs
    from ucad.consensus.running import RunOptions
    from ucad.errors import InvalidInputError

    single = {"factors": factors, "solver": solver, "device": device, "runs": runs}
    settings = resolve(config, given(reading, model, gene_sets=gene_sets, **single))
    check_n_runs(settings.runs)
    if print_config:
        print(settings.to_toml())
        return DONE
    if output is None:
        _check_input(data, settings)
        raise InvalidInputError("Say where to write the run folder: -o run/")
    _check_output(output, force=force, resume=resume)
    replace = force or resume
    if asks_network(data, settings, network):
        return fit_recording(data, settings, output, network, quiet=quiet, json=json, force=replace)
    where = RunOptions(n_jobs=jobs, on=on)
    rest = network if network.model is not None else None
    return fit_model(data, settings, output, where, rest, quiet=quiet, json=json, replace=replace)


def fit_model(
    path: Path,
    settings: FitSettings,
    output: Path,
    where: RunOptions | None = None,
    network: NetworkOptions | None = None,
    *,
    quiet: bool,
    json: bool,
    replace: bool,
    conclude: bool = True,
) -> int:
    """Reads, fits, writes the run folder with its report, and tells; the verdict if `conclude`."""
    from ucad.cli.inspect import report_beside
    from ucad.cli.network_files import load_readouts
    from ucad.cli.progress import shown_progress
    from ucad.cli.reading import estimator_for, read_data
    from ucad.consensus.running import fits_folder
    from ucad.gene_sets import read_gene_sets

    if settings.gene_sets is not None:
        read_gene_sets(settings.gene_sets)  # what is wrong with it is said before any work
    measured = read_data(path, settings)
    checkpoint = _checkpoint(output)
    with shown_progress(quiet=quiet or json) as progress:
        model = estimator_for(settings, measured.variable_names)
        if network is not None:
            model.readouts = load_readouts(path, network)
        if where is not None:
            model.n_jobs, model.runs_on = where.n_jobs, where.on
        model.progress = progress
        request = _fitted(model, measured, checkpoint)
    model.data_["path"] = path.name
    with deferred() as late:
        model.save(output, force=replace)
        if not model.status_.interrupted:
            checkpoint.unlink(missing_ok=True)
            shutil.rmtree(fits_folder(checkpoint) or "", ignore_errors=True)
    late.came |= request.came
    sets = None if settings.gene_sets is None else Path(settings.gene_sets)
    page = report_beside(output, late, sets)
    if page is None:
        return UNFINISHED
    _tell(model, output, page, json=json, conclude=conclude)
    good = model.status_.converged and model.status_.feasible
    return DONE if good else UNFINISHED


def _fitted(model: Learner, data: InterventionalData, checkpoint: Path) -> Request:
    """Fits a model and says whether a request to end came when it had been found.

    Raises:
        KeyboardInterrupt: it came before.
    """
    request = Request()
    try:
        model.fit(data, checkpoint=checkpoint)
    except KeyboardInterrupt:
        if not hasattr(model, "scm_"):
            raise
        request.came = True
    return request


def _check_input(path: Path, settings: FitSettings) -> None:
    """Says what is wrong with the settings or the file, if anything is."""
    from ucad.cli.reading import read_data
    from ucad.data.transforms import check_transform
    from ucad.gene_sets import read_gene_sets
    from ucad.solvers.registry import SolveSettings

    SolveSettings(
        n_factors=settings.factors if isinstance(settings.factors, int) else 1,
        solver=settings.solver,
        factor_mechanism=settings.factor_mechanism,
        variable_mechanism=settings.variable_mechanism,
        device=settings.device,
        max_seconds=settings.budget,
        context_acts_on=settings.context_acts_on,
        unmeasured=settings.unmeasured,
        noise_family=settings.noise,
    )
    check_transform(settings.transform)
    if settings.gene_sets is not None:
        read_gene_sets(settings.gene_sets)
    read_data(path, settings)


def _checkpoint(output: Path) -> Path:
    """Where the state of a fit is kept until the run folder is written."""
    return output.with_name(output.name + ".checkpoint")


def _check_output(output: Path, *, force: bool, resume: bool) -> None:
    from ucad.consensus.running import fits_folder
    from ucad.errors import InvalidInputError
    from ucad.runs import check_free, load_run

    checkpoint = _checkpoint(output)
    killed = any(path and path.exists() for path in (checkpoint, fits_folder(checkpoint)))
    if not resume or (killed and not output.exists()):
        check_free(output, force=force)
    elif not output.exists():
        raise InvalidInputError(f"There is nothing to resume: '{output}' does not exist.")
    elif not load_run(output).status.interrupted:
        raise InvalidInputError(f"'{output}' is finished: there is nothing to resume.")


def _tell(model: Learner, output: Path, page: Path, *, json: bool, conclude: bool) -> None:
    from ucad.cli.output import say

    graph, status = model.graph_, model.status_
    factors: list[dict[str, Any]] = [
        {"name": z, "parents": graph.parents(z), "children": graph.children(z)}
        for z in graph.factor_names
    ]
    verdict = model.certificate_.verdict
    if json:
        result = {
            "run": str(output),
            "report": str(page),
            "status": status.to_json(),
            "seconds": round(model.fit_seconds_, 3),
            "factors": factors,
            "verdict": verdict,
            "how_many": model.path_,
        }
        print(json_module.dumps(result))
        return
    if model.path_ is not None:
        say(f"Number of factors: {_number(model.path_)}", "")
    for factor in factors:
        say(f"{factor['name']}: {_some(factor['parents'])} → {_some(factor['children'])}")
    if model.support_ is not None:
        from ucad.cli.support import show_support

        show_support(model.support_)
    said = None if model.path_ is None else model.path_["reason"]
    for note in status.notes:
        if said is None or said not in note:
            say(f"· {note}")
    say("", str(status))
    if not conclude:
        return
    say(verdict, "")
    print(f"Run folder: {output}\nReport:     {page}\nWhy:        ucad certify {output}")
    if status.interrupted:
        print("The fit was interrupted; the same command with --resume continues it.")


def _number(path: dict[str, Any]) -> str:
    from ucad.consensus.recommendation import Recommendation

    named = {name: path[name] for name in Recommendation.__annotations__}
    return str(Recommendation(**{**named, "plausible": tuple(path["plausible"])}))  # JSON's list


def _some(names: tuple[str, ...], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
