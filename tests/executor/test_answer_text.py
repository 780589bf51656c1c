"""Accepted, corrected, withdrawn and held text: what clients read and what is stored."""

from __future__ import annotations

import asyncio
import json
import random
import re
from contextlib import asynccontextmanager

import httpx
import pytest
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from starlette.applications import Starlette

from a2a_adapters import (
    BlockedError,
    Data,
    InputRequired,
    Output,
    Rejected,
    ServerOptions,
    Text,
    TextDelta,
    as_executor,
    build_app,
)
from a2a_adapters.plugin import HELD_TEXT_EXTENSION, Adapter, AgentDescription, AnswerText
from a2a_adapters.protocol.card import build_card
from a2a_adapters.testing import AnswerContract, connect, running, send, stream, user_message
from tests.support.servers.cards import card_route


class Scripted(Adapter):
    def __init__(self, script, *, holds_text=False, uses_history=False):
        self.script = script
        self.holds_text = holds_text
        self.uses_history = uses_history

    def describe(self):
        return AgentDescription(name="scripted", description="Does what the test says.")

    def stream(self, request):
        return self.script(request)


@pytest.fixture(params=["memory", "sqlite", "sdk"])
def serving(request, tmp_path):
    """Serve an adapter in memory, on SQLite and on a2a-sdk's own server."""

    @asynccontextmanager
    async def served(adapter, **options):
        if request.param == "sdk":
            app = _sdk_server(adapter, ServerOptions(**options))
        else:
            url = f"sqlite:///{tmp_path}/tasks.db" if request.param == "sqlite" else "memory:"
            app = build_app(adapter, options=ServerOptions(storage=url, **options))
        async with running(app) as url, connect(url) as client:
            yield client

    return served


def _sdk_server(adapter, options):
    executor = as_executor(adapter, options)
    card = build_card(adapter.describe(), "http://agent.test/")
    handler = DefaultRequestHandler(executor, InMemoryTaskStore(), card)
    own_card = card_route(lambda url: build_card(adapter.describe(), url))
    return Starlette(routes=[own_card, *create_jsonrpc_routes(handler, "/")])


def folded(events, artifacts=None):
    """Return the texts of the artifacts after some events, as a client folds them."""
    found = dict(artifacts or {})
    for event in events:
        if not event.HasField("artifact_update"):
            continue
        update = event.artifact_update
        text = "".join(part.text for part in update.artifact.parts)
        key = update.artifact.artifact_id
        found[key] = found.get(key, "") + text if update.append else text
    return found


def texts(task):
    return ["".join(part.text for part in artifact.parts) for artifact in task.artifacts]


def sent_text(events):
    return [
        (update.append, "".join(part.text for part in update.artifact.parts))
        for update in (each.artifact_update for each in events if each.HasField("artifact_update"))
        if not update.last_chunk
    ]


async def ask(client, text="go", task_id=""):
    events = await stream(client, user_message(text, task_id=task_id))
    [status] = [each.status_update.status for each in events[-1:]]
    task_id = events[-1].status_update.task_id
    return events, status, await client.get_task(GetTaskRequest(id=task_id))


@pytest.mark.parametrize(
    ("said", "accepted", "sent", "answer"),
    [
        (["one ", "two"], ["one two"], [(False, "one "), (True, "two")], "one two"),
        (["one "], ["one two"], [(False, "one "), (True, "two")], "one two"),
        ([], ["one two"], [(False, "one two")], "one two"),
        (["raw"], ["checked"], [(False, "raw"), (False, "checked")], "checked"),
        (["raw"], ["not raw"], [(False, "raw"), (False, "not raw")], "not raw"),
        (
            ["half an "],
            ["", "an answer"],
            [(False, "half an "), (False, ""), (True, "an answer")],
            "an answer",
        ),
    ],
)
async def test_only_what_differs_is_sent(serving, said, accepted, sent, answer):
    async def script(request):
        for chunk in said:
            yield TextDelta(chunk)
        for text in accepted:
            yield AnswerText(text)

    async with serving(Scripted(script)) as client:
        events, status, task = await ask(client)
    assert status.state == TaskState.TASK_STATE_COMPLETED
    assert sent_text(events) == sent
    assert list(folded(events).values()) == texts(task) == [answer]


