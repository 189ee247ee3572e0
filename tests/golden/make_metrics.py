"""Makes metrics.json: `python -m tests.golden.make_metrics` in the root of the project."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import scipy
import scipy.stats
import sklearn
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from tests.golden import definitions

PATH = Path(__file__).with_name("metrics.json")
SEED = 0


def inputs():
    """Two learned and three true factors, one of them discrete, and a linear mixture."""
    rng = np.random.default_rng(20)
    true = rng.standard_normal((80, 3))
    true[:, 2] = rng.integers(0, 3, 80)
    noise = 0.3 * rng.standard_normal((80, 2))
    learned = np.stack([true[:, 1] ** 3, true[:, 0] - 0.5 * true[:, 2]], axis=1) + noise
    return learned.round(6), true.round(6)


def correlations(learned, true):
    pearson = [[abs(scipy.stats.pearsonr(a, b).statistic) for b in true.T] for a in learned.T]
    spearman = [[abs(scipy.stats.spearmanr(a, b).statistic) for b in true.T] for a in learned.T]
    rng = np.random.default_rng(SEED)
    frequencies = rng.standard_normal((2, 20)), rng.standard_normal((2, 20))
    rdc = [[definitions.rdc(a, b, *frequencies) for b in true.T] for a in learned.T]
    hows = {
        "pearson": "abs(scipy.stats.pearsonr) of each pair",
        "spearman": "abs(scipy.stats.spearmanr) of each pair",
        "rdc": "tests.golden.definitions.rdc of each pair, k=20, s=1/6, tolerance 1e-7; "
        "frequencies (2, k) of the learned, then of the true factors, from default_rng(0)",
    }
    for name, matrix in (("pearson", pearson), ("spearman", spearman), ("rdc", rdc)):
        mcc = definitions.best_mean(matrix)
        yield {"name": name, "how": hows[name], "matrix": matrix, "mcc": mcc}


def fits(learned, true):
    order = np.random.default_rng(SEED).permutation(len(true))
    test, train = order[: len(true) // 5], order[len(true) // 5 :]
    split = "last 80 % of default_rng(0).permutation to fit, first 20 % to score"
    linear = [
        r2_score(
            true[test, k],
            LinearRegression().fit(learned[train], true[train, k]).predict(learned[test]),
        )
        for k in range(true.shape[1])
    ]
    yield {
        "name": "r2_linear",
        "how": f"sklearn r2_score of LinearRegression; {split}",
        "per_factor": linear,
    }
    # Of standard units, because the trees of scikit-learn stop at an absolute impurity.
    units = (true - true[train].mean(axis=0)) / true[train].std(axis=0)
    trees = [
        GradientBoostingRegressor(random_state=SEED).fit(learned[train], units[train, k])
        for k in range(true.shape[1])
    ]
    importance = np.stack([tree.feature_importances_ for tree in trees], axis=1)
    disentanglement, completeness = definitions.dci(importance.tolist())
    yield {
        "name": "dci",
        "how": "tests.golden.definitions.dci on feature_importances_ of "
        "sklearn GradientBoostingRegressor(random_state=0) on true factors in standard units, "
        f"and its r2_score; {split}",
        "importance": importance.tolist(),
        "per_factor": [
            r2_score(units[test, k], tree.predict(learned[test])) for k, tree in enumerate(trees)
        ],
        "disentanglement": disentanglement,
        "completeness": completeness,
    }


def likelihood(learned, true):
    x, mean, scale = true, np.full_like(true, 0.1), np.array([1.0, 0.5, 1e-3])
    floored = np.maximum(scale, 1e-2)
    is_free = np.arange(x.size).reshape(x.shape) % 7 != 0
    values = -scipy.stats.norm.logpdf(x, mean, floored)
    yield {
        "name": "nll",
        "how": "minus scipy.stats.norm.logpdf of the true factors around 0.1 with the scales "
        "1, 0.5 and 0.01 (0.001 below the floor), mean over entries whose flat index is not a "
        "multiple of 7",
        "value": values[is_free].mean(),
    }


def main():
    learned, true = inputs()
    cases = [*correlations(learned, true), *fits(learned, true), *likelihood(learned, true)]
    golden = {
        "made_by": "python -m tests.golden.make_metrics",
        "versions": {module.__name__: module.__version__ for module in (np, scipy, sklearn)},
        "learned": learned.tolist(),
        "true": true.tolist(),
        "cases": {case.pop("name"): case for case in cases},
    }
    PATH.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
