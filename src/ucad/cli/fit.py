"""`ucad fit`: from a data file to a run folder."""

from __future__ import annotations

import json as json_module
import logging
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ucad.cli.options import Whole, WholeOrWord
from ucad.errors import UcadError

if TYPE_CHECKING:
    from ucad.cli.settings import FitSettings
    from ucad.consensus.running import RunOptions
    from ucad.data import InterventionalData
    from ucad.estimator import UCAD

__all__ = ["estimator_for", "fit", "fit_model", "read_data", "settings_given"]

DONE, UNFINISHED = 0, 1
"""Exit codes of a fit: whether the solver was done, or was stopped with its best model so far."""

_LAYER_DIGITS = 9
"""Of the number of a layer: what is longer is no layer, and would not fit the type."""

_logger = logging.getLogger(__name__)


def fit(
    data: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    factors: WholeOrWord | None = None,
    solver: str | None = None,
    factor_mechanism: str | None = None,
    variable_mechanism: str | None = None,
    budget: float | None = None,
    measurement: str | None = None,
    measurement_noise: float | None = None,
    noise: str | None = None,
    transform: str | None = None,
    layers: str | None = None,
    prior: str | None = None,
    target: str | None = None,
    control: str | None = None,
    indicators: dict[str, str] | None = None,
    ignore: Annotated[tuple[str, ...] | None, Parameter(consume_multiple=True)] = None,
    drop_constant: bool | None = None,
    min_mean: float | None = None,
    log_counts: bool | None = None,
    context: tuple[str, ...] | None = None,
    context_acts_on: str | None = None,
    intervention: str | None = None,
    unmeasured: str | None = None,
    missing: Literal["error", "drop", "mean"] | None = None,
    gene_sets: str | None = None,
    standardise: bool | None = None,
    validation_share: float | None = None,
    seed: Whole | None = None,
    device: str | None = None,
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
        bottleneck, switch or rectified.
    factor_mechanism
        How factors are made of variables: auto, linear, mlp or spline. With auto they are linear
        unless held-out samples show that something is left.
    variable_mechanism
        How variables are made of factors: the same.
    budget
        The seconds a fit may take; the best model found until then is kept (exit code 1).
    measurement
        How variables were read: none (without noise), gaussian (see --measurement-noise), counts
        (whole numbers, or log(1 + count / depth)) or auto (counts where the values are).
    measurement_noise
        The standard deviation of a gaussian reading, in the units of the file.
    noise
        The law of a variable given its factors: gaussian, student (heavy tails), counts (negative
        binomial), or auto: the one that held-out samples prefer.
    transform
        What factors read of the values: none (themselves), log, log1p, rank (normal scores), or
        auto: logarithms where held-out samples prefer them. The model is in these units.
    layers
        A csv file with one line per variable, name,layer: causes lie in earlier layers than
        effects.
    prior
        A TOML file with lists of edges known beforehand, written "A -> Z1" or "Z1 -> B": required,
        forbidden and anchors (edges whose variable belongs to that factor alone).
    target
        The column that names what was clamped (several joined by ;).
    control
        The label of observational samples in that column.
    indicators
        Columns of zeros and ones with the variable each clamps: --indicators.pma pkc
    ignore
        Columns that are no variables.
    drop_constant
        Leave out variables that never change.
    min_mean
        Leave out variables whose mean is below this.
    log_counts
        Turn counts into log(1 + 10^4 count / total of the sample).
    context
        A column (of the table, of obs) that is no variable and acts on variables, such as a batch
        or the depth; may be given several times. Texts become indicators.
    context_acts_on
        Where it acts: on mechanisms, on readings, or auto, by what clamped samples show.
    intervention
        What was done to targets: clamp, shift, soft, unknown, auto (the data are asked), or the
        column (of the table, of obs) that says it for every sample.
    unmeasured
        Regimes whose target is not among the variables: keep their samples as they are, infer
        what they act on, or drop them.
    missing
        What is done about missing values: error refuses them, drop leaves out the samples that
        have one, mean fills in the mean of the regime and leaves the entry out of the likelihood.
    gene_sets
        A GMT or TSV file of gene sets that factors are tested for, in the report.
    standardise
        Fit on variables of mean 0 and variance 1.
    validation_share
        The part of the samples held out to choose between models.
    seed
        Random seed.
    device
        Where to compute.
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
    from ucad.cli.settings import resolve
    from ucad.consensus.resampling import check_n_runs
    from ucad.consensus.running import RunOptions
    from ucad.errors import InvalidInputError

    settings = resolve(config, settings_given(locals()))
    check_n_runs(settings.runs)
    if print_config:
        print(settings.to_toml())
        return DONE
    if output is None:
        _check_input(data, settings)
        raise InvalidInputError("Say where to write the run folder: -o run/")
    _check_output(output, force=force, resume=resume)
    replace = force or resume
    where = RunOptions(n_jobs=jobs, on=on)
    return fit_model(data, settings, output, where, quiet=quiet, json=json, replace=replace)


def fit_model(
    path: Path,
    settings: FitSettings,
    output: Path,
    where: RunOptions | None = None,
    *,
    quiet: bool,
    json: bool,
    replace: bool,
) -> int:
    """Reads, fits, writes the run folder with its report, and tells."""
    from sklearn.exceptions import ConvergenceWarning

    from ucad.cli.progress import shown_progress
    from ucad.consensus.running import fits_folder

    measured = read_data(path, settings)
    checkpoint = output.with_name(output.name + ".checkpoint")
    with shown_progress(quiet=quiet or json) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = estimator_for(settings, measured.variable_names)
        if where is not None:
            model.set_params(n_jobs=where.n_jobs, runs_on=where.on)
        model.set_params(progress=progress).fit(measured, checkpoint=checkpoint)
    model.data_["path"] = path.name
    model.save(output, force=replace)
    if not model.status_.interrupted:
        checkpoint.unlink(missing_ok=True)
        shutil.rmtree(fits_folder(checkpoint) or "", ignore_errors=True)
    from ucad.cli.inspect import write_run_report

    try:
        sets = None if settings.gene_sets is None else Path(settings.gene_sets)
        page = write_run_report(output, gene_sets=sets)
    except (OSError, UcadError) as error:
        _logger.warning("the run folder '%s' is written, but not its report: %s", output, error)
        return UNFINISHED
    _tell(model, output, page, json=json)
    good = model.status_.converged and model.status_.feasible
    return DONE if good else UNFINISHED


def settings_given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a command's options that are settings of a fit."""
    from dataclasses import fields

    from ucad.cli.settings import FitSettings

    names = {field.name for field in fields(FitSettings)}
    return {name: value for name, value in options.items() if name in names}


def estimator_for(settings: FitSettings, variable_names: tuple[str, ...]) -> UCAD:
    """The estimator that the settings describe."""
    from ucad.estimator import UCAD
    from ucad.solvers.prior import read_prior

    n_factors = settings.factors if isinstance(settings.factors, int) else None
    known = None
    if settings.prior is not None:
        known = read_prior(Path(settings.prior), variable_names, n_factors)
    return UCAD(
        n_factors=settings.factors,
        solver=settings.solver,
        factor_mechanism=settings.factor_mechanism,
        variable_mechanism=settings.variable_mechanism,
        prior=known,
        context_acts_on=settings.context_acts_on,
        unmeasured=settings.unmeasured,
        standardise=settings.standardise,
        validation_share=settings.validation_share,
        max_seconds=settings.budget,
        measurement=settings.measurement,
        measurement_noise=settings.measurement_noise,
        noise=settings.noise,
        reads=settings.transform,
        random_state=settings.seed,
        device=settings.device,
        n_runs=settings.runs,
    )


def _check_input(path: Path, settings: FitSettings) -> None:
    """Says what is wrong with the settings or the file, if anything is."""
    from ucad.data.transforms import check_transform
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
    read_data(path, settings)


def _check_output(output: Path, *, force: bool, resume: bool) -> None:
    from ucad.errors import InvalidInputError
    from ucad.runs import check_free, load_run

    if not resume:
        check_free(output, force=force)
    elif not output.exists():
        raise InvalidInputError(f"There is nothing to resume: '{output}' does not exist.")
    elif not load_run(output).status.interrupted:
        raise InvalidInputError(f"'{output}' is finished: there is nothing to resume.")


def read_data(path: Path, settings: FitSettings) -> InterventionalData:
    """Reads the file as the settings say, with the layers."""
    from dataclasses import replace

    import numpy as np

    import ucad
    from ucad.errors import InvalidInputError

    data = ucad.read(
        path,
        target=settings.target,
        control=settings.control,
        indicators=settings.indicators,
        ignore=settings.ignore,
        drop_constant=settings.drop_constant,
        min_mean=settings.min_mean,
        log_counts=settings.log_counts,
        context=settings.context,
        intervention=settings.intervention,
        missing=settings.missing,
    )
    if settings.layers is None:
        return data
    layer_of = _read_layers(Path(settings.layers))
    missing = [name for name in data.variable_names if name not in layer_of]
    if missing:
        raise InvalidInputError(
            f"'{settings.layers}' must have a line 'name,layer' for every variable. "
            f"There is none for '{missing[0]}'."
        )
    return replace(data, layer_of=np.array([layer_of[name] for name in data.variable_names]))


def _read_layers(path: Path) -> dict[str, int]:
    """The lines name,layer of a file; others, such as a heading, say nothing."""
    import csv
    import io

    from ucad.errors import FormatError
    from ucad.files import read_text

    try:
        rows = list(csv.reader(io.StringIO(read_text(path), newline="")))
    except csv.Error as error:
        raise FormatError(f"'{path}' is no table of layers: {error}.") from error
    found: dict[str, int] = {}
    for row in rows:
        name, layer = ",".join(row[:-1]), "".join(row[-1:]).strip()
        if not layer.isdecimal() or len(layer) > _LAYER_DIGITS:
            continue
        if found.setdefault(name, int(layer)) != int(layer):
            raise FormatError(f"'{path}' has two layers for '{name}': {found[name]} and {layer}.")
    return found


def _tell(model: UCAD, output: Path, page: Path, *, json: bool) -> None:
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
        print(f"Number of factors: {_number(model.path_)}\n")
    for factor in factors:
        print(f"{factor['name']}: {_some(factor['parents'])} → {_some(factor['children'])}")
    if model.support_ is not None:
        from ucad.cli.support import show_support

        show_support(model.support_)
    print(f"\n{status}\n{verdict}\n")
    print(f"Run folder: {output}\nReport:     {page}")
    if status.interrupted:
        print("The fit was interrupted; go on with the same command and --resume.")


def _number(path: dict[str, Any]) -> str:
    others = [str(m) for m in path["plausible"] if m != path["n_factors"]]
    beside = f" (or {', '.join(others)})" if others else ""
    return f"{path['n_factors']}{beside}: {path['reason']}"


def _some(names: tuple[str, ...], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
