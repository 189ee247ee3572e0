"""The fast reader of text tables gives what the patient one gives, or leaves it to that one."""

import sys

import numpy as np
import pytest

import ucad
from tests.hostile.commands import cases
from tests.hostile.spreadsheets import spreadsheet
from tests.hostile.tables import CELLS, HEADERS, LABELS
from ucad.data.formats import plain_text
from ucad.errors import FormatError, UcadError


@pytest.fixture
def any_size(monkeypatch):
    """Tables of any size are large, and blocks hold a few lines."""

    def change(*, fast: bool) -> None:
        monkeypatch.setattr(plain_text, "MIN_BYTES", 0 if fast else 2**40)
        monkeypatch.setattr(plain_text, "BLOCK_BYTES", 40)

    return change


def outcome(path, **options):
    try:
        data = ucad.read(path, **options)
    except UcadError as error:
        return type(error).__name__, str(error)
    regimes = [data.regime_names[r] for r in data.regime]
    return data.variable_names, data.x.tobytes(), regimes, data.targets.tolist(), data.notes


def both(path, any_size, **options):
    any_size(fast=False)
    patient = outcome(path, **options)
    any_size(fast=True)
    return patient, outcome(path, **options)


def random_table(seed, folder):
    rng = np.random.default_rng(seed)
    header = list(HEADERS[int(rng.integers(len(HEADERS)))])
    rows = [[f"{v:.4g}" for v in row] for row in rng.normal(size=(int(rng.integers(0, 12)), 3))]
    for row in rows:
        if header[-1] in ("target", "gene"):
            row[-1] = str(rng.choice(LABELS))
    for _ in range(int(rng.integers(0, 3))):
        if rows:
            rows[int(rng.integers(len(rows)))][int(rng.integers(3))] = str(rng.choice(CELLS))
    separator = str(rng.choice([",", ";", "\t"]))
    lines = [separator.join(f'"{c}"' if rng.random() < 0.1 else c for c in r) for r in rows]
    if rng.random() < 0.2:
        lines.insert(
            int(rng.integers(len(lines) + 1)), str(rng.choice(["", "1", "a,b", '"', ",,"]))
        )
    text = str(rng.choice(["\n", "\r\n"])).join([separator.join(header), *lines])
    path = folder / "table.csv"
    path.write_bytes((text + "\n" * int(rng.integers(3))).encode())
    return path


@pytest.mark.parametrize("seed", cases(150, 3000))
def test_a_random_table_is_read_or_refused_as_the_patient_reader_does(tmp_path, any_size, seed):
    path = random_table(seed, tmp_path)
    target = {"target": "gene"} if "gene" in path.read_text().split("\n")[0] else {}
    patient, fast = both(path, any_size, missing=["error", "mean"][seed % 2], **target)
    assert fast == patient


@pytest.mark.parametrize("seed", cases(20, 200))
def test_a_spreadsheet_is_read_as_the_patient_reader_does(tmp_path, any_size, seed):
    path, names, x = spreadsheet(seed, tmp_path)
    patient, fast = both(path, any_size)
    assert fast == patient
    assert fast[0] == names
    assert fast[1] == x.tobytes()


def test_a_table_of_our_own_comes_back_exactly(tmp_path, any_size):
    problem = ucad.paper_problem("a", "16-3", seed=0, n_samples=200)
    ucad.write(problem.train, tmp_path / "t.csv")
    any_size(fast=True)
    assert ucad.read(tmp_path / "t.csv").fingerprint == problem.train.fingerprint


def test_a_plain_table_is_really_read_the_fast_way(tmp_path, any_size, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("cell,a,b,gene\nc1,1,2.5,\nc2,NA,4,a\nc3,1e3, 4 ,b\nc4,true,-1,\n")
    any_size(fast=True)
    monkeypatch.setattr("ucad.data.formats.tables.rows_of", None)
    data = ucad.read(path, target="gene", missing="mean")
    assert data.x.tolist() == [[1, 2.5], [334, 4], [1000, 4], [1, -1]]
    assert data.regime_names == ("observational", "a", "b")
    assert "index of the rows" in data.notes[0]
    assert not data.x.flags.writeable


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n3\n5,6\n", "a,b\n1,2\n3,red\n5,6\n", "a,a\n1,2\n3,4\n"]
)
def test_what_is_wrong_with_a_table_too_large_for_the_patient_reader_is_said(
    tmp_path, any_size, monkeypatch, text
):
    path = tmp_path / "t.csv"
    path.write_text(text)
    any_size(fast=True)
    monkeypatch.setattr(plain_text, "MAX_TEXT_BYTES", 1)
    with pytest.raises(FormatError, match="row|same name"):
        ucad.read(path)


def test_without_pyarrow_the_patient_reader_reads(tmp_path, any_size, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,1\n5,6\n")
    any_size(fast=True)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    assert ucad.read(path).x.shape == (3, 2)
