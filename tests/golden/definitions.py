"""RDC, DCI and the structural Hamming distance by their definitions: slow, literal, independent."""

from __future__ import annotations

import itertools
import math

import numpy as np


def rdc(x, y, frequencies_x, frequencies_y, scale=1 / 6, tolerance=1e-7):
    """The coefficient of two lists of numbers, pair by pair and column by column."""
    basis_x = gram_schmidt(sine_features(x, frequencies_x, scale), tolerance)
    basis_y = gram_schmidt(sine_features(y, frequencies_y, scale), tolerance)
    cross = np.array([[sum(a * b) for b in basis_y] for a in basis_x])
    # The largest singular value as the root of the largest eigenvalue.
    return math.sqrt(max(np.linalg.eigvalsh(cross @ cross.T)))


def sine_features(values, frequencies, scale):
    n = len(values)
    ranks = [
        (sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2)
        for value in values
    ]
    columns = []
    for w, b in zip(frequencies[0], frequencies[1], strict=True):
        column = np.array([math.sin(scale / 2 * (rank / n * w + b)) for rank in ranks])
        columns.append(column - sum(column) / n)
    return columns


def gram_schmidt(columns, tolerance):
    """Pivoted: always take the longest remaining column; stop when it is short beside the first."""
    remaining, basis, longest = [column.copy() for column in columns], [], None
    while remaining:
        lengths = [math.sqrt(sum(column**2)) for column in remaining]
        k = int(np.argmax(lengths))
        longest = lengths[k] if longest is None else longest
        if lengths[k] <= tolerance * longest:
            break
        unit = remaining.pop(k) / lengths[k]
        for _ in range(2):  # twice is enough, says Kahan
            for earlier in basis:
                unit = unit - sum(unit * earlier) * earlier
        unit = unit / math.sqrt(sum(unit**2))
        basis.append(unit)
        remaining = [column - sum(column * unit) * unit for column in remaining]
    return basis


def dci(importance):
    """Disentanglement and completeness of Eastwood and Williams, by loops over the formulas."""
    n_codes, n_factors = len(importance), len(importance[0])
    total = sum(sum(row) for row in importance)
    disentanglement = 0.0
    for i in range(n_codes):
        row_sum = sum(importance[i])
        if row_sum == 0:
            continue
        entropy = 0.0
        for j in range(n_factors):
            p = importance[i][j] / row_sum
            entropy -= p * math.log(p, n_factors) if p > 0 else 0.0
        disentanglement += row_sum / total * (1 - entropy)
    completeness = 0.0
    for j in range(n_factors):
        column_sum = sum(importance[i][j] for i in range(n_codes))
        if column_sum == 0:
            continue
        entropy = 0.0
        for i in range(n_codes):
            p = importance[i][j] / column_sum
            entropy -= p * math.log(p, n_codes) if p > 0 else 0.0
        completeness += (1 - entropy) / n_factors
    return disentanglement, completeness


def best_mean(matrix):
    """The largest mean over all one-to-one matchings, by trying them all."""
    n_rows, n_columns = len(matrix), len(matrix[0])
    if n_rows < n_columns:
        return best_mean(list(zip(*matrix, strict=True)))
    return max(
        sum(matrix[rows[j]][j] for j in range(n_columns)) / n_columns
        for rows in itertools.permutations(range(n_rows), n_columns)
    )


def smallest_shd(learned_Q, learned_R, true_Q, true_R):
    """The SHD under the best relabelling, by trying all, and looking at every pair of nodes."""
    n_variables, n_factors = len(true_Q), max(len(true_Q[0]), len(learned_Q[0]))

    def state(Q, R, i, k):
        if k >= len(Q[0]):
            return "none"
        return "parent" if Q[i][k] else "child" if R[i][k] else "none"

    return min(
        sum(
            state(learned_Q, learned_R, i, labels[k]) != state(true_Q, true_R, i, k)
            for i in range(n_variables)
            for k in range(n_factors)
        )
        for labels in itertools.permutations(range(n_factors))
    )
