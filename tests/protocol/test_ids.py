"""Ids of tasks and contexts sort by time, for the indexes of databases."""

from __future__ import annotations

import time
from uuid import UUID

from a2a_adapters.protocol.messages import new_uuid

MILLISECONDS = 1_000_000


def test_an_id_is_a_uuid_that_begins_with_the_time() -> None:
    before = time.time_ns() // MILLISECONDS
    made = new_uuid()
    after = time.time_ns() // MILLISECONDS
    parsed = UUID(made)
    assert str(parsed) == made
    assert parsed.version == 7
    assert parsed.variant == "specified in RFC 4122"
    assert before <= parsed.int >> 80 <= after


def test_ids_of_the_same_time_differ() -> None:
    many = 100_000
    assert len({new_uuid() for _ in range(many)}) == many
