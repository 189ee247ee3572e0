"""Models and contents that the tests of the report share."""

from __future__ import annotations

from functools import cache

import numpy as np

from ucad.claims import certify
from ucad.graph import FactorGraph
from ucad.report import ReportContent
from ucad.simulate import (
    GraphRecipe,
    MechanismRecipe,
    paper_problem,
    random_factor_graph,
    random_factor_scm,
    random_targets,
    simulate,
)

HISTORY = [
    {"stage": stage, "epoch": epoch, "nll": 2.0 / (1 + epoch), "converged": False}
    for stage in ("warm-up", "constrained")
    for epoch in range(20)
]
METRICS = {
    "scores": [
        {"metric": "mcc_pearson", "value": 0.981, "low": 0.97, "high": 0.99, "chance": 0.052},
        {"metric": "structure_shd", "value": 2, "chance": 23.4, "detail": "random graphs"},
    ],
    "notes": ["one factor is constant"],
}
HOSTILE = "<script>alert(1)</script>"
LONG = "a_very_long_name_" * 20


@cache
def paper_truth(setting="e", size="64-6", seed=1):
    """A problem of the paper, made when a test asks for it: every worker imports all modules."""
    return paper_problem(setting, size, seed, n_samples=1500)


@cache
def _certificate(setting, size, seed):
    problem = paper_truth(setting, size, seed)
    return certify(problem.scm, problem.train, held_out=problem.validation)


def paper_content(setting="e", size="64-6", seed=1, **changes):
    """A true model of the paper with everything a report can have."""
    problem = paper_truth(setting, size, seed)
    fields = {
        "title": f"Setting {setting}, {size}",
        "scm": problem.scm,
        "data": problem.train,
        "certificate": _certificate(setting, size, seed),
        "status": {"converged": True, "advice": "none needed"},
        "history": HISTORY,
        "metrics": METRICS,
        "provenance": {"seed": seed, "versions": {"ucad": "0.1.0"}},
    }
    return ReportContent(**(fields | changes))


def random_content(n_variables, n_factors, *, probability=0.4, seed=3, hostile=False):
    """A random linear model, with hostile and very long names if asked for."""
    rng = np.random.default_rng(seed)
    recipe = GraphRecipe(n_variables=n_variables, n_factors=n_factors, edge_probability=probability)
    graph = random_factor_graph(recipe, rng)
    if hostile:
        variables = (HOSTILE, LONG, "a & \"b\" 'c'", *graph.variable_names[3:])
        factors = (f"</script>{HOSTILE}{LONG}", *graph.factor_names[1:])
        graph = FactorGraph(graph.Q, graph.R, variables, factors)
    scm = random_factor_scm(graph, MechanismRecipe(noise_scale=0.4), rng)
    regime = np.sort(np.arange(400) % 5)
    data = simulate(scm, random_targets(4, n_variables, rng), regime, seed)
    title = HOSTILE if hostile else "A random model"
    return ReportContent(title=title, scm=scm, data=data, certificate=certify(scm, data))


SMALL = [(setting, "16-3", 0) for setting in ("b", "f", "g")]


LARGER = ("e", "64-6", 1)


def truth_of(which):
    """A true model of the paper and samples of it."""
    problem = paper_truth(*which)
    return problem.scm, problem.train
