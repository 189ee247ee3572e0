import numpy as np
import pandas as pd
import pytest

import ucad
from ucad.data import InterventionalData
from ucad.data.kinds import RegimeKind
from ucad.errors import InvalidInputError

X = np.random.default_rng(0).normal(size=(6, 3))
LABELS = ["", "", "a", "a", "b", "elsewhere"]


@pytest.fixture
def data():
    return InterventionalData.from_targets(X, LABELS, variable_names=("a", "b", "c"))


def test_one_kind_is_for_all_regimes_and_unmeasured_ones_stay_unmeasured(data):
    soft = data.with_kinds("soft")
    assert [soft.kind_of(r) for r in (1, 2, 3)] == ["soft", "soft", "unmeasured"]
    assert [data.kind_of(r) for r in (1, 2, 3)] == ["auto", "auto", "unmeasured"]
    assert soft.fingerprint != data.fingerprint


def test_only_targets_that_may_listen_are_taken_for_such(data):
    mixed = data.with_kinds({"a": "clamp", "b": "shift"})
    assert np.argwhere(mixed.may_listen).tolist() == [[4, 1]]
    assert np.argwhere(mixed.is_set).tolist() == [[2, 0], [3, 0]]
    assert mixed.select(np.arange(5)).kind_of(2) is RegimeKind.SHIFT


def test_unknown_kinds_and_regimes_are_refused(data):
    with pytest.raises(InvalidInputError, match="Did you mean 'shift'"):
        data.with_kinds("shfit")
    with pytest.raises(InvalidInputError, match="no regime 'z'"):
        data.with_kinds({"z": "soft"})


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_kinds_are_read_back(data, tmp_path, ending):
    told = data.with_kinds({"b": "soft"})
    ucad.write(told, tmp_path / f"data.{ending}")
    assert ucad.read(tmp_path / f"data.{ending}").kinds == told.kinds


def test_a_column_says_what_was_done_in_every_regime(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame = frame.assign(target=LABELS, how=["", "", "clamp", "clamp", "soft", ""])
    frame.to_csv(tmp_path / "data.csv", index=False)
    data = ucad.read(tmp_path / "data.csv", intervention="how")
    assert data.variable_names == ("a", "b", "c")
    assert [data.kind_of(r) for r in (1, 2)] == ["clamp", "soft"]
    assert ucad.read(tmp_path / "data.csv", intervention="shift", ignore=["how"]).kind_of(1) == (
        RegimeKind.SHIFT
    )
    frame.assign(how=["", "", "clamp", "soft", "soft", ""]).to_csv(
        tmp_path / "mixed.csv", index=False
    )
    with pytest.raises(InvalidInputError, match="must have one kind"):
        ucad.read(tmp_path / "mixed.csv", intervention="how")
    with pytest.raises(InvalidInputError, match="no column 'hwo'"):
        ucad.read(tmp_path / "data.csv", intervention="hwo")