async def test_text_goes_on_after_a_correction(serving):
    async def script(request):
        yield TextDelta("wrong")
        yield AnswerText("right")
        yield Output((Text("beside"),), name="other")
        yield TextDelta(", and ")
        yield TextDelta("more")

    async with serving(Scripted(script)) as client:
        events, _, task = await ask(client)
    assert list(folded(events).values()) == texts(task) == ["right", "beside", ", and more"]


@pytest.mark.parametrize("hold_text", ["never", "guarded", "always"])
@pytest.mark.parametrize(
    ("accepted", "answer"),
    [
        ("one\n\ntwo", ["one", "a map", "two"]),
        ("one\n\ntwo three", ["one", "a map", "two three"]),
        ("other\n\ntwo", ["other", "a map", "two"]),
        ("one\n\nother", ["one", "a map", "other"]),
        ("one and\n\ntwo", ["one", "a map", " and\n\ntwo"]),
        ("", ["", "a map", ""]),
    ],
)
async def test_texts_and_outputs_are_in_order(serving, hold_text, accepted, answer):
    async def script(request):
        yield TextDelta("one")
        yield Output((Text("a map"),))
        yield TextDelta("\n\n")
        yield TextDelta("two")
        yield AnswerText(accepted)

    async with serving(Scripted(script, holds_text=True), hold_text=hold_text) as client:
        events, _, task = await ask(client)
    assert list(folded(events).values()) == texts(task)
    if hold_text == "never" or accepted.startswith("one"):
        assert texts(task) == answer
    else:  # the text was replaced before any was sent
        assert texts(task) == [*filter(None, [accepted]), "a map"]


async def test_the_output_of_a_blocked_run_that_waited_for_its_text_is_not_sent(serving):
    async def script(request):
        yield TextDelta("a bomb")
        yield Output((Text("a plan"),))
        raise BlockedError("No.")

    async with serving(Scripted(script, holds_text=True)) as client:
        events, status, task = await ask(client)
    assert status.state == TaskState.TASK_STATE_REJECTED
    assert "a plan" not in f"{events}{task}"


async def test_the_history_has_the_accepted_text(serving):
    async def script(request):
        yield TextDelta("secret")
        yield AnswerText("|".join(turn.text for turn in request.history) or "fine")

    async with serving(Scripted(script, uses_history=True)) as client:
        first = await send(client, user_message("one", context_id="c"))
        second = await send(client, user_message("two", context_id="c"))
    assert (texts(first), texts(second)) == (["fine"], ["one|fine"])


@pytest.mark.parametrize(
    ("answer", "known"), [("An edit.", "An edit.\nSend it?"), ("", "Send it?")]
)
async def test_the_history_has_corrected_answers_to_earlier_messages(serving, answer, known):
    async def script(request):
        if request.text == "What have you said?":
            yield TextDelta("|".join(turn.text for turn in request.history))
            return
        yield TextDelta("A draft.")
        yield InputRequired("Send it?")
        yield AnswerText(answer, of_task=True)

    async with serving(Scripted(script, uses_history=True)) as client:
        asked = await send(client, user_message("go", context_id="c"))
        await send(client, user_message("yes", context_id="c", task_id=asked.id))
        told = await send(client, user_message("What have you said?", context_id="c"))
    assert texts(told) == [f"go|{known}|yes|"]


@pytest.mark.parametrize(
    ("end", "state", "answer"),
    [
        ([], "COMPLETED", ["kept held"]),
        ([AnswerText("kept changed")], "COMPLETED", ["kept changed"]),
        ([InputRequired("why?")], "INPUT_REQUIRED", ["kept "]),
        ([Rejected("no")], "REJECTED", ["kept "]),
        ([ValueError("no")], "FAILED", ["kept "]),
        ([BlockedError("no")], "REJECTED", [""]),
    ],
)
async def test_held_text_is_sent_when_it_is_accepted(serving, end, state, answer):
    async def script(request):
        yield TextDelta("raw ")
        yield AnswerText("kept ")
        yield TextDelta("he")
        yield TextDelta("ld")
        for event in end:
            if isinstance(event, Exception):
                raise event
            yield event

    async with serving(Scripted(script, holds_text=True)) as client:
        events, status, task = await ask(client)
    assert TaskState.Name(status.state) == f"TASK_STATE_{state}"
    assert "raw" not in str(events)
    assert ("held" in str(events)) is (answer == ["kept held"])
    assert list(folded(events).values()) == texts(task) == answer


