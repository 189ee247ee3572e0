"""No table, however wrong, ends in a traceback, a hang or a number that is not finite."""

import numpy as np
import pytest

import ucad
from tests.hostile.commands import cases, contents, run, run_soundly
from tests.hostile.tables import hostile_table
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError, UcadError


@pytest.mark.parametrize("seed", cases(32, 400))
def test_a_hostile_table_is_read_or_refused_in_our_words(tmp_path, monkeypatch, seed):
    path, options = hostile_table(seed, tmp_path)
    (tmp_path / "layers.csv").write_text("name,layer\na,0\nb,nan\nc,²\n")
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    said = run_soundly("fit", path, "--factors", "1", *options)
    assert said.code == 2, "without -o nothing is fitted"
    assert contents(tmp_path) == before
    try:
        data = ucad.read(path)
    except UcadError:
        return
    assert np.isfinite(data.x).all()
    assert data.x.dtype.kind == "f"
    assert len(data.regime_names) <= max(data.n_samples, 1) + 2
    if data.layer_of is not None:
        assert data.layer_of.dtype.kind == "i"


@pytest.mark.parametrize("path", ["/dev/zero", "/dev", "/proc/self/environ", "a\0b", "x" * 5000])
def test_what_is_no_file_is_refused(path):
    assert run_soundly("fit", path, "--factors", "1").code == 2


def test_all_problems_of_a_table_are_told_at_once(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("abc,b,c,gene\n1,,5,abc\n2,3,5,bac\n1,4,5,NTC\n")
    with pytest.raises(InvalidInputError) as told:
        ucad.read(path, target="gene", control="ntc")
    for part in ["3 problems", "'ntc'", "Did you mean 'NTC'", "1 value(s) are missing"]:
        assert part in str(told.value)


@pytest.mark.parametrize("swap", [("STAT1", "STTA1"), ("STAT1", "stat1"), ("HLA-A", "HLA A")])
def test_a_misspelt_target_is_refused_with_what_is_meant(swap):
    right, wrong = swap
    x = np.arange(12.0).reshape(4, 3)
    with pytest.raises(InvalidInputError, match=f"'{wrong}' \\('{right}'\\?\\)"):
        InterventionalData.from_targets(
            x, ["", wrong, "", ""], variable_names=(right, "STAT2", "HLA-B")
        )


@pytest.mark.parametrize("other", ["STAT3", "HLA-C", "STAT5A", "X21", "kat"])
def test_a_target_that_was_not_measured_is_said(caplog, other):
    x = np.arange(16.0).reshape(4, 4)
    names = ("STAT1", "HLA-A", "X12", "akt")
    data = InterventionalData.from_targets(x, ["", other, "", ""], variable_names=names)
    assert data.unmeasured_regimes == (other,)
    assert f"'{other}' (1 sample)" in caplog.text


@pytest.mark.parametrize("cells", ["True,False", "true,FALSE", "1,0"])
def test_truth_values_are_numbers_for_the_command_as_in_python(tmp_path, cells):
    first, second = cells.split(",")
    (tmp_path / "t.csv").write_text(f"a,b\n{first},1\n{second},2\n{first},5\n")
    np.testing.assert_array_equal(ucad.read(tmp_path / "t.csv").x[:, 0], [1, 0, 1])


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_the_index_that_pandas_writes_is_left_out_and_said(tmp_path, name, caplog):
    (tmp_path / "t.csv").write_text(f"{name},a,b\n0,1,2\n1,5,3\n2,0,1\n")
    assert ucad.read(tmp_path / "t.csv").variable_names == ("a", "b")
    assert "index of the rows" in caplog.text


def test_huge_numbers_of_regimes_cost_nothing():
    x = np.arange(8.0).reshape(4, 2)
    data = InterventionalData(
        x, np.zeros((4, 2), bool), np.array([0, 10**12, 0, 10**15]), ("a", "b")
    )
    assert data.regime_names == ("observational", "regime 1000000000000", "regime 1000000000000000")
    assert data.regime.tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize("layers", [[0, np.nan], [0.5, 1], ["a", "b"], [np.inf, 0], [1e300, 0]])
def test_layers_that_are_no_whole_numbers_are_refused(layers):
    with pytest.raises(InvalidInputError, match="whole numbers"):
        InterventionalData.from_arrays(np.arange(6.0).reshape(3, 2), layer_of=layers)


@pytest.mark.parametrize("option", ["--target", "--control", "--ignore"])
def test_an_option_that_says_nothing_about_a_file_is_refused(tmp_path, option):
    np.savez(tmp_path / "t.npz", x=np.random.default_rng(0).normal(size=(9, 3)))
    said = run("fit", tmp_path / "t.npz", "--factors", "1", option, "a")
    assert (said.code, "does not apply" in said.err) == (2, True)


def test_a_wide_table_is_read_in_no_time(tmp_path):
    n = 100_000
    lines = [
        ",".join(f"g{i}" for i in range(n)),
        *(",".join(f"{r * i % 7}" for i in range(n)) for r in (1, 2, 3)),
    ]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    assert ucad.read(tmp_path / "wide.csv", drop_constant=True).n_samples == 3
