import sys

import numpy as np
import pytest

import ucad
from ucad.data import InterventionalData
from ucad.errors import FormatError, InvalidInputError, MissingDependencyError

NAMES = ["data.csv", "data.tsv", "data.parquet", "data.npz", "data.h5ad", "folder"]


def measured(layered=True) -> InterventionalData:
    rng = np.random.default_rng(0)
    labels = np.resize(["", "b", "a;c", "elsewhere", "b"], 40).tolist()
    return InterventionalData.from_targets(
        rng.normal(size=(40, 3)) * [1e-9, 1.0, 1e9],
        labels,
        variable_names=("a", "b", "c with, comma"[:1]),
        layer_of=[0, 1, 2] if layered else None,
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("variant", ["raw", "layered", "standardised", "part"])
def test_round_trips_are_exact(tmp_path, name, variant):
    data = measured(layered=variant == "layered")
    if variant == "standardised":
        data = data.standardised()
    if variant == "part":
        data = data.split_regimes(1, 1).test
    ucad.write(data, tmp_path / name)
    back = ucad.read(tmp_path / name)
    assert back.fingerprint == data.fingerprint
    assert (back.scaling is None) == (data.scaling is None)
    if data.scaling is not None:
        assert all((a == b).all() for a, b in zip(back.scaling, data.scaling, strict=True))


def test_a_table_from_elsewhere_needs_only_a_target_column(tmp_path):
    path = tmp_path / "screen.csv"
    path.write_text("a,gene,b,batch\n1,ctrl,2,x\n2,a,3.5,y\n4,,5,x\n")
    data = ucad.read(path, target="gene", control="ctrl", ignore=["batch"])
    assert data.variable_names == ("a", "b")
    assert data.regime.tolist() == [0, 1, 0]
    assert data.is_intervened.tolist() == [[False, False], [True, False], [False, False]]


def test_a_table_without_a_target_column_is_observational(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("a,b\n1,2\n2,4\n5,3\n")
    assert not ucad.read(path).is_intervened.any()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no samples"),
        ("a,b\n", "no samples"),
        ("a,b\n1,2\n3\n", "as its first, 2: line 3 has 1"),
        ("a,a\n1,2\n3,4\n", "two columns of the same name"),
        ("a,b\n1,2\n3,red\n", "Column 'b' must hold numbers. Row 1 is 'red'"),
        ("a,b\n1,2\n3,\n", "1 value.* missing .* nan at row 1, column 'b'"),
        ("a,b\n1,2\n3,nan\n", "nan at row 1, column 'b'"),
        ("target\nx\ny\n", "no column that could be a variable"),
    ],
)
def test_a_broken_table_is_refused_with_the_place(tmp_path, text, message):
    path = tmp_path / "broken.csv"
    path.write_text(text)
    with pytest.raises((FormatError, InvalidInputError), match=message):
        ucad.read(path)


def test_wrong_names_get_a_suggestion(tmp_path):
    ucad.write(measured(), tmp_path / "screen.csv")
    with pytest.raises(FormatError, match=r"no file .* Did you mean 'screen.csv'"):
        ucad.read(tmp_path / "scren.csv")
    with pytest.raises(InvalidInputError, match="no column 'tarrget'.* Did you mean 'target'"):
        ucad.read(tmp_path / "screen.csv", target="tarrget")
    (tmp_path / "notes.doc").write_text("x")
    with pytest.raises(FormatError, match="must end in one of"):
        ucad.read(tmp_path / "notes.doc")
    with pytest.raises(FormatError, match="written as"):
        ucad.write(measured(), tmp_path / "x.doc")


@pytest.mark.parametrize("name", ["data.parquet", "data.npz", "data.h5ad", "data.csv"])
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(bytes(range(256)) * 3)
    with pytest.raises(FormatError, match="is not"):
        ucad.read(tmp_path / name)


def test_constant_columns_can_be_left_out_on_request(tmp_path):
    path = tmp_path / "flat.csv"
    path.write_text("a,b,c\n1,0,2\n2,0,1\n3,0,5\n")
    with pytest.raises(InvalidInputError, match="never change.*'b'"):
        ucad.read(path)
    assert ucad.read(path, drop_constant=True).variable_names == ("a", "c")
    assert ucad.read(path, min_mean=2.5).variable_names == ("c",)
    with pytest.raises(InvalidInputError, match="No variable is left"):
        ucad.read(path, min_mean=100.0)


@pytest.mark.parametrize(
    ("module", "name", "extra"), [("anndata", "x.h5ad", "bio"), ("pyarrow", "x.parquet", "parquet")]
)
def test_a_missing_package_is_named_with_how_to_install_it(
    tmp_path, monkeypatch, module, name, extra
):
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(MissingDependencyError, match=rf"'{module}'.*ucad\[{extra}\]"):
        ucad.read(tmp_path / name)


def test_both_sachs_files_load(shared):
    folder = ucad.read(shared / "data" / "sachs")
    assert (folder.n_samples, folder.n_variables, folder.n_regimes) == (5846, 11, 6)
    assert np.bincount(folder.regime).tolist() == [1755, 911, 723, 810, 799, 848]
    conditions = {"cd3_cd28": "", "icam2": "", "aktinhib": "akt", "g0076": "pkc", "psitect": "pip2"}
    conditions |= {"u0126": "mek", "ly": "pip3", "pma": "pkc", "b2camp": "pka"}
    table = ucad.read(shared / "data" / "sachs" / "sachs_9_conditions.txt", indicators=conditions)
    assert (table.n_samples, table.n_variables) == (7466, 11)
    assert table.regime_names[1:] == tuple(name for name, target in conditions.items() if target)
    assert table.targets.sum() == 7


def test_the_papalexi_file_loads_with_its_unmeasured_targets(shared):
    data = ucad.read(
        shared / "data" / "papalexi2021.h5ad", target="target", control="control", min_mean=1.0
    )
    assert data.n_samples == 20_729
    assert data.n_variables == 46
    assert data.n_regimes == 26
    whole = ucad.read(shared / "data" / "papalexi2021.h5ad", control="control", log_counts=True)
    measured_targets = set(whole.regime_names[1:]) - set(whole.unmeasured_regimes)
    assert measured_targets == {
        "CMTM6", "IFNGR2", "JAK2", "NFKBIA", "STAT1", "STAT2", "STAT3", "TNFRSF14", "UBE2L6",
    }  # fmt: skip
