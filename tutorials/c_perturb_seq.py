"""
Perturb-seq: cells, genes and knock-outs
========================================

With the screen of Papalexi et al. (2021) as an ``.h5ad`` file this page analyses it: set
``UCAD_PAPALEXI`` to its path. Without it, counts of the same form are simulated: genes that are
read by few counts, regulators that are knocked out one by one, and control cells. See
:doc:`/perturb-seq` for what came out on the real screen.
"""

# %%
# Cells × genes
# -------------
import os
from pathlib import Path

import anndata
import numpy as np
import pandas as pd

import ucad
from ucad.simulate import world_problem

path = Path(os.environ.get("UCAD_PAPALEXI", "papalexi2021.h5ad"))
if path.exists():
    cells = anndata.read_h5ad(path, backed="r")
    column, control, min_mean, n_factors = "target", "control", 0.25, 3
else:
    world = world_problem("genes-8", seed=1)
    data = world.train
    labels = np.array(data.regime_names, dtype=object)[data.regime]
    labels[data.regime == 0] = "control"
    counts = np.maximum(0, np.rint(np.expm1(data.x - data.x.min(axis=0)) * 2))
    names = [f"cell{i}" for i in range(len(counts))]
    obs = pd.DataFrame({"target": labels.astype(str)}, index=names)
    cells = anndata.AnnData(counts, obs, pd.DataFrame(index=list(data.variable_names)))
    column, control, min_mean, n_factors = "target", "control", None, 7
print(cells.n_obs, "cells,", cells.n_vars, "genes,", cells.obs[column].nunique(), "labels")

# %%
# Factors of cells
# ----------------
# Mechanisms linear; seven programmes were simulated, and three factors are what came back on the
# real screen. The results are written where users of scverse look for them.
model = ucad.tl.factors(
    cells,
    target=column,
    control=control,
    min_mean=min_mean,
    log_counts=True,
    model=ucad.UCAD(n_factors, factor_mechanism="linear", variable_mechanism="linear"),
)
print(cells.obsm["X_ucad"].shape, "values of factors;", *cells.uns["ucad"]["factor_names"])

# %%
# Which knock-outs move which factor
# ----------------------------------
# Means over the cells of a knock-out, in standard deviations of the controls.
z, label = cells.obsm["X_ucad"], np.asarray(cells.obs[column])
quiet = label == control
z = (z - z[quiet].mean(axis=0)) / z[quiet].std(axis=0)
for k, factor in enumerate(cells.uns["ucad"]["factor_names"]):
    shifts = {one: z[label == one, k].mean() for one in np.unique(label) if one != control}
    largest = sorted(shifts, key=lambda one: -abs(shifts[one]))[:4]
    print(factor, *(f"{one} {shifts[one]:+.1f}" for one in largest))

# %%
# What may be claimed
# -------------------
# Counts are noisy readings of expression, and the certificate sees that. "The graph may not be
# claimed" is the usual, honest answer on such data; the factors are descriptions, to be tested.
import textwrap

print(textwrap.fill(cells.uns["ucad"]["verdict"], 79))

# %%
# The genes of every factor
# -------------------------
from ucad.report.figures import heat_map_figure

figure = heat_map_figure(model.scm_)
