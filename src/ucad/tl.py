"""Tools for scverse: factors of an AnnData, written where its users look for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ucad.data import InterventionalData
from ucad.data.formats.anndata import from_anndata
from ucad.data.formats.gene_names import names_as_labelled, unique_names
from ucad.data.formats.options import ReadOptions
from ucad.data.rest import DEFAULT_MEMORY
from ucad.data.targets import label_of
from ucad.errors import InvalidInputError
from ucad.estimator import UCAD
from ucad.report.strengths import edge_strengths

__all__ = ["factors"]


def factors(  # noqa: PLR0913 - the user's front door: every option by its own name
    adata: Any,
    *,
    target: str,
    control: str = "",
    min_mean: float | None = None,
    log_counts: bool = False,
    counts: bool = False,
    matrix: str = "X",
    context: Sequence[str] = (),
    model: UCAD | None = None,
    key: str = "ucad",
    memory: float = DEFAULT_MEMORY,
) -> UCAD:
    """Finds factors of cells × genes and writes them into an AnnData; returns the fitted model.

    - `obsm["X_ucad"]`: the factors of every cell, τ(x).
    - `varm["ucad_parents"]`, `varm["ucad_children"]`: genes × factors, by how many standard
      deviations a factor moves per standard deviation of a gene, and a gene per one of a factor;
      0 where there is no edge, and for genes that were left out.
    - `uns["ucad"]`: names of the factors, the verdict of the certificate, how the fit ended, and
      the settings.

    Args:
        adata: cells × genes; may be backed by a file, which is not written to.
        target: the column of `obs` that names the perturbation.
        control: the label of unperturbed cells in it.
        min_mean: leave out genes whose mean is below this.
        log_counts: turn counts into log(1 + 10⁴ · count / total of the cell).
        counts: keep counts and their depth, log(1 + count / depth), the depth being the total of
            the cell over the median total.
        matrix: which matrix to read: `X`, `raw` or `layers/NAME`; of `raw` the genes that X has,
            too, get loadings.
        context: columns of `obs` that act on genes and are none, such as the batch; `log_depth`
            is made of the totals where there is no such column.
        model: an estimator that says how to fit; if None `UCAD()`, with `measurement="counts"`
            where counts are kept.
        key: the name to write under.
        memory: GiB for the fit: if all cells would take more, it is made on a part of them and
            checked on the others; all cells get their factors.
    """
    if not all(hasattr(adata, part) for part in ("obs", "var_names", "obsm", "varm", "uns")):
        raise InvalidInputError(f"'adata' must be an AnnData. Got {type(adata).__name__} instead.")
    options = ReadOptions(
        target=target,
        control=control,
        min_mean=min_mean,
        log_counts=log_counts,
        counts=counts,
        matrix=matrix,
        context=tuple(context),
        drop_constant=True,
        memory=memory,
    )
    data = from_anndata(adata, options)
    plain = UCAD(measurement="counts" if counts else "none")
    fitted = (plain if model is None else model).fit(data)
    labels = [label_of(label) for label in adata.obs[target]]
    names = unique_names(names_as_labelled(adata.var, labels, control).names)
    adata.obsm[f"X_{key}"] = _of_all_cells(fitted, data)
    for side, loadings in _loadings(fitted, data, names).items():
        adata.varm[f"{key}_{side}"] = loadings
    adata.uns[key] = _summary(fitted, data)
    return fitted


def _loadings(model: UCAD, data: InterventionalData, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Genes × factors: the strengths of the edges into and out of factors, by the genes' names."""
    graph, strengths = model.graph_, edge_strengths(model.scm_, model.sample_)
    place = {name: row for row, name in enumerate(names)}
    found = np.array([name in place for name in data.variable_names])
    genes = np.array([place[name] for name in data.variable_names if name in place], dtype=int)
    loadings = {}
    for side, edges, strength in (
        ("parents", graph.Q, strengths.into),
        ("children", graph.R, strengths.out_of),
    ):
        loadings[side] = np.zeros((len(place), graph.n_factors))
        loadings[side][genes] = np.where(edges, strength, 0.0)[model.columns_.variable][found]
    return loadings


def _summary(model: UCAD, data: InterventionalData) -> dict[str, Any]:
    """What `uns` keeps: names, claims, how the fit ended, and the settings."""
    return {
        "factor_names": np.array(model.graph_.factor_names, dtype=object),
        "verdict": model.certificate_.verdict,
        "may_claim": {one.what: one.answer.value for one in model.certificate_.permissions},
        "status": str(model.status_),
        "settings": {name: str(value) for name, value in model.get_params(deep=False).items()},
        "fingerprint": data.fingerprint,
        "notes": np.array(data.notes, dtype=object),
    }


def _of_all_cells(model: UCAD, data: InterventionalData) -> np.ndarray:
    """The factors of the cells that were read, and of those that were not."""
    if data.rest is None:
        return model.transform(data)
    z = np.full((len(data.rest.taken) + data.rest.n_samples, model.graph_.n_factors), np.nan)
    z[data.rest.taken] = model.transform(data)
    for rows, part in data.rest.parts():
        z[rows] = model.transform(part)
    return z
