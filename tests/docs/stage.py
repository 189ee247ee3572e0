"""What the pages of the documentation take for granted: files to read, data, and a fitted model."""

import functools
import warnings
from pathlib import Path

import numpy as np

import ucad
from ucad.simulate.worlds import screen_problem
from ucad.solvers.gradient import GradientConfig, TrainingSettings

__all__ = ["QUICKER", "STAGES"]

QUICKER = {
    "consensus.md": [("n_runs=50, n_jobs=-1", "n_runs=4, n_jobs=1")],
    "gradient.md": [
        ("fit_gradient(problem.train, 3, ", "fit_gradient(problem.train, 3, config=short, "),
        ("config=short, config=paper()", "config=short"),
        ("seed=0)", "seed=0, n_samples=600)"),
    ],
    "search-solver.md": [("seed=0)", "seed=0, n_samples=1000)")],
}
"""What is shortened in the blocks of a page, so that they run in seconds."""


@functools.cache
def screen():
    """A small screen: 12 variables, 2 factors."""
    return screen_problem(0, parents=2, children=4, n_control=600, samples_per_regime=40).train


@functools.cache
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ucad.UCAD(2).fit(screen())


def labels(data, names=None):
    """The target of every sample, empty for controls."""
    told = np.array(["", *data.regime_names[1:]], dtype=object)
    return np.array([(names or {}).get(name, name) for name in told[data.regime]], dtype=object)


def frame(names=None, **columns):
    import pandas as pd

    data, names = screen(), names or {}
    table = pd.DataFrame(data.x, columns=[names.get(n, n) for n in data.variable_names])
    return table.assign(**columns)


def named():
    """Two genes in the place of two variables that were acted on."""
    targets = sorted({name for name in screen().regime_names[1:] if ";" not in name})
    return dict(zip(targets, ("STAT1", "JAK2"), strict=False))


def plain():
    return {"ucad": ucad, "data": screen(), "model": fitted(), "other": fitted()}


def front_page():
    frame(clamped=labels(screen())).to_csv("screen.csv", index=False)
    return {}


def context_page():
    rng, n, genes = np.random.default_rng(0), screen().n_samples, named()
    replicate = rng.choice(["rep1", "rep2"], size=n)
    table = frame(genes, gene=labels(screen(), genes))
    table.assign(replicate=replicate, log_depth=rng.standard_normal(n)).to_csv(
        "screen.csv", index=False
    )
    return {"ucad": ucad, "X": table, "labels": replicate, "w": np.zeros((1000, 2))}


def interventions_page():
    genes = named()
    told = labels(screen(), genes)
    table = frame(genes, gene=told, how=np.where(told == "", "", "soft"))
    table.to_csv("screen.csv", index=False)
    model = ucad.UCAD(2).fit(table.drop(columns="how"), interventions="gene")
    return {"ucad": ucad, "model": model}


def counted():
    """Counts whose logarithms are the screen."""
    rate = np.exp(0.4 * screen().x + 1.5)
    return np.random.default_rng(0).poisson(rate).astype(float)


def measurement_page():
    data = ucad.InterventionalData.from_targets(counted(), labels(screen()).tolist())
    return {"UCAD": ucad.UCAD, "data": data}


def cells_page():
    import anndata
    import pandas as pd

    told = labels(screen())
    replicate = [f"rep{i % 3 + 1}" for i in range(len(told))]
    obs = pd.DataFrame(
        {"target": np.where(told == "", "control", told), "replicate": replicate},
        index=[f"c{i}" for i in range(len(told))],
    )
    var = pd.DataFrame(index=list(screen().variable_names))
    anndata.AnnData(counted(), obs, var).write_h5ad("papalexi2021.h5ad")
    return {}


def gradient_page():
    training = TrainingSettings(epochs=4, n_seeds=1, warm_up_epochs=(0,))
    return {"short": GradientConfig(training=training, refit_steps=5)}


STAGES = {
    "index.md": front_page,
    "context.md": context_page,
    "interventions.md": interventions_page,
    "measurement.md": measurement_page,
    "perturb-seq.md": cells_page,
    "gradient.md": gradient_page,
    **dict.fromkeys(("certificate.md", "consensus.md", "prior.md", "sharing.md"), plain),
}
"""What is prepared for a page, in an empty folder: files are written, names are returned."""

assert all((Path(__file__).parents[2] / "docs" / page).exists() for page in STAGES)
