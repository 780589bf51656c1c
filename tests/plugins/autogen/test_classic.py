"""Agents of the classic API, recognised by shape: `ag2` is not a dependency."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_autogen import ConversableAdapter

from a2a_adapters import Data, File, InvalidInputError, TargetError, Text, build_app
from a2a_adapters.plugin import Turn
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.autogen.support import answer, ask, request


class Classic:
    """Replies as `ConversableAgent` does."""

    name = "classic"
    system_message = "a secret prompt"
    description = "a secret prompt"
    human_input_mode = "NEVER"

    async def a_generate_reply(self, messages=None, sender=None, **kwargs):
        await asyncio.sleep(0)
        said = " ".join(m["content"] for m in messages if m["role"] == "user")
        return {"role": "assistant", "content": said}


class Plain(Classic):
    def __init__(self, reply):
        self.reply = reply
        self.messages = None

    async def a_generate_reply(self, messages=None, sender=None, **kwargs):
        self.messages = messages
        return self.reply


async def test_the_agent_receives_the_history():
    agent = Plain("fine")
    history = [Turn("user", [Text("hi")]), Turn("agent", [Text("hello")]), Turn("agent", [])]
    events = await ask(ConversableAdapter(agent), "how are you", Data({"n": 1}), history=history)
    assert answer(events) == "fine"
    assert agent.messages == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": 'how are you\n{"n":1}'},
    ]


async def test_reasoning_is_removed():
    adapter = ConversableAdapter(Plain({"content": "<think>hm</think>\nfine"}))
    assert answer(await ask(adapter, "hi")) == "fine"


@pytest.mark.parametrize("reply", [None, "", {"content": None}, "<think>hm</think>"])
async def test_a_missing_reply_is_an_empty_answer(reply):
    assert await ask(ConversableAdapter(Plain(reply)), "hi") == []


@pytest.mark.parametrize("part", [File(content=b"x"), " "])
def test_files_and_empty_messages_are_refused(part):
    with pytest.raises(InvalidInputError):
        ConversableAdapter(Classic()).stream(request(part))


@pytest.mark.parametrize("mode", ["ALWAYS", "TERMINATE"])
def test_an_agent_that_asks_at_the_console_is_refused(mode):
    agent = Classic()
    agent.human_input_mode = mode
    with pytest.raises(TargetError, match="NEVER"):
        ConversableAdapter(agent)


def test_the_card_omits_the_system_message():
    agent = Classic()
    description = ConversableAdapter(agent).describe()
    assert (description.name, description.description) == ("classic", "The agent classic.")
    agent.description = "Helps."
    assert ConversableAdapter(agent).describe().description == "Helps."


async def test_callers_are_isolated():
    async with running(build_app(Classic())) as url:

        async def talk(caller):
            async with connect(url, user=caller) as client:
                for turn in range(3):
                    message = user_message(f"{caller}{turn}", context_id="one")
                    task = await send(client, message)
            return answer_of(task)

        callers = [f"caller{number}" for number in range(16)]
        answers = await asyncio.gather(*(talk(caller) for caller in callers))
    assert answers == [f"{caller}0 {caller}1 {caller}2" for caller in callers]
