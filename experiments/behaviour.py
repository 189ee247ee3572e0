"""Concepts by behaviour: adders, a modular counter and dense Boolean networks, with controls.

`python -m experiments.behaviour --studies adder-4 boolean --seeds 2000 2001 …`
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from experiments.networks.behaviour_page import table_lines
from experiments.networks.boolean_networks import (
    ACTIVATIONS,
    FUNCTIONS,
    boolean_inputs,
    dense_network,
)
from experiments.networks.recurrent_networks import (
    Adder,
    Counter,
    adder_inputs,
    carries,
    counter_inputs,
    train,
)
from experiments.running import append_row
from ucad.networks import (
    AllLabels,
    NetworkFit,
    NetworkSettings,
    Steering,
    decision,
    factor_swap,
    fit_network,
    interchange_score,
    swap_pairs,
    untrained_like,
)
from ucad.networks.decisions import Decide, code_of
from ucad.networks.interchange import SwapPairs
from ucad.networks.sites import Site
from ucad.networks.subject import Subject
from ucad.networks.subspaces import SubspaceSettings, learn_subspace

__all__ = ["main"]

DEEP = ("wide", "nested", "shared")
N_INPUTS, N_PAIRS, N_TRIES, N_RANDOM = 4000, 1000, 3, 5
Row = dict[str, Any]


def main() -> None:
    """Runs the studies and appends a row for every concept of every network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", nargs="+", default=list(_STUDIES), choices=list(_STUDIES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[2000, 2001, 2002])
    parser.add_argument("--table", type=Path, default=Path("docs/results/behaviour.jsonl"))
    parser.add_argument("--commit", default="", help="written into every row")
    parser.add_argument("--page", action="store_true", help="print the table, and run nothing")
    options = parser.parse_args()
    if options.page:
        rows = [json.loads(line) for line in options.table.read_text().splitlines()]
        print("\n".join(table_lines(rows)))
        return
    torch.set_num_threads(1)
    for study in options.studies:
        for seed in options.seeds:
            for row in _STUDIES[study](seed):
                about = {"study": study, "seed": seed, "commit": options.commit}
                append_row(options.table, {**about, **row})
                print(study, seed, row, flush=True)


def _adder(n_bits: int) -> Callable[[int], Iterator[Row]]:
    def study(seed: int) -> Iterator[Row]:
        bits, sums = adder_inputs(N_INPUTS, n_bits, seed)
        model, accuracy = _trained(Adder, bits, sums, seed, n_steps=1200 if n_bits < 8 else 2000)
        sites = [f"cell#{step}" for step in range(n_bits + 1)]
        carried = carries(bits)[:, 1:]

        def expected(base: np.ndarray, source: np.ndarray, step: int) -> np.ndarray:
            result, carry = sums[base].copy(), carried[source, step]
            for later in range(step + 1, n_bits + 1):
                total = bits[base, later].sum(axis=1).astype(np.int64) + carry
                result[:, later], carry = total % 2, (total >= 2).astype(np.int64)
            return code_of(result)

        yield from _recurrent(model, bits, sites, AllLabels(), accuracy, (carried, expected))

    return study


def _counter(seed: int) -> Iterator[Row]:
    symbols, sums = counter_inputs(N_INPUTS, 5, 3, seed)
    model, accuracy = _trained(Counter, symbols, sums[:, -1], seed, n_steps=1500)
    sites = [f"cell#{step}" for step in range(5)]

    def expected(base: np.ndarray, source: np.ndarray, step: int) -> np.ndarray:
        return np.asarray((sums[base, -1] - sums[base, step] + sums[source, step]) % 3)

    yield from _recurrent(model, symbols, sites, decision, accuracy, (sums[:, :-1], expected))


