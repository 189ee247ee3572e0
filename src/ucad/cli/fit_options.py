"""Options that every command has that reads a data file or fits a model, said once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from ucad.cli.options import Whole

__all__ = [
    "NO_MODEL",
    "NO_NETWORK",
    "NO_READING",
    "ModelOptions",
    "NetworkOptions",
    "ReadingOptions",
    "given",
]


@Parameter(name="*", group="Reading the file")
@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How a data file is read; None is for what was not given.

    Attributes:
        target: The column that names what was clamped (several joined by ; or +).
        control: The label of observational samples in that column.
        indicators: Columns of zeros and ones with the variable each clamps: --indicators.pma pkc
        ignore: Columns that are no variables.
        drop_constant: Leave out variables that never change.
        min_mean: Leave out variables whose mean is below this.
        log_counts: Turn counts into log(1 + 10^4 count / total of the sample).
        counts: Keep counts and their depth: values are log(1 + count / depth). They are taken for
            noisy readings of rates (--measurement counts) unless --measurement or --noise is given.
        matrix: Which matrix of an .h5ad or .zarr is read: X (default), raw, or layers/NAME.
        context: A column (of the table, of obs) that is no variable and acts on variables, such as
            a batch or the depth; may be given several times. Texts become indicators. Without such
            a column, log_depth is the logarithm of the total of a sample.
        intervention: What was done to targets: clamp, shift, soft, unknown, auto (the data are
            asked), or the column (of the table, of obs) that says it for every sample.
        missing: What is done about missing values: error refuses them, drop leaves out the samples
            that have one, mean fills in the mean of the regime and leaves the entry out of the
            likelihood.
        memory: GiB that reading and fitting may take, 4 by default, for files that are read in
            blocks (.h5ad, .zarr): if all samples would take more, a part of every regime is
            read, and the fit is checked on the others.
    """

    target: str | None = None
    control: str | None = None
    indicators: dict[str, str] | None = None
    ignore: Annotated[tuple[str, ...] | None, Parameter(consume_multiple=True)] = None
    drop_constant: Annotated[bool | None, Parameter(negative="--no-drop-constant")] = None
    min_mean: float | None = None
    log_counts: Annotated[bool | None, Parameter(negative="--no-log-counts")] = None
    counts: Annotated[bool | None, Parameter(negative="--no-counts")] = None
    matrix: str | None = None
    context: tuple[str, ...] | None = None
    intervention: str | None = None
    missing: Literal["error", "drop", "mean"] | None = None
    memory: float | None = None


@Parameter(name="*", group="The model")
@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """What a fitted model may be; None is for what was not given.

    Attributes:
        factor_mechanism: How factors are made of variables: auto, linear, mlp or spline. With auto
            they are linear unless held-out samples show that something is left.
        variable_mechanism: How variables are made of factors: the same choices.
        budget: The seconds it may take; the best found until then is kept (exit code 1).
        measurement: How variables were read: none (without noise), gaussian (see
            --measurement-noise), counts (whole numbers, or log(1 + count / depth)) or auto (counts
            where the values are).
        measurement_noise: The standard deviation of a gaussian reading, in the units of the file.
        noise: The law of a variable given its factors: gaussian, student (heavy tails), counts
            (negative binomial), or auto: the one that held-out samples prefer.
        transform: What factors read of the values: none (themselves), log, log1p, rank (normal
            scores), or auto: logarithms where held-out samples prefer them. The model is in these
            units.
        layers: A csv file with one line per variable, name,layer: causes lie in earlier layers than
            effects.
        prior: A TOML file with lists of edges known beforehand, written "A -> Z1" or "Z1 -> B":
            required, forbidden and anchors (edges whose variable belongs to that factor alone).
        context_acts_on: Where the context acts: on mechanisms, on readings, or auto, by what
            clamped samples show.
        unmeasured: Regimes whose target is not among the variables: keep their samples as they are,
            infer what they act on, or drop them.
        standardise: Fit on variables of mean 0 and variance 1.
        validation_share: The part of the samples held out to choose between models.
        seed: Random seed.
    """

    factor_mechanism: str | None = None
    variable_mechanism: str | None = None
    budget: float | None = None
    measurement: str | None = None
    measurement_noise: float | None = None
    noise: str | None = None
    transform: str | None = None
    layers: str | None = None
    prior: str | None = None
    context_acts_on: str | None = None
    unmeasured: str | None = None
    standardise: Annotated[bool | None, Parameter(negative="--no-standardise")] = None
    validation_share: float | None = None
    seed: Whole | None = None


NO_READING = ReadingOptions()


@Parameter(name="*", group="A recorded network")
@dataclass(frozen=True, kw_only=True)
class NetworkOptions:
    """How the network of a recording is reached.

    Attributes:
        model: For a recording: the network, script.py:name as for ucad record; the script is run.
            With the solver auto factors are found by what the network decides (behaviour), or,
            where that finds none, by a bottleneck that keeps its decisions; --factors may stay
            auto. In a bottleneck or switch errors count by what they do to decisions.
        inputs: The inputs that the recording was made on, if they are not where they were.
        read_output: What counts of the output: logits, logits@-1, or script.py:function.
        decide: What it decides: largest (the largest logit, or the sign of the only one), labels
            (all labels of a multi-label network), label:3 (one of them) or above:0.5,1.5 (how many
            of these values the only output exceeds, for regression).
        parts: What may be exchanged between inputs, by names of your own, such as the halves of an
            image: left=input[:,:8] right=input[:,8:]. Behaviour then asks what the network makes of
            each. Without it single entries are exchanged, where they are independent.
    """

    model: str | None = None
    inputs: Path | None = None
    read_output: str | None = None
    decide: str = "largest"
    parts: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()


NO_NETWORK = NetworkOptions()
NO_MODEL = ModelOptions()


def given(*groups: ReadingOptions | ModelOptions, **single: Any) -> Mapping[str, Any]:
    """The options by their names, those of the groups and single ones.

    >>> given(ReadingOptions(target="gene"), runs=5)
    {'target': 'gene', 'runs': 5}
    """
    values = {name: value for group in groups for name, value in asdict(group).items()}
    return {name: value for name, value in (values | single).items() if value is not None}
