"""Can inputs be recombined? Hybrids of features that depend on each other are inputs of no kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ucad.networks.features import Feature
from ucad.networks.passes import Inputs, n_inputs, select_inputs

__all__ = ["why_not_recombined"]

MAX_FEATURES = 300
"""Features beyond which inputs are taken for images or texts, whose parts are no variables."""

MAX_CORRELATION = 0.1
"""Largest correlation of entries of different features, beside what chance gives."""

CHANCE = 5.0
"""Standard errors of a correlation that chance exceeds in none of 10⁵ pairs, about."""

_N_ROWS = 5000
"""Inputs that correlations are taken of."""


def why_not_recombined(inputs: Inputs, features: Sequence[Feature]) -> str | None:
    """Why inputs should not be recombined, in one sentence; None if they may be.

    Features must be few, and pairwise uncorrelated: then a hybrid of two inputs is an input that
    could have been drawn as well.
    """
    if len(features) > MAX_FEATURES:
        return f"The inputs have {len(features)} features, too many to be exchanged one by one."
    rows = np.linspace(0, n_inputs(inputs) - 1, min(_N_ROWS, n_inputs(inputs))).astype(int)
    some = select_inputs(inputs, np.unique(rows))
    columns = [feature.values(some) for feature in features]
    owner = np.repeat(np.arange(len(features)), [part.shape[1] for part in columns])
    values = np.concatenate(columns, axis=1)
    varies = values.std(axis=0) > 0
    values, owner = values[:, varies], owner[varies]
    if len(np.unique(owner)) < 2:
        return "The inputs have fewer than two features that vary."
    r = np.abs(np.corrcoef(values, rowvar=False))
    r[owner[:, None] == owner] = 0.0
    worst = np.unravel_index(int(r.argmax()), r.shape)
    if r[worst] <= MAX_CORRELATION + CHANCE / np.sqrt(len(values)):
        return None
    one, other = (features[owner[k]].name for k in worst)
    return (
        f"The features {one} and {other} depend on each other (r = {r[worst]:.2f}): hybrids of "
        "two inputs would be inputs that the network has never seen."
    )
