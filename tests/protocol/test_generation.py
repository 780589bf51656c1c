"""Fields of a draft in messages that do not have them, and ids that sort by time."""

from __future__ import annotations

import time
from uuid import UUID

import pytest
from a2a import types

from a2a_adapters.protocol.generation import drafted, numbered, set_drafted
from a2a_adapters.protocol.messages import new_uuid
from tests.support.preview import FIELDS, drafted_type

NUMBERS = [0, 1, 127, 128, 1 << 53, (1 << 63) - 1, -1, -(1 << 63)]

MILLISECONDS = 1_000_000


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize("number", NUMBERS)
def test_clients_of_the_draft_read_the_field(kind, number):
    message = getattr(types, kind)()
    set_drafted(message, 5)
    set_drafted(message, number)
    assert drafted(message) == number
    [name, _, _] = FIELDS[kind]
    assert getattr(drafted_type(kind).FromString(message.SerializeToString()), name) == number


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize("number", [number for number in NUMBERS if number])
def test_fields_of_clients_are_read(kind, number):
    [name, _, _] = FIELDS[kind]
    sent = drafted_type(kind)(**{name: number})
    assert drafted(getattr(types, kind).FromString(sent.SerializeToString())) == number
    assert drafted(sent) == number
    set_drafted(sent, 5)
    assert getattr(sent, name) == 5


@pytest.mark.parametrize("kind", [*FIELDS, "Message"])
def test_without_a_field_there_is_no_number(kind):
    assert drafted(getattr(types, kind)()) is None
    if kind in FIELDS:
        assert drafted(drafted_type(kind)()) is None


def test_a_field_of_another_type_is_none():
    text = bytes([7 << 3 | 2, 1]) + b"x"
    assert drafted(types.Task.FromString(text)) is None


def test_the_number_survives_copies():
    task = types.Task(id="t", history=[types.Message(message_id="m")])
    copy = numbered(task, 3)
    assert (drafted(task), drafted(copy)) == (None, 3)
    again = types.StreamResponse(task=numbered(copy, 4)).task
    assert (drafted(copy), drafted(again), again.history) == (3, 4, task.history)


def test_the_first_number_makes_a_configuration_present():
    request = types.SendMessageRequest()
    set_drafted(request.configuration, 2)
    assert request.HasField("configuration")
    assert drafted(request.configuration) == 2


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
