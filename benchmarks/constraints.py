"""Time and memory of every form of the acyclicity constraint, and how they grow with n and m.

python -m benchmarks.constraints [--largest 16384]

Each form is evaluated with its gradient on one random relaxed graph, in seconds of CPU; memory is
the most that tensors took at once beyond Q and R. Forms on A need n × n matrices: those of cubic
cost are left out above `--largest-cubic`, the spectral radius of A above `--largest-square`.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ucad.constraints import Acyclicity, acyclicity_violation, layer_violation

Violation = Callable[[Tensor, Tensor], Tensor]


class PeakMemory(TorchDispatchMode):
    """Adds up the storages that are alive at once, on the CPU too."""

    def __init__(self) -> None:
        super().__init__()
        self.alive: dict[int, tuple[int, object]] = {}
        self.peak = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, Tensor):
                self._note(tensor)
        return out

    def _note(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        self.alive = {k: v for k, v in self.alive.items() if v[1]() is not None}
        self.alive[storage.data_ptr()] = (storage.nbytes(), weakref.ref(tensor))
        self.peak = max(self.peak, sum(size for size, _ in self.alive.values()))


def main() -> None:
    """Measures all forms and prints a table with growth exponents."""
    options = _options()
    torch.set_num_threads(1)
    rows = []
    for n in [size for size in (64, 256, 1024, 4096, 16384) if size <= options.largest]:
        for m in (8, 16, 32, 64):
            for name, violation in _forms(n).items():
                if n > _limit(name, options):
                    continue
                row = {"form": name, "n": n, "m": m, **_measure(violation, n, m)}
                rows.append(row)
                print(json.dumps(row), flush=True)
    _print_growth(rows)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text("\n".join(json.dumps(row) for row in rows) + "\n")


def _forms(n: int) -> dict[str, Violation]:
    forms: dict[str, Violation] = {
        form.value: lambda Q, R, form=form: acyclicity_violation(Q, R, form) for form in Acyclicity
    }
    layer_of = torch.arange(n) * 3 // n
    forms["layered"] = lambda Q, R: layer_violation(Q, R, layer_of).sum()
    return forms


def _limit(name: str, options: argparse.Namespace) -> int:
    if not name.endswith("on_variables"):
        return int(options.largest)
    quadratic = name.startswith("spectral_radius")
    return int(options.largest_square if quadratic else options.largest_cubic)


def _measure(violation: Violation, n: int, m: int) -> dict[str, float]:
    generator = torch.Generator().manual_seed(0)
    # Sparse enough that tr(e^A) stays finite in single precision.
    Q, R = (torch.rand(n, m, generator=generator) / n for _ in range(2))
    Q.requires_grad_()
    R.requires_grad_()

    def once() -> None:
        torch.autograd.grad(violation(Q, R), (Q, R))

    with PeakMemory() as memory:
        once()
    started, repeats = time.process_time(), 0
    while repeats == 0 or (time.process_time() - started < 0.2 and repeats < 100):
        once()
        repeats += 1
    seconds = (time.process_time() - started) / repeats
    return {"seconds": seconds, "megabytes": memory.peak / 2**20}


def _print_growth(rows: list[dict[str, float]]) -> None:
    print("\n| form | ms at n = 1024, m = 8 | time ~ n^ | time ~ m^ | memory ~ n^ |")
    print("|---|---|---|---|---|")
    for form in dict.fromkeys(row["form"] for row in rows):
        own = [row for row in rows if row["form"] == form]
        # The two largest sizes: below them, what a call costs by itself hides the growth.
        *_, before, largest = sorted({row["n"] for row in own})
        by_n = [row for row in own if row["m"] == 64 and row["n"] >= before]
        by_m = [row for row in own if row["n"] == largest]
        here = [row["seconds"] for row in own if row["n"] == 1024 and row["m"] == 8]
        figures = [
            1e3 * here[0] if here else math.nan,
            _exponent(by_n, "n", "seconds"),
            _exponent(by_m, "m", "seconds"),
            _exponent(by_n, "n", "megabytes"),
        ]
        print(f"| {form} | {' | '.join(f'{figure:.2f}' for figure in figures)} |")


def _exponent(rows: list[dict[str, float]], axis: str, what: str) -> float:
    if len(rows) < 2:
        return math.nan
    x, y = (np.log([max(row[name], 1e-9) for row in rows]) for name in (axis, what))
    return float(np.polyfit(x, y, 1)[0])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=16384)
    parser.add_argument("--largest-square", type=int, default=4096)
    parser.add_argument("--largest-cubic", type=int, default=1024)
    parser.add_argument("--output", type=Path, default=Path("results/constraints.jsonl"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
