"""Claims about a fitted model that take its mechanisms or measurements to check."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad.data import InterventionalData
from ucad.graph import FactorGraph
from ucad.scm.certificate.claims import Answer, Claim, listed
from ucad.scm.factor_scm import FactorSCM

__all__ = [
    "MOST_SAMPLES",
    "AnchorShares",
    "anchor_shares",
    "distinctness",
    "explained_variance",
    "scale",
]

COLLINEAR = 0.99
"""The share of a factor's variance above which the other factors make it redundant."""

MOST_SAMPLES = 2000
"""How many samples weights and variances are measured on."""


class AnchorShares(NamedTuple):
    """How much of the variance anchors account for; zero where there is no anchor.

    Attributes:
        ins: E[(z − z without x_i)²] / Var z, where "without" puts x_i at its mean.
        outs: R² of x_j given its only factor, where x_j is not clamped.
    """

    ins: Float[np.ndarray, "variables factors"]
    outs: Float[np.ndarray, "variables factors"]


def anchor_shares(scm: FactorSCM, data: InterventionalData) -> AnchorShares:
    """Removes anchors and sees what changes.

    An in-anchor touches only its own factor, so one anchor of every factor is removed at a time:
    as many evaluations of F_Z as the factor with the most in-anchors has.
    """
    graph, x = scm.graph, scm.tensor(data.x)
    z = scm.state_map(x)
    variance = z.var(dim=0, correction=0)
    ins = np.zeros(graph.Q.shape)
    waiting = graph.in_anchors.copy()
    while waiting.any():
        chosen = np.zeros_like(waiting)
        factors = np.flatnonzero(waiting.any(axis=0))
        chosen[waiting[:, factors].argmax(axis=0), factors] = True
        without, removed = x.clone(), torch.from_numpy(np.flatnonzero(chosen.any(axis=1)))
        without[:, removed] = x[:, removed].mean(dim=0)
        change = ((z - scm.state_map(without)) ** 2).mean(dim=0)
        share = torch.where(variance > 0, change / variance.clamp_min(1e-300), 0.0)
        ins += chosen * share.detach().cpu().numpy()
        waiting &= ~chosen
    explained = explained_variance(scm, data)
    return AnchorShares(ins, graph.out_anchors * explained[:, None])


def explained_variance(scm: FactorSCM, data: InterventionalData) -> Float[np.ndarray, " variables"]:
    """R² of every variable given the factors, where it is not clamped; at least 0."""
    x = scm.tensor(data.x)
    free = ~torch.tensor(data.is_intervened, device=x.device)
    n_free = free.sum(dim=0).clamp_min(1)
    mean = (x * free).sum(dim=0) / n_free
    total = ((x - mean) ** 2 * free).sum(dim=0)
    residual = ((x - scm.expected_variables(scm.state_map(x))) ** 2 * free).sum(dim=0)
    share = torch.where(total > 0, 1 - residual / total.clamp_min(1e-300), 0.0)
    return np.asarray(share.clamp_min(0.0).detach().cpu().numpy(), dtype=np.float64)


