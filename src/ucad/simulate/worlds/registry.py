"""`WORLDS`: every world by name, with its settings and one sentence on what it means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ucad.errors import InvalidInputError, did_you_mean
from ucad.parameters import as_seed
from ucad.simulate.worlds.genes import Genes, genes_problem
from ucad.simulate.worlds.planted import Planted, planted_problem
from ucad.simulate.worlds.problem import WorldProblem
from ucad.simulate.worlds.screen import Screen, screen_problem
from ucad.simulate.worlds.unfactored import Unfactored, unfactored_problem

__all__ = ["WORLDS", "World", "world_problem"]


class World(NamedTuple):
    """One named world.

    Attributes:
        settings: what it is made with, unless changed.
        description: one sentence on what it means.
    """

    settings: Screen | Planted | Unfactored | Genes
    description: str


_MAKERS: dict[type, Callable[..., WorldProblem]] = {
    Screen: screen_problem,
    Planted: planted_problem,
    Unfactored: unfactored_problem,
    Genes: genes_problem,
}

_SCREENS: dict[str, World] = {
    "screen": World(
        Screen(),
        "Five independent inputs per factor, each set to one value in 70 samples, and ten noisy "
        "children.",
    ),
    "screen-random": World(
        Screen(clamp="random"), "The screen, with inputs set to fresh normal draws."
    ),
    "screen-knockdown": World(
        Screen(clamp="knockdown", share_targeted=1.0),
        "The screen with every variable knocked down in turn; it still follows its parents but is "
        "labelled as clamped.",
    ),
    "screen-shift": World(
        Screen(clamp="shift", share_targeted=1.0),
        "The screen with every variable shifted in turn; it still follows its parents but is "
        "labelled as clamped.",
    ),
    "screen-mean": World(
        Screen(value=0.0, clamp="constant"),
        "The screen with inputs held at their mean: no variable's mean moves, only spreads do.",
    ),
    "screen-chain": World(
        Screen(shape="chain", n_factors=3),
        "A screen in which children of one factor feed the next.",
    ),
    "screen-overlap": World(
        Screen(shape="overlap", n_factors=3),
        "A screen in which factors share parents and children.",
    ),
    "screen-few-targets": World(
        Screen(share_targeted=0.1), "A screen in which a tenth of all variables is ever acted on."
    ),
    "screen-small-regimes": World(
        Screen(samples_per_regime=20, n_control=400), "A screen with 20 samples per target."
    ),
    "screen-large": World(
        Screen(n_factors=8, children=35), "A screen of 320 variables and 8 factors."
    ),
    "noisy-clamps": World(
        Screen(jitter=0.5), "The screen, with inputs set to the value wanted only roughly."
    ),
    "failed-clamps": World(
        Screen(failure=0.3),
        "The screen, with nothing done in 30 % of the samples that are labelled as clamped.",
    ),
    "off-target": World(
        Screen(off_target=0.3),
        "The screen, with one more variable clamped unannounced in 30 % of the regimes.",
    ),
    "unmeasured-targets": World(
        Screen(unmeasured=0.75),
        "A screen in which most inputs are acted on but not measured, so that factors have noise.",
    ),
    "one-parent": World(
        Screen(parents=1, children=6, n_factors=3),
        "Every factor has one parent, so that factor and parent are the same but for scale.",
    ),
    "one-child": World(
        Screen(parents=3, children=1, n_factors=3),
        "Every factor has one child, so that factors need not exist: regressions say the same.",
    ),
    "collinear": World(
        Screen(shape="chain", parents=1, children=6, n_factors=3, signal=(0.9, 0.98)),
        "Each factor reads one nearly noiseless child of the factor before, so that consecutive "
        "factors correlate above 0.94.",
    ),
}

_NOISE_AND_MECHANISMS: dict[str, World] = {
    "planted": World(
        Planted(), "A random linear f-SCM with Gaussian noise and random clamps: nothing is wrong."
    ),
    "laplace": World(Planted(noise="laplace"), "Noise has heavier tails than normal noise."),
    "student-t": World(
        Planted(noise="student-t"),
        "Noise has 3 degrees of freedom, so that its kurtosis is infinite.",
    ),
    "skewed": World(Planted(noise="skewed"), "Noise is exponential: never far below its mean."),
    "uniform": World(Planted(noise="uniform"), "Noise is bounded."),
    "shift": World(
        Planted(action="shift"),
        "Targets are shifted, one to three at a time; they still follow their parents.",
    ),
    "knockdown": World(
        Planted(action="knockdown"),
        "Targets are knocked down, one to three at a time; they still follow their parents.",
    ),
    "uneven-noise": World(
        Planted(emission="uneven"), "The spread of the noise depends on the signal."
    ),
    "time-series": World(
        Planted(noise="time-series"),
        "The noise of a sample resembles that of the one before, so that there are fewer "
        "independent samples than rows.",
    ),
    "relu": World(Planted(factor_function="relu"), "Factors are rectified sums of their parents."),
    "polynomial": World(
        Planted(variable_function="polynomial"), "Variables are quadratic in their factors."
    ),
    "sine": World(
        Planted(factor_function="sine"),
        "Factors go up and down more than once over the range of their parents.",
    ),
    "threshold": World(
        Planted(factor_function="threshold"), "Factors are on or off, and jump in between."
    ),
    "fold": World(
        Planted(factor_function="fold"),
        "Factors are absolute values, uncorrelated with all of their parents.",
    ),
    "product": World(
        Planted(factor_function="product"),
        "Factors are products, uncorrelated with all of their parents unless they have one.",
    ),
    "interaction": World(
        Planted(factor_function="interaction"), "Factors are sums plus products of their parents."
    ),
    "binary": World(
        Planted(emission="binary", action="coin"), "Variables are 0 or 1, factors weighted sums."
    ),
    "logic": World(
        Planted(emission="binary", action="coin", factor_function="threshold", signal=(0.8, 0.95)),
        "Variables and factors are 0 or 1: factors are weighted votes, children noisy copies.",
    ),
    "discrete": World(
        Planted(emission="counts"),
        "Variables are log(1 + Poisson count), and factors read the counts themselves.",
    ),
}

_MEASUREMENTS: dict[str, World] = {
    "counts-50": World(
        Planted(emission="sparse-counts", zeros=0.5, action="count"),
        "Log-normalised counts with varying depth, half of them zero, which factors read.",
    ),
    "counts-90": World(
        Planted(emission="sparse-counts", zeros=0.9, action="count"),
        "Log-normalised counts with varying depth, 90 % of them zero, which factors read.",
    ),
    "cut-off-90": World(
        Planted(emission="cut-off", zeros=0.9),
        "Values below a limit are zero, 90 % of all, and factors read what is above it.",
    ),
    "rates-50": World(
        Planted(measurement="counts", level=0.5),
        "Log-normalised counts with varying depth, half of them zero; factors read the true rates.",
    ),
    "rates-90": World(
        Planted(measurement="counts", level=0.9),
        "Log-normalised counts with varying depth, 90 % of them zero; factors read the true rates.",
    ),
    "raw-counts": World(
        Planted(measurement="raw-counts", level=0.5),
        "The raw counts with varying depth, half of them zero.",
    ),
    "exponential": World(
        Planted(measurement="exponential", level=1.0),
        "The exponential of every variable is measured, as with concentrations not yet logged.",
    ),
    "duplicates": World(Planted(copies=3), "Three variables are measured twice, identically."),
    "read-noise": World(
        Planted(measurement="read-noise", level=0.5),
        "What is measured is the variable plus noise that no factor reads.",
    ),
    "some-read-noise": World(
        Planted(measurement="some-read-noise", level=0.5),
        "A quarter of the variables is measured with noise that no factor reads.",
    ),
    "rounded": World(
        Planted(measurement="rounded", level=0.5), "Values are rounded to half a spread."
    ),
    "batches": World(
        Planted(measurement="batches", level=1.0),
        "Samples come in three batches with offsets of their own, which looks like a factor.",
    ),
    "outliers": World(
        Planted(measurement="outliers", level=0.01), "One entry in a hundred is ten spreads off."
    ),
    "saturated": World(
        Planted(measurement="saturated", level=1.0), "Values beyond one spread are cut off."
    ),
    "few-samples": World(Planted(n_samples=300), "The plain f-SCM with 300 samples."),
    "observational": World(Planted(n_regimes=0), "The plain f-SCM, never acted on."),
}

_STRUCTURE: dict[str, World] = {
    "direct-edges": World(
        Planted(flaw="direct-edges"), "Some variables act on others past all factors."
    ),
    "hidden-cause": World(
        Planted(flaw="hidden-cause", strength=1.0),
        "One hidden cause acts on parents and children of one factor alike.",
    ),
    "feedback": World(
        Planted(flaw="feedback", strength=0.3),
        "A child of a factor acts weakly on a parent of the same factor.",
    ),
    "weak-feedback": World(
        Planted(flaw="feedback", strength=0.15),
        "A child of a factor acts on a parent of the same factor, half as much as in `feedback`.",
    ),
    "mutual-children": World(
        Planted(flaw="mutual-children", strength=0.3),
        "Two children of one factor act on each other.",
    ),
    "confounded-factors": World(
        Planted(flaw="confounded-factors", strength=0.3),
        "One hidden cause acts on two factors.",
    ),
    "selected": World(
        Planted(flaw="selected", strength=1.5),
        "Samples with low values of two variables are seldom kept.",
    ),
    "mislabelled": World(
        Planted(mislabelled=0.1),
        "In 10 % of the samples other variables are clamped than the data say.",
    ),
    "correlated-roots": World(
        Planted(flaw="correlated-roots"), "Variables without parents correlate with each other."
    ),
    "two-populations": World(
        Planted(flaw="two-populations", strength=1.5),
        "Samples come from two populations whose roots differ, and nobody says which is which.",
    ),
    "known-context": World(
        Planted(flaw="known-context", strength=0.7),
        "A batch and a number that are known of every sample act on all mechanisms.",
    ),
    "noisy-factors": World(
        Planted(flaw="noisy-factors"), "Factors have noise of their own, shared by their children."
    ),
    "exogenous-factors": World(
        Planted(flaw="exogenous-factors", strength=1.0),
        "Factors are hidden causes that no variable feeds, as in plain factor analysis.",
    ),
    "unanchored": World(
        Planted(n_unanchored=2), "Two of three factors lack an anchor: the graph is not identified."
    ),
    "factor-too-few": World(
        Planted(spare_factors=-1), "One factor fewer is asked for than there are."
    ),
    "factor-too-many": World(
        Planted(spare_factors=1), "One factor more is asked for than there are."
    ),
    "independent": World(
        Unfactored(edge_probability=0.0),
        "All variables are independent; three factors are asked for.",
    ),
    "sparse-dag": World(
        Unfactored(), "A sparse random DAG over the variables, with no factors at all."
    ),
    "dense-dag": World(
        Unfactored(edge_probability=0.5),
        "A dense random DAG over the variables, with no factors at all.",
    ),
}

_GENES: dict[str, World] = {
    "genes": World(
        Genes(),
        "Seven gene programmes by SERGIO's Langevin equation with knock-outs that propagate, read "
        "without measurement noise.",
    ),
    "genes-27": World(Genes(counts=27.0), "The gene network, read by 27 counts per gene."),
    "genes-8": World(Genes(counts=8.0), "The gene network, read by 8 counts per gene."),
    "genes-3": World(Genes(counts=2.7), "The gene network, read by 2.7 counts per gene."),
    "genes-technical": World(
        Genes(technical=True),
        "The gene network, read with the technical noise of SERGIO: outliers, drop-outs, counts.",
    ),
}

WORLDS: dict[str, World] = {
    **_SCREENS,
    **_NOISE_AND_MECHANISMS,
    **_MEASUREMENTS,
    **_STRUCTURE,
    **_GENES,
}
"""All worlds by name. Seeds below 100 are for development, those from 1000 for reporting."""


def world_problem(name: str, seed: int, **changes: Any) -> WorldProblem:
    """Makes a world by name.

    >>> world_problem("screen", seed=3, parents=2, children=4).violates
    ()

    Args:
        name: one of `WORLDS`.
        seed: what makes it.
        changes: settings of the world by name.
    """
    if name not in WORLDS:
        raise InvalidInputError(
            f"There is no world '{name}'.{did_you_mean(name, WORLDS)} There are "
            f"{', '.join(WORLDS)}."
        )
    settings = WORLDS[name].settings
    return _MAKERS[type(settings)](as_seed(seed), settings, name=name, **changes)