def _recurrent(
    model: nn.Module,
    inputs: np.ndarray,
    sites: list[str],
    decide: Decide,
    accuracy: float,
    truth: tuple[np.ndarray, Callable[[np.ndarray, np.ndarray, int], np.ndarray]],
) -> Iterator[Row]:
    """One row per step: what the factor's swap does, against what the true state says."""
    states, expected = truth
    found = fit_network(model, inputs, sites, NetworkSettings(decide=decide))
    steering = found.steering(model)
    subject = Subject.of(model, inputs, sites, decide=decide)
    rng = np.random.default_rng(0)
    for step, gap in enumerate(found.gaps):
        row: Row = {
            "accuracy": accuracy,
            "gap": gap.site,
            "true_values": _n_values(states[:, step]),
        }
        if not gap.factors:
            yield {**row, "found": "none", "note": gap.note}
            continue
        base, source = rng.integers(len(inputs), size=(2, N_PAIRS))
        wanted = expected(base, source, step)
        pairs = SwapPairs(base, source, wanted, wanted != expected(base, base, step))
        given = subject.at(step).units(inputs[source])[0]
        child = subject.edge_values(inputs[base], step, given)
        own = subject.decisions(inputs[base], step + 1, child) == wanted
        row["whole state by the edge"] = _balanced(own, pairs)
        line = gap.factors[0]
        scores = _controls(steering, line.factor, subject, step, pairs, found)
        yield {**row, **_line(gap, line), "seconds": found.seconds, **scores}


def _boolean(seed: int) -> Iterator[Row]:
    yield from _functions(seed, [name for name in FUNCTIONS if name not in DEEP])


def _uniform(seed: int) -> Iterator[Row]:
    """The same functions of inputs that are uniform and cut at 0: many lie at a threshold."""
    shallow = [name for name in FUNCTIONS if name not in DEEP]
    yield from _functions(seed, shallow, is_uniform=True)


def _deep(seed: int) -> Iterator[Row]:
    yield from _functions(seed, DEEP)


def _functions(seed: int, names: Sequence[str], *, is_uniform: bool = False) -> Iterator[Row]:
    n_steps = 1500 if is_uniform else 800
    for name in names:
        function = FUNCTIONS[name]
        for activation in ACTIVATIONS:
            inputs, bits = boolean_inputs(N_INPUTS, function.n_bits, seed, is_uniform=is_uniform)
            outcome = function.outcome(bits).astype(np.int64)

            def make(start: int, a: str = activation, n: int = function.n_bits) -> nn.Module:
                return dense_network(n, a, start)

            model, accuracy = _trained(make, inputs, outcome[:, None], seed, n_steps=n_steps)
            row: Row = {"function": name, "activation": activation, "accuracy": accuracy}
            found = fit_network(model, inputs, ["1", "3", "5"]) if function.blocks else None
            if found is None:
                yield {**row, **_none(model, inputs)}
                continue
            yield from _concepts(model, inputs, bits, (name, outcome), found, row)


def _none(model: nn.Module, inputs: np.ndarray) -> Row:
    """What behaviour says of a function without blocks."""
    from ucad.networks.behaviour.blocks import find_blocks
    from ucad.networks.features import features_of

    subject = Subject.of(model, inputs, ["1", "3", "5"])
    blocks = find_blocks(subject, features_of(inputs))
    said = "none" if not blocks.finest else "; ".join(block.name for block in blocks.finest)
    return {"concept": "none", "found": said, "overlapping": len(blocks.overlapping)}


def _concepts(
    model: nn.Module,
    inputs: np.ndarray,
    bits: np.ndarray,
    task: tuple[str, np.ndarray],
    found: NetworkFit,
    row: Row,
) -> Iterator[Row]:
    name, outcome = task
    function = FUNCTIONS[name]
    subject, steering = Subject.of(model, inputs, ["1", "3", "5"]), found.steering(model)
    for concept, block in function.blocks.items():

        def expected(base: np.ndarray, source: np.ndarray, block: Any = block) -> np.ndarray:
            mixed = bits[base].copy()
            mixed[:, list(block)] = bits[source][:, list(block)]
            return function.outcome(mixed)

        pairs = swap_pairs(outcome, expected, n_pairs=N_PAIRS)
        wanted = " ".join(f"input[{i}]" for i in block)
        for step, gap in enumerate(found.gaps):
            lines = [line for line in gap.factors if line.concept == wanted]
            about = {**row, "concept": concept, "gap": gap.site, "solver": found.solver}
            if not lines:
                yield {**about, "found": "missed"}
                continue
            scores = _controls(steering, lines[0].factor, subject, step, pairs, found)
            scores["hybrid inputs"] = _hybrid_score(subject, pairs, block)
            yield {**about, **_line(gap, lines[0]), "seconds": found.seconds, **scores}


