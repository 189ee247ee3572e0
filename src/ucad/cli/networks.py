"""`ucad record`: a network as data."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from cyclopts import Parameter

from ucad.cli.network_files import (
    load_model,
    load_reader,
    read_inputs,
    told_if_the_model_fails,
)
from ucad.cli.options import Count, Seed, Whole
from ucad.errors import InvalidInputError

if TYPE_CHECKING:
    from torch import nn

    from ucad.networks import Inputs, Recording

__all__ = ["record"]

DONE, UNFINISHED = 0, 1
"""Exit codes."""

_logger = logging.getLogger(__name__)

_FEW_PASSES = 600
"""Features times sites up to which the context is looked for without being asked to: each costs two
passes over 300 inputs."""


def record(
    model: str,
    /,
    *,
    inputs: Path,
    sites: Annotated[tuple[str, ...], Parameter(consume_multiple=True)],
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    check: bool = False,
    context: Annotated[tuple[str, ...] | None, Parameter(consume_multiple=True)] = None,
    read_output: str | None = None,
    decide: str = "largest",
    observational: Whole | None = None,
    per_clamp: Whole | None = None,
    batch_size: Count = 4096,
    precision: str = "float64",
    seed: Seed = 0,
    quiet: bool = False,
) -> int:
    """Record a network's units, left alone and clamped one by one, as a data set.

    The script that makes the model is run: only name one that you trust. An interrupted recording
    is resumed by the same command. Then:
    ucad fit recording/ --model script.py:name --inputs FILE -o run/

    Parameters
    ----------
    model
        script.py:name, where name is a torch module or a function without arguments that gives
        one. A file of weights alone (.pt, .safetensors) does not say how they are computed with:
        let a script load it.
    inputs
        A .npy file with one row per input, or an .npz file whose arrays are the model's arguments
        (by name; arrays arg_0, arg_1, ... by position). Arrays named @... are not given to the
        model: positions per row, and @mask for tokens that count (else attention_mask).
    sites
        The modules whose outputs are the variables, in the order in which they are computed:
        layers.1 layers.3. A token of a transformer: blocks.0@-1; the last one of the attention
        mask: blocks.0@last; a position per row, from an array @name of the inputs: blocks.0@name;
        the mean over tokens: blocks.0:mean. Channels of a convolution: conv2:mean. An element of a
        tuple: attention/0@3. A module's input: dense~in; one of its four attention heads:
        dense~in@-1%0of4. A call of several: cell#1; a step of a fused nn.GRU: gru#1. Some units:
        layers.1[0,5].
    output
        The folder to write; not needed with --check.
    check
        First say, for every site, what share of decisions it can move when all of it is taken from
        another input, what else the next site depends on (its context), and how well the next site
        follows from all units. Without an output that is all.
    context
        Entries of the inputs that act on units beside the units before them, such as input[2,0] in
        a recurrent network; found if not given, where that takes few passes. Give none to go
        without.
    read_output
        What counts of the output, for --check: logits, logits@-1, or script.py:function.
    decide
        What the network decides, for --check: largest (the largest logit, or the sign of the only
        one), labels (all labels of a multi-label network), label:3 (one of them) or above:0.5,1.5
        (how many of these values the only output exceeds, for regression).
    observational
        How many inputs to record without a clamp; all if not given.
    per_clamp
        How many inputs to record for every clamped unit; by the number of units if not given,
        so that a recording costs a few passes for each input. 0 for no clamps.
    batch_size
        Rows in one forward pass.
    precision
        float64 or float32.
    seed
        Random seed of the inputs and values that are drawn.
    quiet
        Show no progress.
    """
    if output is None and not check:
        raise InvalidInputError("Say where to write the recording: -o recording/")
    network, rows = load_model(model), read_inputs(inputs)

    from ucad.cli.progress import shown_progress
    from ucad.networks import RecordSettings, recording_cost
    from ucad.networks import record as record_network
    from ucad.networks.cost import fit_cost
    from ucad.networks.storage import note_in_recording

    settings = RecordSettings(
        observational=observational,
        per_clamp=per_clamp,
        batch_size=batch_size,
        precision=precision,
    )
    with told_if_the_model_fails():
        found_context = _checked(_Asked(network, rows, sites, context, read_output, decide), check)
    if output is None:
        return DONE
    with told_if_the_model_fails():
        cost = recording_cost(network, rows, sites, settings)
    if not quiet:
        print(cost, flush=True)
    try:
        with shown_progress(quiet=quiet) as progress, told_if_the_model_fails():
            start = partial(record_network, settings=settings, context=found_context, seed=seed)
            found = start(network, rows, sites, directory=output, progress=progress)
    except OSError as error:
        return _kept_so_far(output, error)
    note_in_recording(output, {"model": model, "inputs": str(inputs)})
    given = ["--model", model, "--inputs", str(inputs)]
    given += [] if read_output is None else ["--read-output", read_output]
    given += [] if decide == "largest" else ["--decide", decide]
    budget = fit_cost(network, rows, found.sites).budget
    given += [] if budget is None else ["--budget", f"{budget:g}"]
    _tell(found, found_context)
    print(f"Written to {output}. Next: {_next_command(found, output, given)}")
    return DONE


def _kept_so_far(output: Path, error: OSError) -> int:
    """Says what a full disk has left of a recording; raises the error if that is nothing."""
    from ucad.networks.storage import is_growing

    if not is_growing(output):
        raise error
    text = "%s: '%s' holds what is recorded so far, and the same command resumes it."
    _logger.warning(text, error.strerror, output)
    return UNFINISHED


def _tell(found: Recording, context: Sequence[str]) -> None:
    data = found.data
    n_observed = int(found.is_observational.sum())
    n_clamped = data.n_samples - n_observed
    clamped = f"{n_clamped} with one of {data.n_regimes - 1} clamps" if n_clamped else "no clamps"
    print(
        f"{n_observed} observational samples and {clamped}, of {data.n_variables} units at "
        f"{len(found.sites)} sites."
    )
    if found.dead:
        shown = ", ".join(found.dead[:6]) + ", …" * (len(found.dead) > 6)
        print(f"Left out, since they never change: {shown} ({len(found.dead)} in all).")
    if context:
        shown = ", ".join(context[:6]) + ", …" * (len(context) > 6)
        print(f"Context, which acts on units beside the units before them: {shown}.")


def _next_command(found: Recording, folder: Path, given: Sequence[str]) -> str:
    """The fit that works on a recording: with the network, between its layers if it has several."""
    if len(found.sites) < 2:
        return f"ucad fit {shlex.quote(str(folder))} --solver search --factors 3 -o run/"
    return shlex.join(["ucad", "fit", str(folder), *given, "-o", "run/"])


class _Asked(NamedTuple):
    """What a diagnosis is made of."""

    model: nn.Module
    inputs: Inputs
    sites: Sequence[str]
    context: Sequence[str] | None
    read_output: str | None
    decide: str


def _checked(asked: _Asked, check: bool) -> tuple[str, ...]:
    """Prints the diagnosis, if it is wanted, and gives the context to record."""
    from ucad.errors import UcadError
    from ucad.networks import DiagnosisSettings, decide_by, diagnose
    from ucad.networks.features import features_of

    few = len(features_of(asked.inputs)) * len(asked.sites) <= _FEW_PASSES
    if not check and (asked.context is not None or not few):
        return () if asked.context in (None, ("none",)) else tuple(asked.context or ())
    settings = DiagnosisSettings() if check else DiagnosisSettings(n_pairs=100, max_seconds=10.0)
    try:
        found = diagnose(
            asked.model,
            asked.inputs,
            asked.sites,
            decide=decide_by(asked.decide),
            read_output=load_reader(asked.read_output),
            settings=settings,
        )
    except UcadError:
        if check:
            raise
        return ()  # such as an output that nobody has said how to read: nothing was asked of it
    if check:
        print(found)
        if not any(line.can_steer for line in found.sites):
            _logger.warning("No site changes a decision: ucad fit will find nothing to steer here.")
    elif found.notes:  # not all features could be tried: half a context is none
        return ()
    return found.covariates if asked.context is None else tuple(asked.context)
