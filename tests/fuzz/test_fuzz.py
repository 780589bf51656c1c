"""A short run of what `make fuzz` does at length."""

from __future__ import annotations

import pytest

from tests.fuzz.run import fuzz

EXAMPLES = 1000


@pytest.mark.timeout(600)
def test_nothing_that_is_sent_harms_the_server():
    figures = fuzz(EXAMPLES)
    assert sum(figures["answers"].values()) == EXAMPLES
