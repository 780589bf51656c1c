"""Served functions."""

from __future__ import annotations

import asyncio
import functools
import threading
from dataclasses import dataclass

import httpx
import pytest
from a2a.types import Part, TaskState
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from a2a_adapters_functions import FunctionAdapter
from google.protobuf.json_format import MessageToDict
from pydantic import BaseModel, TypeAdapter

from a2a_adapters import (
    AgentRequest,
    Asking,
    AuthRequired,
    Data,
    File,
    InputRequired,
    InvalidInputError,
    Output,
    Rejected,
    Reply,
    TargetError,
    TaskMetadata,
    Text,
    build_app,
)
from a2a_adapters.plugin import installed_plugins
from a2a_adapters.protocol.conversion import from_protocol, struct_to_dict, to_protocol
from a2a_adapters.testing import answer_of, connect, running, send, stream, user_message


async def call(function, *requests):
    """Serve a function, send all requests to one task, and return the final task."""
    async with running(build_app(function)) as url, connect(url) as client:
        task = None
        for request in requests:
            if task is not None:
                request.message.task_id = task.id
            task = await send(client, request)
        return task


def outputs(task):
    return [from_protocol(part) for artifact in task.artifacts for part in artifact.parts]


class Weather(BaseModel):
    city: str
    degrees: int


@dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("hello", [Text("hello")]),
        ({"a": 1}, [Data({"a": 1})]),
        ([1, 2], [Data([1, 2])]),
        (3, [Data(3)]),
        (Point(1), [Data({"x": 1}, schema=TypeAdapter(Point).json_schema())]),
        (b"raw", [File(content=b"raw", media_type="application/octet-stream")]),
        (File(url="https://example.org/a.png"), [File(url="https://example.org/a.png")]),
        ([Text("a"), Data(1)], [Text("a"), Data(1)]),
        (Output((Text("a"), Text("b"))), [Text("a"), Text("b")]),
        (None, []),
        ("", [Text("")]),
    ],
)
async def test_returned_values_are_sent(returned, expected):
    task = await call(lambda text: returned, user_message("go"))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert outputs(task) == [from_protocol(part) for part in to_protocol(expected)]


async def test_models_have_their_schema():
    task = await call(lambda text: Weather(city=text, degrees=3), user_message("Rome"))
    [part] = outputs(task)
    assert part.value == {"city": "Rome", "degrees": 3}
    assert part.metadata["json_schema"]["properties"]["degrees"] == {
        "title": "Degrees",
        "type": "integer",
    }


async def test_requests_have_parts_of_all_kinds():
    seen = []

    def look(request: AgentRequest):
        seen.extend(request.parts)
        assert (request.data, request.files) == ([{"n": 3, "big": 2.5}], seen[1:3])

    file = Part(raw=b"\x00\x01", media_type="image/png", filename="dot.png")
    link = Part(url="https://example.org/x.pdf", media_type="application/pdf")
    data = to_protocol([Data({"n": 3, "big": 2.5})])[0]
    await call(look, user_message("hi", file, link, data))
    assert seen == [
        Text("hi"),
        File(content=b"\x00\x01", media_type="image/png", filename="dot.png"),
        File(url="https://example.org/x.pdf", media_type="application/pdf"),
        Data({"n": 3, "big": 2.5}),
    ]
    assert isinstance(seen[3].value["n"], int)


async def test_generators_ask_repeatedly_and_keep_their_state():
    def travel(request: AgentRequest):
        yield f"{request.text}: "
        city = yield InputRequired("which city?")
        yield city.text
        day = yield AuthRequired("sign in", [Data({"url": "https://example.org"})])
        yield f" on {day.text}"

    async with running(build_app(travel)) as url, connect(url) as client:
        task = await send(client, user_message("trip"))
        assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        task = await send(client, user_message("Rome", task_id=task.id))
        assert task.status.state == TaskState.TASK_STATE_AUTH_REQUIRED
        assert len(task.status.message.parts) == 2
        task = await send(client, user_message("Monday", task_id=task.id))
    assert answer_of(task) == "trip: \nRome\n on Monday"
    said = [message.parts[0].text for message in task.history]
    assert said == ["trip", "which city?", "Rome", "sign in", "Monday"]


async def test_functions_that_ask_have_a_type():
    async def travel(text: str) -> Asking:
        """Travel."""
        city = yield InputRequired(f"{text} to which city?")
        yield {"to": city.text}

    assert all(skill.output_schema is None for skill in FunctionAdapter(travel).describe().skills)
    async with running(build_app(travel)) as url, connect(url) as client:
        task = await send(client, user_message("trip"))
        assert task.status.message.parts[0].text == "trip to which city?"
        task = await send(client, user_message("Rome", task_id=task.id))
    [part] = task.artifacts[0].parts
    assert MessageToDict(part.data) == {"to": "Rome"}


async def test_functions_that_return_a_question_are_called_again():
    def book(request: AgentRequest):
        if request.resuming:
            return f"{request.resume_metadata['wish']} to {request.text}"
        return InputRequired("where?", metadata={"wish": request.text})

    task = await call(book, user_message("fly"), user_message("Rome"))
    assert answer_of(task) == "fly to Rome"


