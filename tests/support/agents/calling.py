"""Remote agents as models and tools of a framework."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from a2a_adapters import (
    AgentReply,
    AgentRequest,
    ConfigurationError,
    RemoteAgent,
    RemoteAgentError,
    RemoteTaskError,
    ServerOptions,
    Skill,
    TaskMetadata,
    TokenUsage,
    build_app,
)
from a2a_adapters.plugin import AgentDescription, remote_llm, remote_tool
from a2a_adapters.testing import running
from tests.plugins.openai_agents.calling.support import booking, failing, remembering, served
from tests.support.servers.front import Recording
from tests.support.servers.told import BOOKED, FORMS, Told

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.support.agents import Support

NOWHERE = "http://127.0.0.1:9"
"""The address of an agent that cannot be reached."""

ABOUT = AgentDescription(name="The desk", description="Books trips.")

SHOWN = ServerOptions(operators=["*"])
SPENT = TokenUsage(10, 1, 11)


class Conversing(ABC):
    """Conversations with agents of a framework."""

    support: ClassVar[Support]

    @abstractmethod
    def conversation(self, agent: Any) -> Callable[[str], Awaitable[str]]:
        """Return a function that sends an agent a text in a new conversation."""


class Conversations(Conversing):
    """Conversations that a remote agent remembers."""

    async def test_one_agent_has_many_conversations(self):
        async with served(remembering) as remote:
            agent = self.asking(remote)

            async def converse(name):
                say = self.conversation(agent)
                return [await say(f"{name}.{number}") for number in range(3)][-1]

            outputs = await asyncio.gather(*(converse(f"caller{n}") for n in range(8)))
        assert outputs == [f"caller{n}.0 | caller{n}.1 | caller{n}.2" for n in range(8)]

    async def test_questions_are_answers_and_the_next_message_replies(self):
        async with served(booking) as remote:
            say = self.conversation(self.asking(remote))
            assert await say("book") == "Which city?"
            assert await say("Rome") == "Booked Rome."

    @pytest.mark.parametrize("form", FORMS)
    async def test_the_answer_to_a_question_is_that_of_the_task(self, form):
        async with (
            Told(FORMS[form]).app("JSONRPC", "1.0") as app,
            running(app) as url,
            RemoteAgent(url) as remote,
        ):
            say = self.conversation(self.asking(remote))
            assert await say("book") == "Which city?"
            assert await say("Rome") == "booked"


class Models(Conversing):
    """Remote agents as the model of an agent."""

    framework: ClassVar[str]
    """The name of the framework for `remote_llm`."""

    model: ClassVar[type]

    def asking(self, remote, **options):
        """Return an agent whose model is a remote agent."""
        return self.support.made(self.model(remote), **options)

    async def test_failed_tasks_and_lost_agents_raise(self):
        async with served(failing) as remote:
            with pytest.raises(RemoteTaskError):
                await self.conversation(self.asking(remote))("hi")
        with pytest.raises(RemoteAgentError):
            await self.conversation(self.asking(NOWHERE))("hi")

    async def test_tools_are_refused(self):
        def look() -> str:
            """Look."""
            return "seen"

        agent = self.asking(NOWHERE, tools=[self.support.tool(look)])
        with pytest.raises(ConfigurationError, match="remove the tools"):
            await self.conversation(agent)("hi")

    async def test_the_tokens_of_a_remote_model_count_once(self):
        assert_counted_once(await asked_through(lambda remote: lambda: self.asking(remote)))

    def test_the_framework_of_a_model_is_found_by_name(self):
        assert isinstance(remote_llm(NOWHERE, self.framework), self.model)


class Members:
    """Remote agents as members of served agents."""

    @abstractmethod
    def member(self, remote: RemoteAgent) -> object:
        """Return a target whose only agent, or model, is the remote agent."""

    async def test_an_open_question_is_cancelled_with_its_task(self):
        server = Told([BOOKED])
        async with (
            server.app("JSONRPC", "1.0") as app,
            running(app) as url,
            RemoteAgent(url) as remote,
            running(build_app(self.member(remote), name="local")) as here,
            RemoteAgent(here) as caller,
        ):
            asked = await caller.send("book")
            assert asked.question == "Which city?"
            await caller.cancel(asked.task_id)
            assert await server.cancelled.get() == "t"
            asked = await caller.send("book", context_id=asked.context_id)
            assert (await caller.send("Rome", task_id=asked.task_id)).text == "booked"
        assert server.cancelled.empty()


class Tools(Conversing):
    """Remote agents as tools of an agent."""

    framework: ClassVar[str]
    """The name of the framework for `remote_tool`."""

    @abstractmethod
    def tool(self, remote: Any, about: Any, **options: Any) -> Any:
        """Return a tool that asks a remote agent."""

    @abstractmethod
    def described(self, tool: Any) -> tuple[str, str]:
        """Return the name and the description of a tool."""

    def using(self, tool):
        """Return an agent that calls the tool with the user's message, and repeats the result."""
        name, _ = self.described(tool)

        def model(messages):
            if done := self.support.results(messages):
                return next(iter(done.values()))
            said = self.support.said(messages)[-1]
            return self.support.calling(name, f"c{len(messages)}", message=said)

        return self.support.made(self.support.Fake(model), tools=[tool])

    async def say(self, tool, text):
        return await self.conversation(self.using(tool))(text)

    async def test_a_remote_agent_is_a_tool(self):
        recording = Recording(build_app(remembering))
        skill = Skill(id="repeat", name="repeat", description="Repeats.")
        async with running(recording) as url:
            plain = self.tool(url, await RemoteAgent(url).describe())
            assert self.described(plain)[1].startswith("Asks the agent")
            assert (await self.say(plain, "hi")).startswith("hi\n(context_id: ")
            await self.say(self.tool(url, skill), "hi")
        assert recording.messages[-1]["metadata"] == {"skill_id": "repeat"}

    async def test_errors_are_results_for_the_model(self):
        async with served(failing) as remote:
            said = await self.say(self.tool(remote, ABOUT), "hi")
        assert said.startswith("The agent could not be asked:")

    async def test_questions_of_a_tool_are_returned_to_the_model(self):
        async with served(booking) as remote:
            said = await self.say(self.tool(remote, ABOUT), "book")
        assert said.startswith("Which city?\n(It asks you.")
        assert "task_id: " in said

    async def test_the_framework_of_a_tool_is_found_by_name(self):
        async with served(remembering) as remote:
            tool = await asyncio.to_thread(remote_tool, remote, self.framework)
        assert self.described(tool)[0] == "remembering"


async def inner(request: AgentRequest):
    """Use a model."""
    yield TaskMetadata({**SPENT.as_metadata(), "model": "small"})
    yield "done"


async def asked_through(make_outer) -> AgentReply:
    """Return the reply of the agent that `make_outer` makes on the remote agent."""
    async with (
        running(build_app(inner)) as url,
        RemoteAgent(url) as remote,
        running(build_app(make_outer(remote), options=SHOWN)) as outer_url,
        RemoteAgent(outer_url) as outer,
    ):
        return await outer.send("hello")


def assert_counted_once(reply: AgentReply) -> None:
    """Check that the framework has counted the remote agent's tokens, and nobody else."""
    assert reply.usage == SPENT
    bill = reply.metadata["a2a_adapters.bill"]
    (delegate,) = bill["delegates"]
    assert delegate["is_counted"] is True
    assert bill["models"]["small"]["total_tokens"] == 11
