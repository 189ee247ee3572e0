import pytest
import torch

from tests.networks.models import mlp
from ucad.networks import RecordSettings, record

nnsight = pytest.importorskip("nnsight", reason="nnsight is not installed (ucad[interp])")


def test_a_model_wrapped_by_nnsight_is_recorded_as_itself():
    x, model = torch.randn(50, 5), mlp()
    settings = RecordSettings(per_clamp=5)
    wrapped = record(nnsight.NNsight(model), x, ["1", "3"], settings=settings)
    assert (
        wrapped.data.fingerprint == record(model, x, ["1", "3"], settings=settings).data.fingerprint
    )