def _hybrid_score(subject: Subject, pairs: SwapPairs, block: Sequence[int]) -> float:
    """What the network itself decides when the block's inputs are taken from the source."""
    inputs = subject.inputs
    assert isinstance(inputs, np.ndarray)
    mixed = inputs[pairs.base].copy()
    mixed[:, list(block)] = inputs[pairs.source][:, list(block)]
    return _balanced(subject.decisions(mixed) == pairs.expected, pairs)


def _controls(
    steering: Steering,
    factor: str,
    subject: Subject,
    step: int,
    pairs: SwapPairs,
    found: NetworkFit,
) -> Row:
    """The score of the factor, and of what has nothing to do with it."""
    inputs = subject.inputs
    assert isinstance(inputs, np.ndarray)

    def score(swap: Any, some: SwapPairs = pairs) -> float:
        return round(interchange_score(swap, inputs, some, subject.decide).mean, 4)

    copied = subject.decisions(inputs[pairs.source]) == pairs.expected
    train_pairs, test_pairs = pairs.halves()
    site: Site = subject.sites[step + 1]
    subspace = SubspaceSettings(n_steps=150, batch_size=256)
    learned = learn_subspace(
        subject.model, site, inputs, train_pairs, 1, subspace, decide=subject.decide
    )
    return {
        "score": score(factor_swap(steering, factor)),
        "copy output": _balanced(copied, pairs),
        **_placebos(subject, step, pairs, found),
        "untrained network": score(
            factor_swap(found.steering(untrained_like(subject.model)), factor)
        ),
        "supervised direction": score(learned, test_pairs),
    }


def _placebos(subject: Subject, step: int, pairs: SwapPairs, found: NetworkFit) -> Row:
    """Two-valued read-outs of random directions and of PCA axes, with a table trained anew."""
    from experiments.networks.tables import table_scores

    return table_scores(subject, step, pairs, found, N_RANDOM)


def _line(gap: Any, line: Any) -> Row:
    return {
        "found": line.concept,
        "n_classes": line.n_classes,
        "read_out": round(line.read_out, 4),
        "agreement": round(line.agreement, 4),
        "typical_share": round(line.typical_share, 4),
        "typical_agreement": round(line.typical_agreement, 4),
        "decoder": gap.decoder,
        "tuned": gap.tuned,
        "kept": round(gap.kept, 4),
    }


def _balanced(right: np.ndarray, pairs: SwapPairs) -> float:
    return round(float(np.mean([right[pairs.changes].mean(), right[~pairs.changes].mean()])), 4)


def _n_values(values: np.ndarray) -> int:
    return len(np.unique(values))


def _trained(
    make: Callable[..., nn.Module], inputs: np.ndarray, labels: np.ndarray, seed: int, n_steps: int
) -> tuple[nn.Module, float]:
    """A network that has learned its task; a stuck start is tried again."""
    for attempt in range(N_TRIES):
        start = seed + 10_000 * attempt
        torch.manual_seed(start)
        is_dense = make not in (Adder, Counter)
        model = make(start) if is_dense else make()
        rate = 5e-3 if is_dense else 1e-2
        accuracy = train(model, inputs, labels, n_steps=n_steps, seed=seed, learning_rate=rate)
        if accuracy > 0.995:
            break
    return model, accuracy


_STUDIES: Mapping[str, Callable[[int], Iterator[Row]]] = {
    "adder-4": _adder(4),
    "adder-16": _adder(16),
    "counter-3": _counter,
    "boolean": _boolean,
    "boolean-deep": _deep,
    "boolean-uniform": _uniform,
}


if __name__ == "__main__":
    main()
