import pytest

from ucad.cli.settings import resolve


@pytest.mark.parametrize(
    "given",
    [{}, {"context": ["batch"]}, {"solver": "search"}, {"factor_mechanism": "linear"},
     {"noise": "auto"}],
)  # fmt: skip
def test_counts_are_readings_unless_something_else_is_said(given):
    settings = resolve(None, {"counts": True, **given})
    assert (settings.measurement, settings.noise) == ("counts", "auto")


@pytest.mark.parametrize(
    "given",
    [{"measurement": "none"}, {"noise": "counts"}, {"noise": "gaussian"}, {"solver": "gradient"},
     {"variable_mechanism": "mlp"}],
)  # fmt: skip
def test_what_is_said_of_counts_is_kept(given):
    settings = resolve(None, {"counts": True, **given})
    assert settings.measurement == "none"
    assert settings.noise == given.get("noise", "auto")


def test_values_that_are_not_said_to_be_counts_are_no_readings():
    assert resolve(None, {"context": ["batch"]}).measurement == "none"


def test_a_file_says_it_too_and_options_take_precedence(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text('counts = true\nnoise = "counts"\n')
    assert resolve(path, {}).measurement == "none"
    assert resolve(path, {"noise": "auto"}).measurement == "counts"
