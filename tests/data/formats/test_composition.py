import anndata
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import ucad
from ucad.data.formats.composition import MIN_GENES, composition


def _screen(n_genes=60):
    """Gene 0, a third of all counts, is lost where it is knocked out; no other gene changes."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["NT", "G0", "G1"], 200)
    rate = np.full((600, n_genes), 5.0) * rng.lognormal(0, 0.3, size=(600, 1))
    rate[:, 0] *= n_genes / 2
    rate[labels == "G0", 0] *= 0.05
    rate[labels == "G1", 1] *= 0.2
    return rng.poisson(rate).astype(float), labels


@pytest.mark.parametrize("stored", [np.asarray, csr_matrix])
def test_a_total_that_one_gene_makes_is_corrected(stored):
    counts, labels = _screen()
    blocks = [(0, stored(counts[:250])), (250, stored(counts[250:]))]
    factor, notes = composition(blocks, list(labels), "NT", counts.sum(axis=1))
    assert (factor[labels == "NT"] == 1).all()
    assert factor[labels == "G1"] == pytest.approx(1.0, abs=0.03)
    shares = (counts / counts.sum(axis=1, keepdims=True))[:, 2:]
    ratio = shares[labels == "G0"].mean() / shares[labels == "NT"].mean()
    assert factor[labels == "G0"] == pytest.approx(ratio, rel=0.03)
    assert "1 regime(s)" in notes[0]
    assert "'G0'" in notes[0]


def test_few_genes_and_few_counts_are_left_alone():
    counts, labels = _screen(MIN_GENES - 1)
    assert (composition([(0, counts)], list(labels), "NT", counts.sum(axis=1)).factor == 1).all()
    rare = (counts > 30).astype(float)
    assert (composition([(0, rare)], list(labels), "NT", rare.sum(axis=1)).factor == 1).all()


def test_knocking_out_a_strong_gene_moves_no_other(tmp_path):
    counts, labels = _screen()
    names = [f"G{number}" for number in range(counts.shape[1])]
    frame = pd.DataFrame(counts, columns=names).assign(gene=labels)
    frame.to_csv(tmp_path / "screen.csv", index=False)
    obs = pd.DataFrame({"gene": labels}, index=[str(row) for row in range(600)])
    cells = anndata.AnnData(csr_matrix(counts), obs=obs, var=pd.DataFrame(index=names))
    cells.write_h5ad(tmp_path / "screen.h5ad")
    tables = [ucad.read(tmp_path / f"screen.{kind}", target="gene", counts=True)
              for kind in ("csv", "h5ad")]  # fmt: skip
    np.testing.assert_allclose(tables[0].x, tables[1].x)
    x, error = tables[0].x[:, 2:], 0.5 / np.sqrt(200)
    assert abs(x[labels == "G0"].mean() - x[labels == "NT"].mean()) < error
    plain = np.log1p(counts / (counts.sum(axis=1) / np.median(counts.sum(axis=1)))[:, None])[:, 2:]
    assert plain[labels == "G0"].mean() - plain[labels == "NT"].mean() > 5 * error


def test_values_that_are_no_counts_do_no_harm():
    counts, labels = _screen()
    counts[0, 0], counts[250, 1], counts[3] = np.nan, np.inf, -5
    depth = np.nansum(counts, axis=1)
    assert np.isfinite(composition([(0, counts)], list(labels), "NT", depth).factor).all()
    everything = np.full(counts.shape, np.inf)
    factor = composition([(0, everything)], list(labels), "NT", everything.sum(axis=1)).factor
    assert (factor == 1).all()
