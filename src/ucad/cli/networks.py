"""`ucad record`: a network as data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ucad.cli.network_files import (
    load_model,
    read_inputs,
    told_if_the_model_fails,
)
from ucad.cli.options import Count, Seed, Whole

if TYPE_CHECKING:
    from ucad.networks import (
        Recording,
    )

__all__ = ["record"]

_FACTORS_PER_PAIR = 3
"""Factors between two layers in the command that is proposed: what dense networks needed in our
studies (docs/networks.md)."""


def record(
    model: str,
    /,
    *,
    inputs: Path,
    sites: Annotated[tuple[str, ...], Parameter(consume_multiple=True)],
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    observational: Whole | None = None,
    per_clamp: Whole | None = None,
    batch_size: Count = 4096,
    precision: str = "float64",
    seed: Seed = 0,
    quiet: bool = False,
) -> None:
    """Record a network's units, left alone and clamped one by one, as a data set.

    The script that makes the model is run: only name one that you trust. An interrupted recording
    goes on with the same command. Then: ucad fit recording/ --solver bottleneck --factors 3 -o run/

    Parameters
    ----------
    model
        script.py:name, where name is a torch module or a function without arguments that gives
        one. A file of weights alone (.pt, .safetensors) does not say how they are computed with:
        let a script load it.
    inputs
        A .npy file with one input a row, or an .npz file whose arrays are the model's arguments
        (by name; arrays arg_0, arg_1, ... by position). Arrays named @... are not given to the
        model: positions per row, and @mask for tokens that count (else attention_mask).
    sites
        The modules whose outputs are the variables, in the order in which they are computed:
        layers.1 layers.3. A token of a transformer: blocks.0@-1; the last one of the attention
        mask: blocks.0@last; a position per row, from an array @name of the inputs: blocks.0@name;
        the mean over tokens: blocks.0:mean. Channels of a convolution: conv2:mean. An element of a
        tuple: attention/0@3. A module's input: dense~in; one of its four attention heads:
        dense~in@-1%0of4. A call of several: cell#1. Some units: layers.1[0,5].
    output
        The folder to write.
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
        Of the inputs and values that are drawn.
    quiet
        Show no progress.
    """
    network, rows = load_model(model), read_inputs(inputs)

    from ucad.cli.progress import shown_progress
    from ucad.networks import RecordSettings, recording_cost
    from ucad.networks import record as record_network
    from ucad.networks.storage import note_in_recording

    settings = RecordSettings(
        observational=observational,
        per_clamp=per_clamp,
        batch_size=batch_size,
        precision=precision,
    )
    with told_if_the_model_fails():
        cost = recording_cost(network, rows, sites, settings)
    if not quiet:
        print(cost, flush=True)
    with shown_progress(quiet=quiet) as progress, told_if_the_model_fails():
        found = record_network(
            network, rows, sites, settings=settings, seed=seed, directory=output, progress=progress
        )
    note_in_recording(output, {"model": model, "inputs": str(inputs)})
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
        print(f"Left out, since they never change: {len(found.dead)} units ({shown}).")
    print(f"Written to {output}. Next: {_next_command(found, output)}")


def _next_command(found: Recording, folder: Path) -> str:
    """The fit that works on a recording: between its layers if it has several."""
    import numpy as np

    data = found.data
    assert data.layer_of is not None
    widths = np.bincount(data.layer_of)
    if len(widths) < 2:
        return f"ucad fit {folder} --solver search --factors 3 -o run/"
    factors = min(_FACTORS_PER_PAIR, int(widths[:-1].min())) * (len(widths) - 1)
    return f"ucad fit {folder} --solver bottleneck --factors {factors} -o run/"
