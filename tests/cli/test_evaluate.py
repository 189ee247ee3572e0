import json

import numpy as np
import pytest

from ucad.cli.evaluate import evaluate
from ucad.errors import FormatError, InvalidInputError, UcadError

Z = np.random.default_rng(0).standard_normal((60, 2))


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "z.npy", Z)
    np.savetxt(tmp_path / "headed.csv", Z[:, ::-1], delimiter=",", header="a,b", comments="")
    np.savetxt(tmp_path / "bare.csv", Z, delimiter=",")
    return tmp_path


@pytest.mark.parametrize("name", ["z.npy", "headed.csv", "bare.csv"])
def test_factors_in_files_are_compared_and_printed(folder, capsys, name):
    evaluate(learned=folder / name, true=folder / "z.npy", metrics=("mcc_pearson",))
    heading, line, *_ = capsys.readouterr().out.splitlines()
    assert heading.startswith("metric")
    assert line.split()[:2] == ["mcc_pearson", "1.0000"]


def test_json_can_be_read_back(folder, capsys):
    evaluate(
        learned=folder / "z.npy",
        true=folder / "z.npy",
        metrics=("r2_linear", "mcc_spearman"),
        seed=3,
        json=True,
    )
    read = json.loads(capsys.readouterr().out)
    assert [score["metric"] for score in read["scores"]] == ["r2_linear", "mcc_spearman"]
    assert read["settings"]["seed"] == 3


def test_a_run_without_a_truth_is_told_what_it_needs(folder):
    with pytest.raises(UcadError, match="ucad evaluate run/ --truth data/"):
        evaluate(folder)


def test_one_file_alone_is_refused(folder):
    with pytest.raises(InvalidInputError, match="Both the learned and the true"):
        evaluate(learned=folder / "z.npy")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.npy", None),
        ("missing.csv", None),
        ("text.csv", b"a,b\nc,d\n"),
        ("bytes.csv", b"\xff\xfe\x00"),
        ("empty.npy", b""),
        ("broken.npy", b"not an array"),
        ("z.parquet", b""),
    ],
)
def test_files_that_hold_no_array_are_refused_by_name(folder, name, content):
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(FormatError, match=name):
        evaluate(learned=folder / name, true=folder / "z.npy")


def test_pickles_are_not_opened(folder):
    np.save(folder / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError, match=r"objects\.npy"):
        evaluate(learned=folder / "objects.npy", true=folder / "z.npy")