@pytest.mark.parametrize(("hold_text", "is_guarded"), [("guarded", True), ("always", False)])
async def test_held_text_does_not_come_out_with_a_cancellation(serving, hold_text, is_guarded):
    waiting = asyncio.get_running_loop().create_future()

    async def script(request):
        yield TextDelta("raw")
        waiting.set_result(request.task_id)
        await asyncio.Event().wait()

    async with serving(Scripted(script, holds_text=is_guarded), hold_text=hold_text) as client:
        reading = asyncio.create_task(stream(client, user_message("go")))
        task_id = await waiting
        late = client.subscribe(SubscribeToTaskRequest(id=task_id))
        events = [await anext(late)]
        await client.cancel_task(CancelTaskRequest(id=task_id))
        events += [each async for each in late]
        events += await reading
        task = await client.get_task(GetTaskRequest(id=task_id))
    assert task.status.state == TaskState.TASK_STATE_CANCELED
    assert "raw" not in f"{events}{task}"


async def test_holding_can_be_turned_off(serving):
    async def script(request):
        yield TextDelta("raw")
        yield AnswerText("checked")

    async with serving(Scripted(script, holds_text=True), hold_text="never") as client:
        events, _, task = await ask(client)
    assert sent_text(events) == [(False, "raw"), (False, "checked")]
    assert texts(task) == ["checked"]


async def test_every_answer_can_be_held_until_the_run_ends_or_asks(serving):
    is_read = asyncio.Event()

    async def script(request):
        yield TextDelta("which ")
        yield AnswerText("which city")
        await is_read.wait()
        answer = yield InputRequired("?")
        yield TextDelta(f"to {answer.text}")
        yield Output([Text("a map")])
        yield AnswerText(f"to {answer.text} by train")

    async with serving(Scripted(script), hold_text="always") as client:
        events = []
        async for event in client.send_message(user_message("go")):
            events.append(event)
            if not is_read.is_set():
                assert "which" not in str(events)
                is_read.set()
        task_id = events[0].task.id
        events += await stream(client, user_message("Rome", task_id=task_id))
        task = await client.get_task(GetTaskRequest(id=task_id))
    assert texts(task) == ["which city", "to Rome", "a map", " by train"]


@pytest.mark.parametrize("accepted", ["I cannot.", ""])
async def test_text_that_was_replaced_is_never_sent_where_every_answer_is_held(serving, accepted):
    async def script(request):
        yield TextDelta("raw ")
        yield AnswerText("raw draft")
        yield Output([Text("a map")])
        yield TextDelta(" raw")
        yield AnswerText(accepted)
        yield TextDelta(" Bye.")

    async with serving(Scripted(script), hold_text="always") as client:
        events, _, task = await ask(client)
    assert "raw" not in f"{events}{task}"
    assert "".join(texts(task)).replace("a map", "") == f"{accepted} Bye."


async def test_a_failed_run_says_nothing_where_every_answer_is_held(serving):
    async def script(request):
        yield TextDelta("raw")
        yield AnswerText("raw, and")
        raise ValueError

    async with serving(Scripted(script), hold_text="always") as client:
        events, status, task = await ask(client)
    assert status.state == TaskState.TASK_STATE_FAILED
    assert "raw" not in f"{events}{task}"


