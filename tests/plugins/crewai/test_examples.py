"""The examples run offline, and fail when what they show is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.warm import warm

EXAMPLES = Path(__file__).parents[3] / "examples"


EXAMPLE_NAMES = [
    "crew_served.py",
    "crew_calls_remote.py",
    "crew_in_between.py",
    "three_frameworks.py",
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", EXAMPLE_NAMES)
def test_an_example(name):
    subprocess.run(warm(str(EXAMPLES / name)), check=True, timeout=250)
