"""Two readers of one table read the same: in blocks or at once, in parts or whole."""

import numpy as np
import pytest

import ucad
from tests.hostile.commands import cases
from tests.hostile.frames import odd_frame, write_frame
from tests.hostile.tables import _text_table
from ucad.data.formats import plain_text
from ucad.errors import UcadError


def outcome(path, **options):
    """What reading a table gives, or how it is refused."""
    try:
        data = ucad.read(path, **options)
    except UcadError as error:
        return type(error).__name__, str(error)
    return data.variable_names, data.regime_names, data.fingerprint


@pytest.mark.parametrize("seed", cases(20, 400))
def test_a_text_table_in_blocks_is_read_as_it_is_at_once(tmp_path, monkeypatch, seed):
    rng = np.random.default_rng(seed)
    if seed % 2:
        path = _text_table(rng, tmp_path)
    else:
        path = tmp_path / ["t.csv", "t.tsv"][seed // 2 % 2]
        write_frame(odd_frame(rng), path, rng)
    options = [{}, {"target": "gene"}, {"missing": "mean"}, {"ignore": ["batch", "kind"]}][seed % 4]
    patient = outcome(path, **options)
    monkeypatch.setattr(plain_text, "MIN_BYTES", 0)
    monkeypatch.setattr(plain_text, "BLOCK_BYTES", int(rng.choice([1, 40, 200])))
    assert outcome(path, **options) == patient


LABELS = ["", "a", "b", "a;b", "b;a", " a", "NT", "gone", "b ;a"]


@pytest.mark.filterwarnings("ignore:Writing zarr v2")
@pytest.mark.parametrize("ending", ["h5ad", "zarr", "npy"])
@pytest.mark.parametrize("seed", cases(1, 12))
def test_samples_that_were_left_out_belong_to_the_regimes_they_belong_to(tmp_path, ending, seed):
    import pandas as pd

    rng = np.random.default_rng(seed)
    n = 2400
    labels = rng.choice(LABELS, size=n, p=[0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05])
    x = rng.normal(size=(n, 3))
    batch = rng.choice(["x", "y"], size=n)
    path = tmp_path / f"t.{ending}"
    obs = pd.DataFrame({"gene": labels, "batch": batch, "depth": np.abs(x[:, 0])})
    if ending == "npy":
        np.save(path, x)
        obs.to_csv(tmp_path / "t.obs.csv", index=False)
    else:
        import anndata

        obs.index = obs.index.astype(str)
        made = anndata.AnnData(X=x, obs=obs, var=pd.DataFrame(index=["a", "b", "c"]))
        made.write_h5ad(path) if ending == "h5ad" else made.write_zarr(path)
    context = [(), ("batch",), ("batch", "depth")][seed % 3]
    options = {"target": "gene", "control": "NT", "context": context}
    whole = ucad.read(path, **options)
    part = ucad.read(path, **options, memory=1e-9)
    assert part.rest is not None
    names = dict(enumerate(part.regime_names))
    taken = dict(zip(part.rest.taken.tolist(), part.regime.tolist(), strict=True))
    for rows, data in part.rest.parts():
        taken |= dict(zip(rows.tolist(), data.regime.tolist(), strict=True))
        np.testing.assert_array_equal(data.x, whole.x[rows])
        np.testing.assert_array_equal(data.is_intervened, whole.is_intervened[rows])
        if context:
            np.testing.assert_array_equal(data.context.values, whole.context.values[rows])
    assert [names[taken[row]] for row in range(n)] == [
        whole.regime_names[regime] for regime in whole.regime
    ]
