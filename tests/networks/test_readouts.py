import pickle

import numpy as np
import pytest
import torch

import ucad
from tests.networks.models import Transformer, exact_inputs, exact_network, mlp
from ucad.errors import InvalidInputError
from ucad.networks import RecordSettings, readouts, record

FEW = RecordSettings(per_clamp=3)
X = torch.randn(80, 5, generator=torch.Generator().manual_seed(0))


def test_the_rest_of_the_network_gives_its_output_and_gradients():
    model = mlp()
    recording = record(model, X, ["1", "3"], settings=FEW)
    (read,) = readouts(model, recording, X)
    with torch.no_grad():
        hidden = model[:4](X)[:, list(recording.sites[1].units)]
        torch.testing.assert_close(read(hidden), model(X))
    hidden.requires_grad_()
    assert torch.autograd.grad(read(hidden).sum(), hidden)[0].abs().sum() > 0
    again = pickle.loads(pickle.dumps(read))
    torch.testing.assert_close(again(hidden.detach()), model(X))
    with pytest.raises(InvalidInputError, match="units. Got 1: fit the data"):
        read(hidden[:, :1])


def test_a_site_that_does_not_determine_the_output_is_refused():
    model, tokens = Transformer(), torch.randint(10, (60, 4))
    recording = record(model, tokens, ["blocks.0@0", "blocks.1@0"], settings=FEW)
    with pytest.raises(InvalidInputError, match="something else reaches it"):
        readouts(model, recording, tokens)
    last = record(model, tokens, ["blocks.0@-1", "blocks.1@-1"], settings=FEW)
    assert len(readouts(model, last, tokens)) == 1


def test_the_estimator_takes_readouts_and_does_not_save_them(tmp_path):
    x, model = exact_inputs(200), exact_network()
    recording = record(model, x, ["0", "1"], settings=FEW)
    rest = readouts(model, recording, x)
    fitted = ucad.UCAD(n_factors=2, solver="bottleneck", readouts=rest).fit(recording.data)
    plain = ucad.UCAD(n_factors=2, solver="bottleneck").fit(recording.data)
    a, b = (one.transform(recording.data.x) for one in (fitted, plain))
    assert np.abs(a - b).max() > 1e-6
    fitted.save(tmp_path / "run")
    assert ucad.load(tmp_path / "run").readouts is None
    with pytest.raises(InvalidInputError, match="takes no readouts"):
        ucad.UCAD(n_factors=2, solver="search", readouts=rest).fit(recording.data)
