import json

import numpy as np
import pytest

import ucad
from ucad.data import InterventionalData


@pytest.fixture
def screen(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["STAT1,JAK2,IRF1,GBP2,gene"]
    for row in range(120):
        label = ["control", "STAT1", "SMAD4", "JAK2;STAT1"][row % 4] if row else "IRF9"
        lines.append(",".join([*(f"{value:.4f}" for value in rng.normal(size=3)), "0", label]))
    path = tmp_path / "screen.csv"
    path.write_text("\n".join(lines))
    return path


def test_regimes_controls_and_unmeasured_targets_are_told(screen):
    read = ucad.read(screen, target="gene", control="control", drop_constant=True)
    summary = read.summary()
    assert (summary.n_samples, summary.n_variables) == (120, 3)
    assert summary.regimes[0].is_control
    by_name = {one.name: one for one in summary.regimes}
    assert by_name["JAK2;STAT1"].targets == ("STAT1", "JAK2")
    assert by_name["SMAD4"].is_unmeasured
    assert not by_name["STAT1"].is_unmeasured
    text = str(summary)
    assert "The controls are 29 samples labelled 'control'." in text
    assert "2 target(s) are not measured: SMAD4, IRF9" in text
    assert "1 regime(s) have fewer than 20 samples: IRF9" in text
    assert "1 variable(s) left out, as they never change: 'GBP2'." in text
    assert json.loads(json.dumps(summary.to_json()))["n_variables"] == 3


def test_a_forgotten_control_label_is_taken_and_told(screen):
    summary = ucad.read(screen, target="gene", drop_constant=True).summary()
    assert summary.regimes[0].is_control
    assert "'control' is taken for controls, as no label of controls was given." in str(summary)


def test_a_control_label_that_was_not_taken_is_pointed_at():
    x = np.random.default_rng(0).normal(size=(60, 3))
    summary = InterventionalData.from_targets(x, ["control", "X1", "X2"] * 20).summary()
    assert any("There are no controls" in warning for warning in summary.warnings)
    assert any("control may be the label" in warning for warning in summary.warnings)


def test_labels_none_of_which_names_a_variable_are_pointed_at():
    x = np.random.default_rng(0).normal(size=(60, 3))
    summary = InterventionalData.from_targets(x, ["", "7", "8"] * 20).summary()
    assert any("No label names a variable" in warning for warning in summary.warnings)
    summary = InterventionalData.from_targets(x, ["", "7", "X1"] * 20).summary()
    assert not any("No label names a variable" in warning for warning in summary.warnings)


def test_a_sound_screen_gives_no_warning():
    x = np.random.default_rng(0).normal(size=(60, 3))
    data = InterventionalData.from_targets(x, ["", "X1", "X2"] * 20)
    assert data.summary().warnings == ()


def test_duplicates_and_observational_data_are_warned_of():
    x = np.random.default_rng(0).normal(size=(60, 3))
    data = InterventionalData.from_arrays(x[:, [0, 1, 2, 1]])
    warnings = data.summary().warnings
    assert any("Nothing was acted on" in warning for warning in warnings)
    assert any("X2 = X4" in warning for warning in warnings)


def test_counts_are_told_and_what_to_do_about_them():
    counts = np.random.default_rng(0).poisson(3.0, size=(60, 12)).astype(float)
    whole = str(InterventionalData.from_targets(counts, ["", "X1", "X2"] * 20).summary())
    assert "The values are counts (whole numbers)" in whole
    assert "fit with --counts" in whole
    depth = np.linspace(0.5, 2.0, 60)[:, None]
    logs = InterventionalData.from_targets(np.log1p(counts / depth), ["", "X1", "X2"] * 20)
    assert "--measurement counts" in str(logs.summary())
    few = InterventionalData.from_targets(counts[:, :3], ["", "X1", "X2"] * 20)
    assert "counts" not in str(few.summary())
