"""`ucad record` and `ucad steer`: a network as data, and a fitted model carried out in it."""

from __future__ import annotations

import json as json_module
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import Parameter

from ucad.cli.network_files import (
    BASES,
    OUTCOME,
    load_model,
    load_reader,
    read_inputs,
    read_labels,
    told_if_the_model_fails,
)
from ucad.cli.options import Count, Seed, Whole
from ucad.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np

    from ucad.networks import (
        Inputs,
        Recording,
        Steering,
        SteeringSettings,
        SteeringTable,
        SwapPairs,
    )
    from ucad.networks.decisions import Decide

__all__ = ["record", "steer"]

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
    print(
        f"{n_observed} observational samples and {data.n_samples - n_observed} with one of "
        f"{data.n_regimes - 1} clamps, of {data.n_variables} units at {len(found.sites)} sites."
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


def steer(
    run: Path,
    /,
    *,
    model: str,
    inputs: Path,
    labels: Path | None = None,
    recording: Path | None = None,
    pairs: Count = 2000,
    draws: Count = 10,
    ceiling: Whole = 1,
    read_output: str | None = None,
    decide: str = "largest",
    seed: Seed = 0,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: bool = False,
) -> None:
    """Swap every factor of a run between inputs inside the network, and see what it does.

    With labels: how often the network then decides as it should, beside placebos and a supervised
    ceiling. Without: whether the units downstream change as the run predicts, and how much the
    output changes, beside random directions. Both with dose-response curves.

    Parameters
    ----------
    run
        The run folder, fitted on a recording.
    model
        The network, as for ucad record.
    inputs
        Its inputs, as for ucad record; at least two.
    labels
        An .npz file with one entry an input in every array: outcome (the right decision, 0, 1, ...)
        and concepts of any name, of which the outcome is a function. An array bases, if there is
        one, says on which inputs (True) factors are set.
    recording
        The recording folder, to know the activations; inferred from the inputs if not given.
    pairs
        How many pairs of inputs to swap.
    draws
        How many placebos of every kind.
    ceiling
        The dimension of the supervised subspace that is learned to compare with; 0 for none.
    read_output
        What counts of the model's output: logits, 0/logits, or logits@-1 for the last token; or
        script.py:function. By default the only tensor, or logits.
    decide
        largest (the largest logit, or the sign of the only one), labels (all labels of a
        multi-label network, outcome being inputs x labels) or label:3 (one of them).
    seed
        Of pairs and placebos.
    output
        The JSON file to write; steering.json in the run folder if not given.
    json
        Print the JSON instead of a table.
    """
    from ucad.files import read_json, write_text
    from ucad.networks import Steering, SteeringSettings, decide_by, load_recording
    from ucad.runs import STEERING, load_run

    scm, path = load_run(run).scm, output or run / STEERING
    if path.exists() and "doses" not in read_json(path):
        raise InvalidInputError(f"'{path}' exists and is no table of ucad steer: it is kept.")
    acts = None if recording is None else load_recording(recording).activations
    steering = Steering(
        load_model(model), scm, activations=acts, read_output=load_reader(read_output)
    )
    rows, decided = read_inputs(inputs), decide_by(decide)
    with told_if_the_model_fails():
        if labels is not None:
            settings = SteeringSettings(n_draws=draws, ceiling_directions=ceiling, seed=seed)
            table = _labelled(steering, rows, labels, pairs, settings, decided)
            result: dict[str, Any] = json_module.loads(table.to_json())
            text = str(table)
        else:
            drawn = _Draws(pairs, draws, seed)
            result = {"factors": _unlabelled(steering, rows, drawn, decided)}
            text = _unlabelled_text(result["factors"])
        result["doses"] = _doses(steering, rows, _Draws(pairs, draws, seed), decided)
    write_text(path, json_module.dumps(result, indent=1, ensure_ascii=False))
    print(json_module.dumps(result) if json else f"{text}\n\nWritten to {path}")


def _labelled(
    steering: Steering,
    inputs: Inputs,
    path: Path,
    pairs: int,
    settings: SteeringSettings,
    decide: Decide,
) -> SteeringTable:
    import numpy as np

    from ucad.networks import expected_by_lookup, steering_table, swap_pairs

    labels = read_labels(path, inputs)
    outcome, bases = labels.pop(OUTCOME), labels.pop(BASES, None)
    drawn: dict[str, SwapPairs] = {}
    left_out: dict[str, str] = {}
    for name in labels:
        expected = expected_by_lookup(labels, outcome, name)
        try:
            drawn[name] = swap_pairs(
                outcome,
                expected,
                bases=None if bases is None else np.flatnonzero(bases),
                n_pairs=pairs,
                seed=settings.seed,
            )
        except InvalidInputError as error:
            left_out[name] = str(error)
    if not drawn:
        raise InvalidInputError(" ".join(f"{name}: {why}" for name, why in left_out.items()))
    table = steering_table(steering, inputs, drawn, settings=settings, decide=decide)
    return replace(table, left_out=left_out)


class _Draws(NamedTuple):
    """How many pairs of inputs and placebos, and their random seed."""

    pairs: int
    placebos: int
    seed: int

    def of(self, inputs: Inputs) -> np.ndarray:
        import numpy as np

        from ucad.networks.passes import n_inputs

        rng = np.random.default_rng(self.seed)
        return rng.integers(n_inputs(inputs), size=(2, self.pairs))


def _unlabelled(
    steering: Steering, inputs: Inputs, drawn: _Draws, decide: Decide
) -> list[dict[str, Any]]:
    from ucad.networks import agreement, random_direction_swaps
    from ucad.networks.passes import select_inputs

    base, source = (select_inputs(inputs, rows) for rows in drawn.of(inputs))
    before, lines = decide(steering.run(base).output), []
    for factor in steering.scm.graph.factor_names:
        found = agreement(steering, base, source, factor, decide)
        swaps = random_direction_swaps(
            steering, factor, base, n_draws=drawn.placebos, seed=drawn.seed
        )
        changed = [(decide(swap(base, source)) != before).double().mean() for swap in swaps]
        lines.append(
            {
                "factor": factor,
                "units": None if found.units is None else found.units._asdict(),
                "factors": None if found.factors is None else found.factors._asdict(),
                "output_change": found.output_change,
                "decisions_changed": found.decisions_changed,
                "random_directions_mean": float(sum(changed) / len(changed)),
                "random_directions_largest": float(max(changed)),
            }
        )
    return lines


def _doses(
    steering: Steering, inputs: Inputs, drawn: _Draws, decide: Decide
) -> list[dict[str, Any]]:
    from ucad.networks import dose_response
    from ucad.networks.passes import select_inputs

    chosen = select_inputs(inputs, drawn.of(inputs)[0])
    names = steering.scm.graph.factor_names
    found = (dose_response(steering, chosen, name, decide=decide) for name in names)
    return [
        {
            "factor": curve.factor,
            "doses": curve.doses.tolist(),
            "output": curve.output.tolist(),
            "decisions_changed": curve.decisions_changed.tolist(),
        }
        for curve in found
    ]


def _unlabelled_text(lines: list[dict[str, Any]]) -> str:
    heading = (
        f"{'factor':<10} {'units R²':>9} {'corr.':>6} {'factors R²':>10} {'corr.':>6} "
        f"{'output change':>13} {'decisions changed':>17} {'random directions (most)':>25}"
    )

    def match(value: dict[str, float] | None, width: int) -> str:
        if value is None:
            return f"{'':>{width}} {'':>6}"
        return f"{value['r_squared']:>{width}.3f} {value['correlation']:>6.3f}"

    rows = [
        f"{line['factor']:<10} {match(line['units'], 9)} {match(line['factors'], 10)} "
        f"{line['output_change']:>13.3f} {line['decisions_changed']:>17.3f} "
        f"{line['random_directions_mean']:>16.3f} ({line['random_directions_largest']:.3f})"
        for line in lines
    ]
    return "\n".join([heading, *rows])
