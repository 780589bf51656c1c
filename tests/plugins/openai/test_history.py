"""Whole histories: those that continue a context, and the owner of that context."""

from __future__ import annotations

import asyncio

import openai
import pytest

from a2a_adapters import BearerTokens, InputRequired, Limits, ServerOptions
from tests.plugins.openai.served import (
    Hanging,
    assistant,
    calling,
    chunks_of,
    client,
    joined,
    say,
    serving,
    text_of,
    user,
)

CHAT = {"X-OpenWebUI-Chat-Id": "0b5b1f0a-6c1e-4f57-9d7e-3c2a9b8d7e6f"}


class Remembering:
    """Records the messages of each context and their sender."""

    def __init__(self):
        self.contexts = {}

    async def answer(self, request):
        """Answer with the number of the context's messages."""
        received = self.contexts.setdefault((request.owner, request.context_id), [])
        received.append(request.text)
        yield f"{len(received)}"

    @property
    def received(self):
        return list(self.contexts.values())


async def turns(api, *texts, **options):
    """Have a chat as front ends do, and return its messages."""
    messages = []
    for text in texts:
        messages.append(user(text))
        messages.append(assistant(await text_of(api, *messages, model="agent", **options)))
    return messages


@pytest.fixture
def agent():
    return Remembering()


@pytest.fixture
async def api(agent):
    async with calling(agent.answer, name="agent") as api:
        yield api


async def test_only_new_messages_are_sent_to_the_agent(api, agent):
    await turns(api, "a", "b", "c")
    assert agent.received == [["a", "b", "c"]]


async def test_a_stream_continues_like_a_completion(api, agent):
    said = joined(await chunks_of(api, "a", model="agent"))
    await text_of(api, "a", assistant(said), "b", model="agent")
    assert agent.received == [["a", "b"]]


async def test_an_unknown_history_is_handed_over_as_history(api, agent):
    await text_of(api, "a", assistant("elsewhere"), "b", model="agent")
    assert agent.received == [["User: a\n\nAssistant: elsewhere\n\nUser: b"]]


async def test_an_edited_message_branches_the_conversation(api, agent):
    said = await turns(api, "a", "b")
    await text_of(api, *said[:2], "edited", model="agent")
    await text_of(api, *said, "c", model="agent")
    assert agent.received == [["a", "b", "c"], ["User: a\n\nAssistant: 1\n\nUser: edited"]]


async def test_a_regenerated_answer_starts_a_branch_and_both_continue(api, agent):
    said = await turns(api, "a", "b")
    again = await text_of(api, *said[:3], model="agent")
    await text_of(api, *said, "c", model="agent")
    await text_of(api, *said[:3], assistant(again), "d", model="agent")
    assert agent.received == [["a", "b", "c"], ["User: a\n\nAssistant: 1\n\nUser: b", "d"]]


async def test_system_messages_are_handed_over_once_and_when_they_change(api, agent):
    def system(text):
        return {"role": "system", "content": text}

    first = await text_of(api, system("x"), "a", model="agent")
    chat = ["a", assistant(first), "b"]
    second = await text_of(api, system("x"), *chat, model="agent")
    await text_of(api, system("y"), *chat, assistant(second), "c", model="agent")
    assert agent.received == [["System: x\n\nUser: a", "b", "System: y\n\nUser: c"]]


async def test_reasoning_that_open_webui_keeps_in_the_text_is_left_out(api, agent):
    shown = '<details type="reasoning" done="true">\n<summary>Thought</summary>\n> hm\n</details>\n'
    first = await text_of(api, "a", model="agent")
    await text_of(api, "a", assistant(shown + first), "b", model="agent")
    assert agent.received == [["a", "b"]]


async def test_an_answer_that_failed_is_left_out_by_front_ends():
    received = []

    async def failing(request):
        received.append(request.text)
        if len(received) == 1:
            raise RuntimeError
        yield "fine"

    async with calling(failing, name="agent") as api:
        with pytest.raises(openai.APIStatusError):
            await say(api, "a", model="agent")
        await say(api, "a", "b", model="agent")
    assert received == ["a", "a\n\nb"]


async def test_a_refused_message_leaves_the_conversation_as_it_was(api, agent):
    said = await turns(api, "a")
    with pytest.raises(openai.BadRequestError):
        await say(api, *said, user(" "), model="agent")
    await text_of(api, *said, "b", model="agent")
    assert agent.received == [["a", "b"]]


async def test_histories_continue_after_a_restart(agent, tmp_path):
    options = ServerOptions(storage=f"sqlite:///{tmp_path}/a.db")
    async with calling(agent.answer, name="agent", options=options) as api:
        said = await turns(api, "a")
    async with calling(agent.answer, name="agent", options=options) as api:
        await text_of(api, *said, "b", model="agent")
    assert agent.received == [["a", "b"]]


