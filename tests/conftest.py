"""Settings shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ucad",
    deadline=None,
    max_examples=25,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ucad")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the paper and real data, which the project can do without."""
    default = Path(__file__).parents[2] / "shared"
    folder = Path(os.environ.get("UCAD_SHARED", default))
    if not folder.is_dir():
        pytest.skip(f"there is no folder with real data at {folder} (set UCAD_SHARED)")
    return folder