@pytest.mark.parametrize(
    ("hold_text", "is_guarded", "held"),
    [("guarded", True, True), ("never", True, False), ("always", False, True)],
)
async def test_the_card_says_whether_text_is_held(hold_text, is_guarded, held):
    async def script(request):
        yield AnswerText("")

    options = ServerOptions(hold_text=hold_text)
    app = build_app(Scripted(script, holds_text=is_guarded), options=options)
    async with running(app) as url, httpx.AsyncClient() as http:
        card = (await http.get(f"{url}/.well-known/agent-card.json")).json()
    extensions = {each["uri"]: each for each in card["capabilities"]["extensions"]}
    assert extensions[HELD_TEXT_EXTENSION]["params"] == {"held": held}


async def test_a_blocked_run_is_rejected_without_its_text(serving):
    async def script(request):
        yield TextDelta("how to build a bomb")
        raise BlockedError from ValueError("bomb")

    async with serving(Scripted(script)) as client:
        _, status, task = await ask(client)
    assert status.state == TaskState.TASK_STATE_REJECTED
    assert status.message.parts[0].text == "A guardrail of the agent blocked the run."
    assert "bomb" not in str(task)


@pytest.mark.parametrize(
    ("first", "second", "whole", "answers"),
    [
        ("A draft.", "", "A draft.", ["A draft."]),
        ("A draft.", "", "An edit.", ["An edit."]),
        ("A draft.", "Sent.", "A draft.\n\nSent.", ["A draft.", "Sent."]),
        ("A draft.", "Sent.", "An edit.\n\nSent.", ["An edit.", "Sent."]),
        ("A draft.", "Sent.", "Sent.", ["", "Sent."]),
        ("A draft.", "", "A draft.\n\nSent.", ["A draft.", "Sent."]),
        ("A draft.", "Sent.", "An edit.\n\nSigned.", ["", "An edit.\n\nSigned."]),
        ("A", "", "A draft.", ["A draft."]),
    ],
)
async def test_the_answers_to_earlier_messages_are_corrected(
    serving, first, second, whole, answers
):
    async def script(request):
        yield TextDelta(first)
        yield InputRequired("Send it?")
        if second:
            yield TextDelta(second)
        yield AnswerText(whole, of_task=True)

    async with serving(Scripted(script)) as client:
        asked, status, _ = await ask(client)
        assert status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        task_id = asked[-1].status_update.task_id
        events, _, task = await ask(client, "yes", task_id)
    assert texts(task) == answers
    assert list(folded(events, folded(asked)).values()) == answers


MAP = Output((Text("a map"),))


@pytest.mark.parametrize(
    ("first", "whole", "answers"),
    [
        (
            [TextDelta("Look: "), MAP, TextDelta("Rome.")],
            "Look: Rome.",
            ["Look: ", "a map", "Rome.", "Sent."],
        ),
        (
            [TextDelta("Look:"), MAP, TextDelta("\n\nRome.")],
            "See:\n\nRome.",
            ["See:", "a map", "Rome.", "Sent."],
        ),
        (
            [TextDelta("A"), MAP, TextDelta("\n\nB"), MAP, TextDelta("\n\nC")],
            "D\n\nC",
            ["D", "a map", "", "a map", "C", "Sent."],
        ),
        ([TextDelta("A"), MAP, TextDelta("\n\nB")], "A", ["A", "a map", "Sent."]),
        (
            [TextDelta("4"), MAP, TextDelta("\n\n2")],
            "42\n\n2",
            ["42", "a map", "2", "Sent."],
        ),
        (
            [TextDelta("Rome."), AnswerText(""), MAP, AnswerText("Rome.")],
            "Rome.",
            ["", "a map", "Rome.", "Sent."],
        ),
    ],
)
async def test_corrections_leave_texts_beside_outputs_where_they_are(
    serving, first, whole, answers
):
    async def script(request):
        for event in first:
            yield event
        yield InputRequired("Send it?")
        yield AnswerText(f"{whole}\n\nSent.", of_task=True)

    async with serving(Scripted(script)) as client:
        asked, _, _ = await ask(client)
        events, _, task = await ask(client, "yes", asked[-1].status_update.task_id)
    assert texts(task) == answers
    assert list(folded(events, folded(asked)).values()) == texts(task)


