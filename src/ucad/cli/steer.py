"""`ucad steer`: a fitted model carried out in the network itself, beside all controls."""

from __future__ import annotations

import json as json_module
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import Parameter

from ucad.cli.network_files import (
    BASES,
    OUTCOME,
    load_model,
    load_reader,
    read_blocks,
    read_inputs,
    read_labels,
    told_if_the_model_fails,
)
from ucad.cli.options import Count, Seed, Whole
from ucad.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np

    from ucad.networks import Inputs, Steering, SteeringSettings, SwapPairs
    from ucad.networks.decisions import Decide

__all__ = ["steer"]

_logger = logging.getLogger(__name__)

ANOTHER = (
    "The units of this network on these inputs are unlike those that '%s' was fitted on: another "
    "network, or inputs of another kind."
)

OWN_ANSWERS = (
    "Without labels, right is what the network itself decides when the concept's inputs, or the "
    "whole state of the site, are taken from the source."
)


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
    starts: Count = 2,
    steps: Count = 300,
    blocks: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    read_output: str | None = None,
    decide: str | None = None,
    seed: Seed = 0,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: bool = False,
) -> None:
    """Swap every factor of a run between inputs inside the network, and see what it does.

    With labels: how often the network then decides as it should, beside all controls: a copy of the
    source's output, random factors, PCA, ICA, the same method on an untrained layer and on the raw
    input with the same decoder, whole sites, a supervised direction. Without labels the same for
    the concepts that the fit found by behaviour, right being what the network itself decides when
    a concept's inputs, or a whole state, are exchanged. For other runs: whether the units
    downstream change as the run predicts, and how much the output changes, beside random
    directions. All with dose-response curves.

    Parameters
    ----------
    run
        The run folder, fitted on a recording.
    model
        The network, as for ucad record.
    inputs
        Its inputs, as for ucad record; at least two.
    labels
        An .npz file with one entry per input in every array: outcome (the right decision, 0, 1,
        ...) and concepts of any name, of which the outcome is a function. An array bases, if there
        is one, says on which inputs (True) factors are set.
    recording
        The recording folder, to know the activations; inferred from the inputs if not given.
    pairs
        How many pairs of inputs to swap.
    draws
        How many random factors, and a third as many untrained networks.
    ceiling
        The dimension of the supervised subspace that is learned to compare with; 0 for none.
    starts
        How often that is learned, from different starts; the best on its own pairs is scored.
    steps
        How many steps of gradient descent it learns in.
    blocks
        Where it is known which input entries carry a concept: first=input[0],input[1]. The
        network's own decisions on hybrid inputs are then the ceiling.
    read_output
        What counts of the model's output: logits, 0/logits, or logits@-1 for the last token; or
        script.py:function. By default as for the fit: the only tensor, or logits.
    decide
        largest (the largest logit, or the sign of the only one), labels (all labels of a
        multi-label network, outcome being inputs x labels), label:3 (one of them) or
        above:0.5,1.5 (how many of these values the only output exceeds). By default as for the fit.
    seed
        Random seed of pairs and placebos.
    output
        The JSON file to write; steering.json in the run folder if not given.
    json
        Print the JSON instead of a table.
    """
    from ucad.files import read_json, write_text
    from ucad.networks import Steering, decide_by, load_recording
    from ucad.networks.sameness import units_are_alike
    from ucad.runs import STEERING, load_run

    fitted, path = load_run(run), output or run / STEERING
    if path.exists() and "doses" not in read_json(path):
        raise InvalidInputError(f"'{path}' exists and is no table of ucad steer: it is kept.")
    acts = None if recording is None else load_recording(recording).activations
    replaces, network = bool(fitted.settings.get("replaces", False)), load_model(model)
    reader = load_reader(read_output or _noted_reader(fitted.settings))
    steering = Steering(
        network, fitted.scm, activations=acts, read_output=reader, replaces=replaces
    )
    decided = decide_by(decide or str(fitted.settings.get("decide", "largest")))
    rows = read_inputs(inputs)
    with told_if_the_model_fails():
        if not units_are_alike(steering, rows, fitted.sample):
            _logger.warning(ANOTHER, run)
        own = fitted.settings.get("concepts") or ()
        if labels is not None or own:
            settings = _settings(draws, ceiling, starts, steps, seed)
            parts = fitted.settings.get("parts") or {}
            told = _Concepts(labels, own, pairs, decided, read_blocks(blocks), parts, quiet=json)
            result, text = told.table(steering, rows, settings)
        else:
            drawn = _Draws(pairs, draws, seed)
            result = {"factors": _unlabelled(steering, rows, drawn, decided)}
            text = _unlabelled_text(result["factors"])
        result["doses"] = _doses(steering, rows, _Draws(pairs, draws, seed), decided)
    write_text(path, json_module.dumps(result, indent=1, ensure_ascii=False))
    print(json_module.dumps(result) if json else f"{text}\n\nWritten to {path}")


