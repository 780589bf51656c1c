"""Code that runs before and after calls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from a2a_adapters import (
    AgentReply,
    ConfigurationError,
    InputRequired,
    Interceptor,
    RemoteAgent,
    RemoteOptions,
    Reply,
    Text,
    TextDelta,
    build_app,
)
from a2a_adapters.testing import running
from tests.support.servers.front import Recording


async def repeat(request):
    """Repeat the message; ask for one, or answer without a task, on request."""
    if request.text == "ask":
        yield (yield InputRequired("What?")).text
    elif request.text == "bare":
        yield Reply([Text("bare")])
    else:
        yield request.text


class Noting(Interceptor):
    """Notes calls and replies, and marks them with a letter."""

    def __init__(self, letter):
        self.letter = letter
        self.calls = []
        self.replies = []

    async def before(self, call):
        self.calls.append(call)
        text = "".join(part.text for part in call.parts) + self.letter
        headers = {**call.headers, "X-By": call.headers.get("X-By", "") + self.letter}
        metadata = {**call.metadata, self.letter: True}
        return replace(call, parts=[Text(text)], headers=headers, metadata=metadata)

    async def after(self, call, reply):
        self.replies.append((call, reply))
        return replace(reply, text=reply.text + self.letter.upper())


@pytest.fixture
async def called():
    recording, notes = Recording(build_app(repeat)), [Noting("a"), Noting("b")]
    async with running(recording) as url:
        yield recording, notes, RemoteAgent(url, options=RemoteOptions(interceptors=notes))


async def test_they_run_in_order_before_and_in_reverse_after(called):
    recording, notes, agent = called
    reply = await agent.send("hi ", skill="s", headers={"X-By": "me "})
    assert reply.text == "hi abBA"
    assert reply.is_corrected
    message = recording.messages[0]
    assert message["metadata"] == {"skill_id": "s", "a": True, "b": True}
    assert "me ab" in recording.header_values("x-by")
    assert notes[0].calls[0].agent == agent.name
    assert notes[1].calls[0].metadata == {"skill_id": "s", "a": True}
    assert notes[0].replies[0][0].metadata == message["metadata"]


async def test_conversations_streams_and_tasks_pass_them(called):
    _, notes, agent = called
    events = [event async for event in agent.conversation().stream("hi ")]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "hi ab"
    assert isinstance(events[-1], AgentReply)
    assert events[-1].text == "hi abBA"
    assert (await agent.send("bare")).text == "bareabBA"
    task = await agent.start("hi ")
    assert (await task.result()).text == "hi abBA"
    assert (await task.status()).text == "hi abBA"
    assert notes[0].replies[-1][0].task_id == task.id
    user = agent.as_user("token")
    assert (await user.send("hi ")).text == "hi abBA"


async def test_an_answer_names_its_task():
    note = Noting("")
    async with (
        running(build_app(repeat)) as url,
        RemoteAgent(url, options=RemoteOptions(interceptors=[note])) as agent,
    ):
        asked = await agent.send("ask")
        await agent.send("Rome", task_id=asked.task_id, context_id=asked.context_id)
    assert [call.task_id for call in note.calls] == ["", asked.task_id]


async def test_an_exception_ends_the_call():
    class Refusing(Interceptor):
        async def before(self, call):
            raise PermissionError(call.agent)

    recording = Recording(build_app(repeat))
    async with running(recording) as url:
        agent = RemoteAgent(url, options=RemoteOptions(interceptors=[Refusing()]))
        with pytest.raises(PermissionError):
            await agent.send("hi")
    assert recording.messages == []


def test_other_objects_are_refused():
    with pytest.raises(ConfigurationError, match="must be a list of Interceptor"):
        RemoteOptions(interceptors=[print])