async def test_text_that_moves_behind_an_output_is_there_where_every_answer_is_held(serving):
    async def script(request):
        yield TextDelta("Rome.")
        yield AnswerText("")
        yield MAP
        yield AnswerText("Rome.")

    async with serving(Scripted(script), hold_text="always") as client:
        _, _, task = await ask(client)
    assert texts(task) == ["a map", "Rome."]


class TestContract(AnswerContract):
    def guarded(self):
        async def script(request):
            yield TextDelta(self.blocked)
            yield AnswerText("I cannot help.")

        return Scripted(script, holds_text=True)

    def blocking(self):
        async def script(request):
            yield TextDelta(self.blocked)
            raise BlockedError

        return Scripted(script, holds_text=True)

    def retrying(self):
        async def script(request):
            yield TextDelta("half an ")
            yield AnswerText("")
            yield TextDelta("an answer")

        return Scripted(script)


@pytest.mark.parametrize(("hold_text", "is_late"), [("guarded", True), ("always", False)])
async def test_the_log_says_if_text_was_sent_before_it_was_blocked(hold_text, is_late, caplog):
    async def talk(_text: str):
        yield "some words"
        raise BlockedError

    options = ServerOptions(hold_text=hold_text)
    async with running(build_app(talk, options=options)) as url, connect(url) as client:
        task = await send(client, user_message("hi"))
    assert task.status.state == TaskState.TASK_STATE_REJECTED
    assert ("its text was sent before" in caplog.text) is is_late


KINDS = {
    "text": TextDelta,
    "answer": AnswerText,
    "output": lambda name: Output((Data(name),), name=name),
    "asks": InputRequired,
}


def plan(chance):
    """Return the events of a run by kind, and how it ends."""
    events, text = [], ""
    for n in range(chance.randint(3, 12)):
        kind = chance.choice(["text", "text", "answer", "output"])
        word = chance.choice([f"w{n} ", f"\nw{n}", "\n\n"])
        changed = re.sub(r"w\d+", f"w{n}", text, count=1)
        if kind == "text":
            text += word
        elif kind == "answer":
            text = word = chance.choice([text, "", text + word, word + text, word, changed])
        events.append([kind, f"o{n}" if kind == "output" else word])
    return events, chance.choice(["", "", "asks", "blocked", "fails"])


async def planned(request):
    """Do what the message says."""
    events, end = json.loads(request.text)
    for kind, value in [*events, *([("asks", "?")] if end == "asks" else [])]:
        yield KINDS[kind](value)
    if end in {"blocked", "fails"}:
        raise BlockedError if end == "blocked" else RuntimeError


def expected(events, end, hold_text):
    """Return the text of the task, and that which may have been sent before."""
    text, answers = "", [""]
    for kind, value in events:
        if kind == "answer":
            text = value
            answers.append(value)
        elif kind == "text":
            text += value
    if hold_text == "guarded" and end in {"asks", "fails"}:
        text = answers[-1]
    if end == "blocked" or (hold_text == "always" and end == "fails"):
        text = ""
    return text, {"never": "", "guarded": "".join(answers), "always": ""}[hold_text]


@pytest.mark.parametrize("hold_text", ["never", "guarded", "always"])
async def test_any_sequence_of_events_is_folded_into_the_accepted_answer(serving, hold_text):
    chance = random.Random(f"{hold_text} 1")
    adapter = Scripted(planned, holds_text=True)
    async with serving(adapter, hold_text=hold_text) as client:
        for events, end in (plan(chance) for _ in range(8)):
            seen, _, task = await ask(client, json.dumps([events, end]))
            text, before = expected(events, end, hold_text)
            assert list(folded(seen).values()) == texts(task)
            # After an output, a text begins without line ends.
            assert "".join(texts(task)).replace("\n", "") == text.replace("\n", ""), (events, end)
            if end not in {"blocked", "fails"}:
                outputs = [each.name for each in task.artifacts if each.name.startswith("o")]
                assert outputs == [value for kind, value in events if kind == "output"]
            if hold_text != "never":
                words = re.findall(r"w\d+", "".join(said for _, said in sent_text(seen)))
                assert all(word in text + before for word in words), (events, end)
