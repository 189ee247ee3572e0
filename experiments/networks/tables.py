"""Placebos for factors with few values: other read-outs, each with a table of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ucad.networks import NetworkFit
from ucad.networks.activation import Activation
from ucad.networks.behaviour.discrete_factors import (
    DecoderKind,
    class_readout,
    fit_decoder,
    hidden_layer,
)
from ucad.networks.features import covariates_of
from ucad.networks.interchange import SwapPairs
from ucad.networks.subject import Subject

__all__ = ["table_scores"]

N_ROWS = 1500


def table_scores(
    subject: Subject, step: int, pairs: SwapPairs, found: NetworkFit, n_random: int
) -> dict[str, Any]:
    """Scores of two-valued read-outs with a table: random directions, PCA and the raw input.

    There are as many read-outs as the gap has factors, all beside each other in one table, and the
    best of them counts.
    """
    rng = np.random.default_rng(0)
    rows = np.arange(min(N_ROWS, subject.n_inputs))
    inputs = subject.inputs
    assert isinstance(inputs, np.ndarray)
    k = max(1, len(found.gaps[step].factors))
    x = subject.at(step).units(inputs)[0]
    flat = inputs.reshape(len(inputs), -1)
    centred = x - x.mean(axis=0)
    axes = np.linalg.svd(centred[rows], full_matrices=False)[2][:k]

    def score(values: np.ndarray) -> float:
        return _score(subject, step, pairs, found.gaps[step].context, values)

    random = [score(centred @ _directions(rng, centred, k)) for _ in range(n_random)]
    raw = [score(flat @ _directions(rng, flat, k)) for _ in range(n_random)]
    return {
        "random, table (largest)": round(max(random), 4),
        "random, table (mean)": round(float(np.mean(random)), 4),
        "PCA, table": round(score(centred @ axes.T), 4),
        "raw input, table (largest)": round(max(raw), 4),
    }


def _directions(rng: np.random.Generator, x: np.ndarray, k: int) -> np.ndarray:
    spread = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    return np.asarray(rng.standard_normal((x.shape[1], k)) / spread[:, None])


def _score(
    subject: Subject, step: int, pairs: SwapPairs, names: tuple[str, ...], values: np.ndarray
) -> float:
    """The best factor's interchange score, values above their median being one of two."""
    inputs = subject.inputs
    assert isinstance(inputs, np.ndarray)
    label = (values > np.median(values, axis=0)).astype(np.int64)
    rows = np.arange(min(N_ROWS, len(values)))
    y = subject.at(step + 1).units(inputs[rows])[0]
    w = covariates_of(inputs, names)
    readouts = [class_readout(values[rows], one, 2) for one in label[rows].T]
    codes = 2.0 * label - 1
    layer = hidden_layer(DecoderKind.TABLE, readouts, w[rows])
    kind = DecoderKind.TABLE if layer is not None else DecoderKind.AFFINE
    layer = layer or hidden_layer(kind, readouts, w[rows])
    assert layer is not None
    decoder = fit_decoder(kind, layer, np.c_[codes, w][rows], y)
    scores = []
    before = subject.decisions(inputs[pairs.base])
    for k in range(codes.shape[1]):
        new = codes[pairs.base].copy()
        new[:, k] = codes[pairs.source, k]
        child = decoder(np.c_[new, w[pairs.base]])
        child = np.maximum(child, 0) if Activation.of(y) is Activation.RELU else child
        right = subject.decisions(inputs[pairs.base], step + 1, child) == pairs.expected
        changes = pairs.expected != before
        scores.append(float(np.mean([right[changes].mean(), right[~changes].mean()])))
    return max(scores)
