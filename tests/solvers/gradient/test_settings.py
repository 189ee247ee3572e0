"""Settings are checked by name."""

import pytest

from ucad.errors import InvalidInputError
from ucad.solvers.gradient.settings import TrainingSettings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("penalty_growths", (0.9,)),
        ("learning_rates", ()),
        ("initial_penalty", 0.0),
        ("confidence", 1.0),
        ("warm_up_epochs", (-1,)),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(name, value):
    with pytest.raises(InvalidInputError, match=f"'{name}' setting of TrainingSettings"):
        TrainingSettings(**{name: value})
