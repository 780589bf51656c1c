"""A short version of `make fuzz`."""

from __future__ import annotations

import pytest

from tests.fuzz.run import fuzz

pytestmark = pytest.mark.thorough

EXAMPLES = 1000


@pytest.mark.timeout(600)
def test_malformed_requests_do_no_harm():
    figures = fuzz(EXAMPLES)
    assert sum(figures["answers"].values()) == EXAMPLES