def _settings(draws: int, ceiling: int, starts: int, steps: int, seed: int) -> SteeringSettings:
    from ucad.networks import SteeringSettings, SubspaceSettings

    return SteeringSettings(
        n_draws=draws,
        ceiling_directions=ceiling,
        n_starts=starts,
        subspace=SubspaceSettings(n_steps=steps),
        seed=seed,
    )


def _noted_reader(settings: Mapping[str, Any]) -> str | None:
    """What the fit read of the output; a script is run only if the command names it."""
    noted = settings.get("read_output")
    if noted is None:
        return None
    if ".py:" in str(noted):
        raise InvalidInputError(
            f"The run was fitted with --read-output {noted}. A script is run only if the command "
            "names it: give --read-output again."
        )
    return str(noted)


class _Concepts(NamedTuple):
    """What is steered: labels, or without them what the fit found; and how."""

    path: Path | None
    found: Sequence[Mapping[str, Any]]
    pairs: int
    decide: Decide
    blocks: dict[str, list[str]]
    parts: dict[str, list[str]]
    quiet: bool

    def table(
        self, steering: Steering, inputs: Inputs, settings: SteeringSettings
    ) -> tuple[dict[str, Any], str]:
        """The table, as plain values and as text."""
        from ucad.networks import steering_cost, steering_table

        drawn, left_out, notes = self._drawn(steering, inputs, settings.seed)
        if not self.quiet:
            n = {"n_concepts": len(drawn), "n_pairs": self.pairs}
            print(steering_cost(steering, inputs, settings, **n), flush=True)
        table = steering_table(
            steering, inputs, drawn, settings=settings, decide=self.decide, blocks=self.blocks
        )
        table = replace(table, left_out=left_out, notes=(*table.notes, *notes))
        return json_module.loads(table.to_json()), str(table)

    def _drawn(
        self, steering: Steering, inputs: Inputs, seed: int
    ) -> tuple[dict[str, SwapPairs], dict[str, str], tuple[str, ...]]:
        """The pairs of every concept that changes decisions, why others have none, and a note."""
        if self.path is not None:
            drawn, left_out = self._labelled(self.path, inputs, seed)
            notes: tuple[str, ...] = ()
        else:
            from ucad.networks.own_answers import FoundConcept, own_pairs

            concepts = [FoundConcept.from_json(one) for one in self.found]
            drawn, left_out = own_pairs(
                steering,
                inputs,
                concepts,
                decide=self.decide,
                n_pairs=self.pairs,
                seed=seed,
                parts=self.parts,
            )
            notes = (OWN_ANSWERS,)
        if not drawn:
            raise InvalidInputError(" ".join(f"{name}: {why}" for name, why in left_out.items()))
        return drawn, left_out, notes

    def _labelled(
        self, path: Path, inputs: Inputs, seed: int
    ) -> tuple[dict[str, SwapPairs], dict[str, str]]:
        import numpy as np

        from ucad.networks import expected_by_lookup, swap_pairs

        labels = read_labels(path, inputs)
        outcome, bases = labels.pop(OUTCOME), labels.pop(BASES, None)
        chosen = None if bases is None else np.flatnonzero(bases)
        drawn: dict[str, SwapPairs] = {}
        left_out: dict[str, str] = {}
        for name in labels:
            expected = expected_by_lookup(labels, outcome, name)
            try:
                drawn[name] = swap_pairs(
                    outcome, expected, bases=chosen, n_pairs=self.pairs, seed=seed
                )
            except InvalidInputError as error:
                left_out[name] = str(error)
        return drawn, left_out


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