async def test_functions_reject_tasks():
    task = await call(lambda text: Rejected("not today"), user_message("go"))
    assert task.status.state == TaskState.TASK_STATE_REJECTED
    assert task.status.message.parts[0].text == "not today"


async def test_invalid_input_is_refused_before_a_task_exists():
    def strict(request: AgentRequest):
        raise InvalidInputError("send a number")

    task = await call(strict, user_message("go"))
    assert task.status.state == TaskState.TASK_STATE_REJECTED
    assert task.status.message.parts[0].text == "send a number"


async def test_functions_reply_with_a_bare_message():
    async def hello(text: str) -> Reply:
        return Reply((Text(f"hello {text}"),), metadata={"k": "v"})

    async with running(build_app(hello)) as url, connect(url) as client:
        [event] = await stream(client, user_message("you", context_id="c"))
    assert event.message.parts[0].text == "hello you"
    assert event.message.context_id == "c"
    assert struct_to_dict(event.message.metadata) == {"k": "v"}


async def test_unannotated_replies_become_outputs():
    task = await call(lambda text: Reply((Text("hello"),)), user_message("go"))
    assert answer_of(task) == "hello"


async def test_metadata_is_stored_in_the_task():
    def counted(text):
        yield "x"
        yield TaskMetadata({"usage": {"input_tokens": 3}})

    task = await call(counted, user_message("go"))
    assert struct_to_dict(task.metadata) == {"usage": {"input_tokens": 3}}


async def test_history_has_the_earlier_turns():
    def recall(request: AgentRequest):
        return " | ".join(f"{turn.role}: {turn.text}" for turn in request.history)

    async with running(build_app(recall)) as url, connect(url) as client:
        answers = [
            answer_of(await send(client, user_message(text, context_id="c"))) for text in "abc"
        ]
        other = await send(client, user_message("x", context_id="other"))
    assert answers == [
        "",
        "user: a | agent: ",
        "user: a | agent:  | user: b | agent: user: a | agent: ",
    ]
    assert answer_of(other) == ""


async def test_blocking_functions_run_in_parallel():
    meeting = threading.Barrier(8)

    def meet(text):
        meeting.wait(timeout=60)
        return text

    async with running(build_app(meet)) as url, connect(url) as client:
        tasks = await asyncio.gather(*(send(client, user_message(str(n))) for n in range(8)))
    assert [answer_of(task) for task in tasks] == list("01234567")


async def test_cancel_closes_blocking_generators():
    closed = threading.Event()
    entered = threading.Event()

    def ticking(request: AgentRequest):
        try:
            while True:
                entered.set()
                yield "tick "
        finally:
            closed.set()

    async with running(build_app(ticking)) as url, connect(url) as client:
        events = client.send_message(user_message("go"))
        task_id = (await anext(events)).task.id
        await asyncio.to_thread(entered.wait, 10)
        from a2a.types import CancelTaskRequest

        await client.cancel_task(CancelTaskRequest(id=task_id))
        assert await asyncio.to_thread(closed.wait, 10)


async def test_text_functions_require_text():
    async with running(build_app(lambda text: text)) as url, connect(url) as client:
        with pytest.raises(ContentTypeNotSupportedError):
            await stream(client, user_message("", Part(raw=b"x", media_type="image/png")))
        with pytest.raises(InvalidParamsError, match="takes text"):
            await stream(client, user_message("", Part(raw=b"x")))


def two(a, b):
    return a


@pytest.mark.parametrize("function", [two, lambda: None])
def test_unsupported_functions_are_refused(function):
    with pytest.raises(TargetError):
        FunctionAdapter(function)


def test_refusals_explain_how_to_annotate_factories():
    def make():
        return None

    with pytest.raises(TargetError, match=r"def make_crew\(\) -> Crew: .*serve_crew"):
        FunctionAdapter(make)
    with pytest.raises(TargetError) as caught:
        FunctionAdapter(two)
    assert "crew" not in str(caught.value)


def test_methods_partials_and_defaults_are_supported():
    class Bot:
        def answer(self, request, loud=False):
            return request

    for target in (Bot().answer, functools.partial(two, b=1), functools.partial(two, "a")):
        assert isinstance(installed_plugins().adapt(target), FunctionAdapter)


def test_cards_use_the_docstring():
    def greet(text: str) -> str:
        """Say hello.

        Not for the card.
        """
        return text

    description = FunctionAdapter(greet).describe()
    assert (description.name, description.description) == ("greet", "Say hello.")
    assert FunctionAdapter(lambda text: text).describe().name == "lambda"


async def test_non_blocking_calls_return_the_task_immediately():
    go = asyncio.Event()

    async def slow(text: str) -> Reply | str:
        await go.wait()
        return "done"

    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
    params = {"message": message, "configuration": {"returnImmediately": True}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    async with running(build_app(slow)) as url, httpx.AsyncClient(timeout=60) as http:
        response = await http.post(url + "/", json=body, headers={"A2A-Version": "1.0"})
        go.set()
    assert response.json()["result"]["task"]["status"]["state"] == "TASK_STATE_WORKING"
