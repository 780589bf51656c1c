"""Adapters that keep conversations and runs that wait in the storage."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field, replace

import pytest
from a2a.types import Message

from a2a_adapters import (
    AgentRequest,
    Data,
    InputRequired,
    InvalidInputError,
    Limits,
    Text,
    TextDelta,
)
from a2a_adapters.conversing import (
    APPROVAL_CHOICES,
    AskingRun,
    ConversingAdapter,
    Remembered,
    TurnKind,
    approval,
    json_turns,
    numbered,
    refused_call,
    replies,
)
from a2a_adapters.plugin import (
    ANOTHER_TASK_WAITS,
    QUESTION_CLOSED,
    AgentDescription,
    ProcessStates,
    ResumeError,
)


@dataclass(frozen=True)
class Paused:
    task_id: str
    asked: list[str]
    answers: dict[str, object] = field(default_factory=dict)

    @property
    def waiting(self):
        return [each for each in self.asked if each not in self.answers]


def question(paused, hint):
    return InputRequired(numbered(paused.waiting, hint), durable=True)


def answered(paused, parts):
    given = replies(parts, paused.asked, paused.waiting)
    if "" in given.values():
        raise InvalidInputError("Say something.")
    return replace(paused, answers={**paused.answers, **given})


KIND = TurnKind.of_json("test", Paused, question, answered)


class Framework(ConversingAdapter):
    """Hands the turn of each run to the test, in place of an answer."""

    def describe(self):
        return AgentDescription(name="Framework", description="Remembers.")

    def prompt(self, request):
        return request.text

    async def run(self, request, turn, prompt):
        yield turn


async def begin(adapter, request):
    """Return the turn of a request, or the answer if there is nothing to run."""
    async with aclosing(adapter.stream(request)) as events:
        return await anext(events)


class Durable(ProcessStates):
    is_durable = True


@pytest.fixture
async def turns():
    made = Framework(KIND)
    await made.open(Durable(Limits()))
    return made


def request(text="hi", task="1", **fields):
    parts = [text if isinstance(text, Data) else Text(text)]
    return AgentRequest(parts=parts, message=Message(), task_id=task, context_id="c", **fields)


def reply(text, task="1"):
    return request(text, task, resuming=True)


async def ask(turns, *questions):
    turn = await begin(turns, request())
    await turn.pause(Paused("1", list(questions)))


async def test_completed_runs_are_the_state_of_the_next():
    turns = Framework(KIND)
    await turns.open(ProcessStates(Limits()))  # not durable: its own is kept
    turn = await begin(turns, request())
    assert turn.before == Remembered(None, None)
    await turn.complete("one")
    assert (await begin(turns, request())).before.state == "one"


async def test_a_run_continues_with_the_last_answer(turns):
    await ask(turns, "a?", "b?")
    again = await begin(turns, reply("yes"))
    assert again.prompt == "b?"
    turn = await begin(turns, reply("no"))
    assert turn.before.paused.answers == {"a?": "yes", "b?": "no"}
    assert await begin(turns, reply("yes")) is QUESTION_CLOSED  # although the run may fail
    await turn.complete("done")
    assert (await begin(turns, request())).before == Remembered("done", None)


async def test_answers_may_name_their_questions(turns):
    await ask(turns, "a?", "b?")
    turn = await begin(turns, reply(Data({"b?": 1, "a?": 2})))
    assert turn.before.paused.answers == {"a?": 2, "b?": 1}


@pytest.mark.parametrize(
    ("given", "fault"), [(" ", "Say something."), (Data({"a?": 1, "x": 1}), "The question x")]
)
async def test_unclear_replies_are_asked_again(turns, given, fault):
    await ask(turns, "a?")
    again = await begin(turns, reply(given))
    assert again.prompt.startswith(fault)
    assert again.prompt.endswith("a?")


async def test_another_task_waits_for_an_open_question(turns):
    await ask(turns, "a?")

    async def waits():
        return True

    async def is_gone():
        return False

    other = request(task="2", others_wait=waits)
    assert await begin(turns, other) is ANOTHER_TASK_WAITS
    assert await begin(turns, reply("yes", task="2")) is QUESTION_CLOSED
    turn = await begin(turns, request(task="2", others_wait=is_gone))
    assert turn.before == Remembered(None, None)


async def test_abandoned_questions_are_forgotten(turns):
    await ask(turns, "a?")
    await turns.abandon(request(task="2"))  # another task's question stays
    await turns.abandon(request())
    assert await begin(turns, reply("yes")) is QUESTION_CLOSED


async def test_of_two_turns_at_once_the_later_wins(turns):
    first, second = await begin(turns, request()), await begin(turns, request())
    await second.complete("second")
    with pytest.raises(ResumeError):
        await first.complete("first")


async def test_empty_messages_are_refused():
    with pytest.raises(InvalidInputError, match="the message is empty"):
        Framework(KIND).stream(request(" "))


class Talking(Framework):
    """Says what it got, asks, and says the reply; notes that it was closed."""

    closed = 0

    async def run(self, request, turn, prompt):
        try:
            yield TextDelta(prompt)
            answer = yield InputRequired("Where to?")
            yield TextDelta(answer.text)
        finally:
            self.closed += 1


async def test_replies_to_questions_of_a_run_that_goes_on_reach_it():
    adapter = Talking(KIND)
    events = adapter.stream(request("Book."))
    assert await anext(events) == TextDelta("Book.")
    assert (await anext(events)).prompt == "Where to?"
    assert await events.asend(reply("Rome")) == TextDelta("Rome")
    assert [each async for each in events] == []
    assert adapter.closed == 1


async def test_closing_a_stream_closes_its_run():
    adapter = Talking(KIND)
    await begin(adapter, request("Book."))
    assert adapter.closed == 1


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
    kind = json_turns("test")
    for known in (Remembered({"messages": []}), Remembered(None, asking(city="Rome"))):
        assert kind.decode(kind.encode(known)) == known
