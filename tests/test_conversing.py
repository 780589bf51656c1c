"""Adapters that keep conversations and runs that wait in the storage."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace

import pytest
from a2a.types import Message

from a2a_adapters import AgentRequest, Data, InputRequired, InvalidInputError, Limits, Text
from a2a_adapters.conversing import (
    APPROVAL_CHOICES,
    AskingRun,
    Remembered,
    StoredTurns,
    TurnKind,
    approval,
    json_turns,
    numbered,
    refused_call,
    replies,
)
from a2a_adapters.plugin import ANOTHER_TASK_WAITS, QUESTION_CLOSED, ProcessStates, ResumeError


@dataclass(frozen=True)
class Paused:
    task_id: str
    asked: list[str]
    answers: dict[str, object] = field(default_factory=dict)

    @property
    def waiting(self):
        return [each for each in self.asked if each not in self.answers]


def encode(known):
    return json.dumps(asdict(known)).encode()


def decode(body):
    stored = json.loads(body)
    paused = stored["paused"]
    return Remembered(stored["state"], Paused(**paused) if paused else None)


def question(paused, hint):
    return InputRequired(numbered(paused.waiting, hint), durable=True)


def answered(paused, parts):
    given = replies(parts, paused.asked, paused.waiting)
    if "" in given.values():
        raise InvalidInputError("Say something.")
    return replace(paused, answers={**paused.answers, **given})


KIND = TurnKind("test", encode, decode, question, answered)


class Durable(ProcessStates):
    is_durable = True


@pytest.fixture
def turns():
    made = StoredTurns(KIND)
    made.open(Durable(Limits()))
    return made


def request(text="hi", task="1", **fields):
    parts = [text if isinstance(text, Data) else Text(text)]
    return AgentRequest(parts=parts, message=Message(), task_id=task, context_id="c", **fields)


def reply(text, task="1"):
    return request(text, task, resuming=True)


async def ask(turns, *questions):
    turn = await turns.begin(request())
    await turn.pause(Paused("1", list(questions)))


async def test_completed_runs_are_the_state_of_the_next():
    turns = StoredTurns(KIND)
    turns.open(ProcessStates(Limits()))  # not durable: its own is kept
    turn = await turns.begin(request())
    assert turn.before == Remembered(None, None)
    await turn.complete("one")
    assert (await turns.begin(request())).before.state == "one"


async def test_a_run_continues_with_the_last_answer(turns):
    await ask(turns, "a?", "b?")
    again = await turns.begin(reply("yes"))
    assert again.prompt == "b?"
    turn = await turns.begin(reply("no"))
    assert turn.before.paused.answers == {"a?": "yes", "b?": "no"}
    assert await turns.begin(reply("yes")) is QUESTION_CLOSED  # although the run may fail
    await turn.complete("done")
    assert (await turns.begin(request())).before == Remembered("done", None)


async def test_answers_may_name_their_questions(turns):
    await ask(turns, "a?", "b?")
    turn = await turns.begin(reply(Data({"b?": 1, "a?": 2})))
    assert turn.before.paused.answers == {"a?": 2, "b?": 1}


@pytest.mark.parametrize(
    ("given", "fault"), [(" ", "Say something."), (Data({"a?": 1, "x": 1}), "The question x")]
)
async def test_unclear_replies_are_asked_again(turns, given, fault):
    await ask(turns, "a?")
    again = await turns.begin(reply(given))
    assert again.prompt.startswith(fault)
    assert again.prompt.endswith("a?")


async def test_another_task_waits_for_an_open_question(turns):
    await ask(turns, "a?")

    async def waits():
        return True

    async def is_gone():
        return False

    other = request(task="2", others_wait=waits)
    assert await turns.begin(other) is ANOTHER_TASK_WAITS
    assert await turns.begin(reply("yes", task="2")) is QUESTION_CLOSED
    turn = await turns.begin(request(task="2", others_wait=is_gone))
    assert turn.before == Remembered(None, None)


async def test_abandoned_questions_are_forgotten(turns):
    await ask(turns, "a?")
    await turns.abandon(request(task="2"))  # another task's question stays
    await turns.abandon(request())
    assert await turns.begin(reply("yes")) is QUESTION_CLOSED


async def test_of_two_turns_at_once_the_later_wins(turns):
    first, second = await turns.begin(request()), await turns.begin(request())
    await second.complete("second")
    with pytest.raises(ResumeError):
        await first.complete("first")


def test_questions_in_words():
    assert numbered(["Book?"], choices=APPROVAL_CHOICES) == f"Book?\n{APPROVAL_CHOICES}"
    asked = "1. a?\n2. b?\n\nA text reply answers question 1; the other will be asked next."
    assert numbered(["a?", "b?"], "Unclear.") == f"Unclear.\n\n{asked}"
    assert "the others will" in numbered(["a?", "b?", "c?"])


@pytest.mark.parametrize(
    ("given", "decided"),
    [
        (True, True),
        ("yes", True),
        ("no", False),
        ({"approved": False}, False),
        ("no, too cold", "no, too cold"),
        ("rather Oslo", "rather Oslo"),
    ],
)
def test_approvals(given, decided):
    assert approval(given) == decided


@pytest.mark.parametrize("given", [" ", None, 1, {}])
def test_replies_that_decide_nothing(given):
    with pytest.raises(InvalidInputError, match="decides nothing"):
        approval(given)


def test_the_model_hears_of_a_refusal():
    assert refused_call("too cold").endswith("says: too cold")


def asking(**answers):
    """Return a run that asks for a city and a day."""
    questions = {
        key: {"text": f"Which {key}?", "data": {"about": key}, "schema": {"type": "string"}}
        for key in ("city", "day")
    }
    return AskingRun("task", {"step": 1}, questions, answers)


def test_a_run_that_asks_has_a_form_for_what_is_open():
    asked = asking(city="Rome").question("Say more.")
    assert asked.durable
    assert asked.prompt == "Say more.\n\nWhich day?"
    assert [part.value for part in asked.parts] == [
        {"question_id": "day", "question": {"about": "day"}},
        {
            "response_schema": {
                "type": "object",
                "properties": {"day": {"type": "string", "title": "Which day?"}},
                "required": ["day"],
            }
        },
    ]


def test_replies_are_checked_and_answer_by_id_or_in_turn():
    def check(question, value):
        if value == "Oz":
            raise InvalidInputError("There is no such place.")

    run = asking().answered([Text("Rome")], check)
    assert run.answers == {"city": "Rome"}
    assert run.answered([Data({"day": 1})], check).answers == {"city": "Rome", "day": 1}
    for reply, complaint in ((Text("Oz"), "no such place"), (Text(" "), "empty")):
        with pytest.raises(InvalidInputError, match=complaint):
            asking().answered([reply], check)


def test_json_turns_are_restored():
    kind = json_turns("test", lambda question, value: None)
    for known in (Remembered({"messages": []}), Remembered(None, asking(city="Rome"))):
        assert kind.decode(kind.encode(known)) == known
