"""`ucad demo`: the main job on a problem whose answer is known."""

from __future__ import annotations

__all__ = ["demo"]

_ROUNDING = 1e-10


def demo(*, setting: str = "e", size: str = "16-3", seed: int = 0) -> None:
    """Simulate a system, and check that its factors are a causal abstraction of its variables.

    Parameters
    ----------
    setting
        The letter of the paper's setting, a to i.
    size
        Variables-factors: 16-3, 64-6 or 128-8.
    seed
        What makes the problem.
    """
    from rich.table import Table

    from ucad.cli.output import show
    from ucad.scm import Abstraction
    from ucad.simulate import SETTINGS, paper_problem

    problem = paper_problem(setting, size, seed)
    graph, abstraction = problem.scm.graph, Abstraction(problem.scm)
    context = problem.scm.draw_context(1000, seed)
    table = Table(title=f"Setting {setting} ({SETTINGS[setting].description}), {size}, seed {seed}")
    for heading in ("clamped", "factors it reaches", "largest |τ(ℒ) − ℋ|", "Δ̂ on data", "bound"):
        table.add_column(heading, justify="left" if heading[0] in "cf" else "right")
    errors, largest = abstraction.error(problem.validation), 0.0
    for regime, (error, bound) in list(errors.by_regime.items())[:8]:
        values = {} if regime == "observational" else dict.fromkeys(regime.split(";"), 1.0)
        gap = abstraction.gap(context, values)
        largest = max(largest, gap)
        reached = ", ".join(sorted(abstraction.intervention_map(values).support)) or "none"
        table.add_row(regime, reached, f"{gap:.1e}", f"{error:.3f}", f"{bound.matrix:.3g}")
    verdict = f"{_verdict(largest)} (largest difference {largest:.1e})."
    show(f"{problem.train!r}; {graph!r}", table, verdict)


def _verdict(gap: float) -> str:
    if gap < _ROUNDING:
        return "The diagram commutes: acting, then summarising, is summarising, then acting"
    return "The diagram does not commute"