def scale(scm: FactorSCM, data: InterventionalData) -> Claim:
    """Are the factors known up to scale and shift, or only up to a bijection?"""
    graph = scm.graph
    constant = _names(graph, _is_constant(scm.state_map(data.x)))
    uncovered = _names(graph, np.asarray(~graph.out_anchors.any(axis=0)))
    affine = {"F_Z": scm.factor_mechanism.is_affine, "F_X": scm.variable_mechanism.is_affine}
    details = {
        "affine": affine,
        "without_out_anchor": uncovered,
        "constant": constant,
        "metric": "MCC with Pearson correlation" if any(affine.values()) else "MCC with RDC",
    }
    question = "Are the factors' values known up to scale and shift?"
    if not any(affine.values()):
        text = (
            "Neither the way factors are made nor the way they act is linear here: a factor may "
            "be claimed at best up to a one-to-one map of its values. Compare it with anything by "
            "a measure that such maps leave alone (MCC with RDC); a Pearson MCC means little."
        )
        statement = 'Lemma "Reparameterization symmetry"'
        return Claim("scale", question, Answer.PARTLY, text, statement, details)
    name, how = (
        ("parent", "linear in the variables") if affine["F_Z"] else ("child", "passed on linearly")
    )
    statement = f'Theorem "Linear {name} identifiability"'
    exceptions = sorted({*uncovered, *constant})
    text = (
        f"Provided that the true factors are {how}, as the model has it, their values may be "
        "claimed up to scale and shift, and MCC with Pearson correlation means something."
    )
    if exceptions:
        text += f" Not so for {listed(exceptions)}, constant or without an out-anchor."
    answer = Answer.YES if not exceptions else Answer.PARTLY
    if len(exceptions) == graph.n_factors:
        answer = Answer.NO
    return Claim("scale", question, answer, text, statement, details)


def distinctness(scm: FactorSCM, data: InterventionalData) -> Claim:
    """Do the data tell the factors apart? Constant and collinear factors, deterministic chains."""
    graph, z = scm.graph, scm.state_map(data.x)
    constant = _is_constant(z)
    share = _explained_by_others(z, constant)
    collinear = _names(graph, share >= COLLINEAR)
    between = graph.R.any(axis=1) & graph.Q.any(axis=1) & ~data.is_intervened.any(axis=0)
    between &= explained_variance(scm, data) >= COLLINEAR
    chains = [graph.variable_names[j] for j in np.flatnonzero(between)]
    problems = [
        text.format(listed(names))
        for text, names in [
            ("{} never change in the data.", _names(graph, constant)),
            (
                f"At least {COLLINEAR:.0%} of the variance of {{}} follows from the others.",
                collinear,
            ),
            (
                "No regime clamps {}, which factors make almost exactly and other factors read: "
                "whether those read it, or what it is made from, may not be claimed.",
                chains,
            ),
        ]
        if names
    ]
    doubtful = constant | (share >= COLLINEAR)
    answer = Answer.YES if not problems else Answer.NO if doubtful.all() else Answer.PARTLY
    good = (
        "Every factor varies, and none follows from the others (at most "
        f"{share.max(initial=0.0):.0%} of a factor's variance does)."
    )
    return Claim(
        "distinct",
        "Do the data tell the factors apart?",
        answer,
        " ".join(problems) or good,
        "No statement of the paper: collinear factors, and chains through variables that nobody "
        "clamps, fulfil every assumption and still cannot be told apart",
        {
            "factors": [
                {"factor": name, "explained_by_other_factors": round(float(part), 4)}
                for name, part in zip(graph.factor_names, share, strict=True)
            ],
            "constant": _names(graph, constant),
            "never_clamped_mediators": chains,
        },
    )


def _explained_by_others(
    z: Float[Tensor, "samples factors"], constant: Bool[np.ndarray, " factors"]
) -> Float[np.ndarray, " factors"]:
    """R² of every factor in a linear regression on the other ones."""
    centred = (z - z.mean(dim=0)).detach().cpu().numpy()
    share = np.zeros(len(constant))
    for k in np.flatnonzero(~constant):
        others = np.delete(centred, k, axis=1)
        fitted = others @ np.linalg.lstsq(others, centred[:, k], rcond=None)[0]
        share[k] = fitted @ fitted / (centred[:, k] @ centred[:, k])
    return share


def _is_constant(z: Float[Tensor, "samples factors"]) -> Bool[np.ndarray, " factors"]:
    z = z.detach()
    spread = z.std(dim=0, correction=0)
    return np.asarray((spread <= 1e-9 * (1 + z.abs().amax(dim=0))).cpu().numpy(), dtype=bool)


def _names(graph: FactorGraph, which: Bool[np.ndarray, " factors"]) -> list[str]:
    return [graph.factor_names[k] for k in np.flatnonzero(which)]
