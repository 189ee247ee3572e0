"""Data on which every move has something to find."""

import pytest

from tests.solvers.search.two_factors import measured, mixed


@pytest.fixture(scope="session")
def data():
    return measured(mixed, n_samples=500)
