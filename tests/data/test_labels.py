import numpy as np
import pandas as pd
import pytest

import ucad
from ucad.data.labels import read_labels


@pytest.mark.parametrize("label", ["NT", "non-targeting", "Control", "AAVS1", "NTC", "scramble"])
def test_labels_of_controls_are_taken_where_none_is_given(label):
    found = read_labels(["STAT1", label], {"STAT1"})
    assert (found.labels, found.control) == (["STAT1", label], label)
    assert f"'{label}' is taken for controls" in found.notes[0]


def test_a_given_label_of_controls_is_the_only_one():
    found = read_labels(["STAT1", "NT", "blank"], {"STAT1"}, "blank")
    assert found == (["STAT1", "NT", "blank"], "blank", ())


def test_a_variable_is_never_taken_for_controls():
    assert read_labels(["STAT1", "AAVS1"], {"STAT1", "AAVS1"}).control == ""


def test_several_labels_of_controls_become_the_most_common():
    labels = ["AAVS1", "NT_g1", "NT_g2", "STAT1"]
    found = read_labels(labels, {"STAT1"})
    assert (found.labels, found.control) == (["NT", "NT", "NT", "STAT1"], "NT")


def test_files_and_frames_are_read_alike(tmp_path):
    rng = np.random.default_rng(0)
    labels = ["NT_g1", "STAT1_g1", "STAT1_g2", "JAK2_g1"] * 30
    frame = pd.DataFrame(rng.normal(size=(120, 4)), columns=["STAT1", "JAK2", "IRF1", "GBP2"])
    frame["guide"] = labels
    frame.to_csv(tmp_path / "screen.csv", index=False)
    data = ucad.read(tmp_path / "screen.csv", target="guide")
    assert data.summary().regimes[0].is_control
    regimes = [(one.name, one.n_samples, one.is_control) for one in data.summary().regimes]
    assert regimes[1:] == [("STAT1", 60, False), ("JAK2", 30, False)]
    assert any("name guides" in note for note in data.notes)
    model = ucad.UCAD(1, solver="search").fit(frame, interventions="guide")
    assert model.graph_.n_factors == 1