async def test_callers_never_share_a_context(agent):
    tokens = BearerTokens({"s3cret-a": "alice", "s3cret-b": "bob"})
    options = ServerOptions(authentication=tokens)
    async with (
        serving(agent.answer, name="agent", options=options) as url,
        client(url, "s3cret-a") as alice,
        client(url, "s3cret-b") as bob,
    ):
        said = await turns(alice, "a", extra_headers=CHAT)
        await text_of(bob, *said, "b", model="agent", extra_headers=CHAT)
    assert [owner for owner, _ in agent.contexts] == ["alice", "bob"]
    assert agent.received == [["a"], ["User: a\n\nAssistant: 1\n\nUser: b"]]


@pytest.mark.parametrize("headers", [{}, CHAT])
async def test_anonymous_callers_with_equal_chats_never_share_a_context(agent, headers):
    """They cannot be distinguished, so both continue with their history in separate contexts."""
    async with serving(agent.answer, name="agent") as url, client(url) as one, client(url) as other:
        said = await turns(one, "a", extra_headers=headers)
        assert said == await turns(other, "a", extra_headers=headers)
        for api in (other, one):
            await text_of(api, *said, "b", model="agent", extra_headers=headers)
        assert said == await turns(one, "a", extra_headers=headers)
        await text_of(one, *said, "c", model="agent", extra_headers=headers)
    history = "User: a\n\nAssistant: 1\n\nUser: b"
    assert agent.received == [["a"], ["a"], [history], [history], ["a", "c"]]


async def test_concurrent_chats_are_never_mixed_up(api, agent):
    async def chat(api, name):
        headers = {"X-OpenWebUI-Chat-Id": name}
        await turns(api, "same", f"own {name}", f"last {name}", extra_headers=headers)

    names = [f"chat-{n}" for n in range(20)]
    await asyncio.gather(*(chat(api, name) for name in names))
    assert sorted(agent.received) == sorted(["same", f"own {n}", f"last {n}"] for n in names)


async def test_the_same_request_twice_at_once_uses_a_context_once(api, agent):
    said = await turns(api, "a")
    await asyncio.gather(*(text_of(api, *said, "b", model="agent") for _ in range(2)))
    assert sorted(agent.received) == [["User: a\n\nAssistant: 1\n\nUser: b"], ["a", "b"]]


@pytest.mark.parametrize("is_streamed", [True, False])
async def test_a_client_that_leaves_cancels_the_run(is_streamed):
    agent = Hanging()
    async with calling(agent.answer, name="agent") as api:
        if is_streamed:
            stream = await say(api, "x", model="agent", stream=True)
            async for chunk in stream:
                if chunk.choices[0].delta.content:
                    break
            await stream.close()
        else:
            asking = asyncio.create_task(say(api, "x", model="agent"))
            await agent.begun.wait()
            asking.cancel()
        assert await agent.ends.get() is True


async def test_a_question_stays_open_when_its_reader_leaves():
    async def asking(request):
        answer = yield InputRequired("Which city?")
        yield f"took {answer.text}"

    async with calling(asking, name="agent") as api:
        stream = await say(api, "x", model="agent", stream=True)
        said = "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])
        await stream.close()
        assert await text_of(api, "x", assistant(said), "Rome", model="agent") == "took Rome"


async def test_a_busy_agent_says_when_to_try_again():
    agent = Hanging()
    options = ServerOptions(limits=Limits(runs=1, queued_runs=0))
    async with calling(agent.answer, name="agent", options=options) as api:
        stream = await say(api, "x", model="agent", stream=True)
        with pytest.raises(openai.RateLimitError) as refused:
            await say(api, "y", model="agent")
        await stream.close()
        assert await agent.ends.get() is True
    assert refused.value.response.headers["retry-after"] == "1"


OPEN_WEBUI = """### Task:
Generate something.
### Output:
JSON format: {{ "{}": {} }}
### Chat History:
<chat_history>
USER: Where is the best pizza in the world?
ASSISTANT: Naples
</chat_history>"""


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("title", '{"title": "Where is the best pizza in"}'),
        ("tags", '{"tags": []}'),
        ("follow_ups", '{"follow_ups": []}'),
        ("queries", '{"queries": []}'),
    ],
)
async def test_open_webuis_own_requests_never_reach_the_agent(api, agent, name, answer):
    said = await turns(api, "a", extra_headers=CHAT)
    prompt = OPEN_WEBUI.format(name, "...")
    assert await text_of(api, prompt, model="agent", extra_headers=CHAT) == answer
    await text_of(api, *said, "b", model="agent", extra_headers=CHAT)
    assert agent.received == [["a", "b"]]
