import json
from dataclasses import fields

import pytest
import torch
from hypothesis import given
from safetensors.torch import load_file, save_file

from tests.strategies import factor_scms
from ucad.errors import FormatError, InvalidInputError
from ucad.scm import Bijection, load_scm, save_scm
from ucad.simulate import paper_problem


@given(factor_scms())
def test_a_model_is_read_back_exactly(tmp_path_factory, scm):
    folder = tmp_path_factory.mktemp("model")
    save_scm(scm, folder)
    back = load_scm(folder)
    assert back.graph == scm.graph
    for role in ("factor_mechanism", "variable_mechanism"):
        for field in fields(getattr(scm, role)):
            old, new = (getattr(getattr(one, role), field.name) for one in (scm, back))
            assert new.equal(old)
    assert back.noise_scale.equal(scm.noise_scale)
    x = scm.sample(10).x
    torch.testing.assert_close(back.log_likelihood(x), scm.log_likelihood(x))


@pytest.fixture
def folder(tmp_path):
    save_scm(paper_problem("c", "16-3", seed=0, n_samples=200).scm, tmp_path / "model")
    return tmp_path / "model"


def edit(folder, **changes):
    description = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(description | changes))


def test_a_newer_version_is_refused(folder):
    edit(folder, schema_version=99)
    with pytest.raises(FormatError, match="newer ucad .schema 99; this one reads up to 1"):
        load_scm(folder)


@pytest.mark.parametrize("keep", [0, 5, 200, -1])
def test_a_truncated_file_is_refused(folder, keep):
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:keep])
    with pytest.raises(FormatError, match="truncated"):
        load_scm(folder)


def test_a_missing_tensor_is_named(folder):
    tensors = load_file(folder / "model.safetensors")
    del tensors["variable_mechanism.bias"]
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(FormatError, match=r"lack the tensor 'variable_mechanism.bias'"):
        load_scm(folder)


def test_tensors_that_do_not_fit_are_refused(folder):
    tensors = load_file(folder / "model.safetensors")
    save_file(tensors | {"noise_scale": torch.ones(3)}, folder / "model.safetensors")
    with pytest.raises(FormatError, match="no consistent model"):
        load_scm(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema_version": None}, "'schema_version' must be a whole number"),
        ({"factor_mechanism": "pickle"}, "one of linear, mlp, spline. Got 'pickle'"),
        ({"factor_names": ["a"]}, "no consistent model"),
    ],
)
def test_a_wrong_description_is_refused(folder, changes, message):
    edit(folder, **changes)
    with pytest.raises(FormatError, match=message):
        load_scm(folder)


def test_what_is_no_model_is_refused(folder, tmp_path):
    with pytest.raises(FormatError, match="holds no model"):
        load_scm(tmp_path)
    (folder / "model.json").write_text("{")
    with pytest.raises(FormatError, match="damaged, or not JSON"):
        load_scm(folder)
    (folder / "model.json").write_text("[]")
    with pytest.raises(FormatError, match="must hold a JSON object"):
        load_scm(folder)


def test_only_a_model_without_interventions_and_bijections_is_saved(tmp_path):
    scm = paper_problem("b", "16-3", seed=0, n_samples=200).scm
    with pytest.raises(InvalidInputError, match="apply interventions after loading"):
        save_scm(scm.do({"X1": 0.0}), tmp_path)
    with pytest.raises(InvalidInputError, match="cannot be saved"):
        save_scm(scm.reparametrised([Bijection(torch.exp, torch.log)] * 3), tmp_path)
