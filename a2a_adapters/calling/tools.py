"""Remote agents as models and tools of a framework, and their descriptions for models."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, Field

from a2a_adapters.calling.agent import RemoteAgent
from a2a_adapters.calling.errors import RemoteAgentError, RemoteTimeoutError
from a2a_adapters.calling.reply import WAITING
from a2a_adapters.concurrency import BoundedMap, blocking, in_background
from a2a_adapters.contract.card import AgentDescription, Skill
from a2a_adapters.contract.checking import check_arguments
from a2a_adapters.contract.errors import InvalidInputError
from a2a_adapters.contract.plugins import installed_plugins

if TYPE_CHECKING:
    from typing import Unpack

    from a2a_adapters.calling.messenger import MessageInput
    from a2a_adapters.calling.options import AgentOptions
    from a2a_adapters.calling.reply import AgentReply
    from a2a_adapters.calling.task import RemoteTask

_ANSWER_IT = "(It asks you. Call this tool again with the answer.)"
_STILL_WORKING = "(It is still working. Call this tool again, with any message, to wait for it.)"
_SAY_IT_ALL = "(It asks you. Call this tool again with the whole request, this included.)"
_SILENT = "(The agent answered nothing.)"
_ANSWER_WITH_IDS = "(It asks you. Call this tool again with the answer, and with these names.)"
_WAIT_WITH_IDS = "(It is still working. Call this tool again with these names to wait for it.)"

# The limits of OpenAI's API, the strictest of the common ones.
_NAME_LENGTH = 64
_DESCRIPTION_LENGTH = 1_024
_UNFINISHED = frozenset({"submitted", "working"})
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]+")


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """The description of a remote agent, or of one of its skills, as a tool for a model.

    Name and description conform to the limits of model providers.

    Attributes:
        name: The tool's name.
        description: The tool's description.
        skill_id: The skill's id, or None for the whole agent.
    """

    name: str
    description: str
    skill_id: str | None = None

    @classmethod
    def of(cls, about: AgentDescription | Skill) -> Self:
        """Describe an agent, or one of its skills."""
        return cls.of_skill(about) if isinstance(about, Skill) else cls.of_agent(about)

    @classmethod
    def of_agent(cls, about: AgentDescription) -> Self:
        """Describe an agent and its skills."""
        skills = "".join(
            f"\n- {skill.name}: {skill.description}"
            for skill in about.skills
            if skill.description != about.description
        )
        text = f"Asks the agent {about.name}: {about.description}"
        return cls(_name(about.name), _clip(f"{text}\nIt can:{skills}" if skills else text))

    @classmethod
    def of_skill(cls, skill: Skill) -> Self:
        """Describe a skill with its examples."""
        examples = "".join(f"\nExample: {example}" for example in skill.examples)
        return cls(_name(skill.name or skill.id), _clip(f"{skill.description}{examples}"), skill.id)


@dataclass(frozen=True, slots=True)
class FleetMember:
    """An agent of a fleet, for a framework's tool.

    Attributes:
        agent: The agent.
        about: What a model reads: the agent or its skill, under the tool's name.
        wait: Maximum time in seconds that a call of the tool waits for the answer.
    """

    agent: RemoteAgent
    about: AgentDescription | Skill
    wait: float | None

    @property
    def tool(self) -> ToolDescription:
        """The description of the tool."""
        return ToolDescription.of(self.about)


class ToolInput(BaseModel):
    """The arguments of a tool call to an agent."""

    message: str = Field(description="What to ask the agent or tell it, in full sentences.")


class ToolFactory:
    """Mixin that creates a framework's tools from the card of a remote agent.

    The framework's tool class implements `_of`. Arguments of its methods:

    Args:
        agent: The agent, or its URL.
        wait: Maximum time in seconds that a call of the tool waits for the answer.
        **options: See `AgentOptions`; only for an agent given by its URL.
    """

    @classmethod
    def from_agent(
        cls,
        agent: str | RemoteAgent,
        *,
        wait: float | None = None,
        **options: Unpack[AgentOptions],
    ) -> Self:
        """Create a tool for an agent, named and described by its card.

        Raises:
            RemoteAgentError: The card cannot be fetched.
        """
        remote = RemoteAgent.of(agent, **options)
        return cls._of(remote, ToolDescription.of_agent(remote.describe_sync()), wait)

    @classmethod
    async def afrom_agent(
        cls,
        agent: str | RemoteAgent,
        *,
        wait: float | None = None,
        **options: Unpack[AgentOptions],
    ) -> Self:
        """`from_agent` for async code."""
        remote = RemoteAgent.of(agent, **options)
        return cls._of(remote, ToolDescription.of_agent(await remote.describe()), wait)

    @classmethod
    def per_skill(
        cls,
        agent: str | RemoteAgent,
        *,
        wait: float | None = None,
        **options: Unpack[AgentOptions],
    ) -> list[Self]:
        """Create a tool for each skill of an agent; arguments and errors as for `from_agent`."""
        remote = RemoteAgent.of(agent, **options)
        skills = remote.describe_sync().skills
        return [cls._of(remote, ToolDescription.of_skill(skill), wait) for skill in skills]

    @classmethod
    async def aper_skill(
        cls,
        agent: str | RemoteAgent,
        *,
        wait: float | None = None,
        **options: Unpack[AgentOptions],
    ) -> list[Self]:
        """`per_skill` for async code."""
        remote = RemoteAgent.of(agent, **options)
        skills = (await remote.describe()).skills
        return [cls._of(remote, ToolDescription.of_skill(skill), wait) for skill in skills]

    @classmethod
    def of_member(cls, member: FleetMember) -> Self:
        """Create the tool of an agent of a fleet."""
        return cls._of(member.agent, member.tool, member.wait)

    @classmethod
    def _of(cls, agent: RemoteAgent, tool: ToolDescription, wait: float | None) -> Self:
        raise NotImplementedError


def tool_answer(text: str, *, asks: bool, is_kept: bool = True, is_working: bool = False) -> str:
    """Format an agent's answer as a tool result for a model.

    Args:
        text: The answer.
        asks: Whether the answer is a question.
        is_kept: Whether the tool's next call continues the conversation.
        is_working: Whether the answer is not complete; the next call waits for the rest.
    """
    if is_working:
        return "\n".join(filter(None, (text, _STILL_WORKING)))
    hint = (_ANSWER_IT if is_kept else _SAY_IT_ALL) if asks else ""
    return "\n".join(filter(None, (text, hint))) or _SILENT


class StatelessToolInput(ToolInput):
    """The arguments of a tool that keeps no conversation."""

    context_id: str = Field(
        "", description="The context_id of an earlier result, to go on with it; else empty."
    )
    task_id: str = Field(
        "", description="The task_id of a result in which the agent asks, to answer it; else empty."
    )


class StatelessTool:
    """Asks an agent for a framework's tool that keeps no conversation.

    Each result names the ids that continue its conversation; the model passes them to the next
    call.

    Args:
        agent: The agent.
        about: What the model reads: the agent, or the skill to ask for. Without it the card is read
            now, by a blocking call.
        wait: Maximum time in seconds that a call waits for the answer. A call with the task's id
            resumes waiting. None waits as long as the agent's timeout allows.

    Attributes:
        name: The tool's name.
        description: The tool's description.

    Raises:
        RemoteAgentError: The card cannot be read.
    """

    def __init__(
        self,
        agent: RemoteAgent,
        about: AgentDescription | Skill | None = None,
        wait: float | None = None,
    ) -> None:
        check_arguments(StatelessTool, locals(), {"wait"})
        described = ToolDescription.of(about or agent.describe_sync())
        self.name = described.name
        self.description = described.description
        self._agent = agent
        self._skill = described.skill_id
        self._wait = wait

    async def ask(
        self, message: MessageInput, context_id: str = "", task_id: str = ""
    ) -> AgentReply:
        """Send a message, or wait for the answer of a task that is not complete yet.

        Raises:
            InvalidInputError: The message cannot be encoded.
            RemoteAgentError: The call failed.
        """
        if self._wait is None:
            return await self._agent.send(
                message, context_id=context_id, task_id=task_id, skill=self._skill
            )
        if not task_id:
            task = await self._agent.start(message, context_id=context_id, skill=self._skill)
        else:
            task = self._agent.task(task_id)
            if (await task.status()).is_question:
                await task.answer(message, skill=self._skill)
        return await _within(task, self._wait)

    async def answer(self, message: str, context_id: str = "", task_id: str = "") -> str:
        """Return the agent's answer for the model, or why there is none."""
        try:
            return self.result(await self.ask(message, context_id, task_id))
        except (InvalidInputError, RemoteAgentError) as error:
            return self.failure(error)

    answer_sync = blocking.running(answer)

    @staticmethod
    def result(reply: AgentReply) -> str:
        """Format an answer for the model, with the ids that continue the conversation."""
        is_working = reply.state in _UNFINISHED
        is_open = reply.is_question or is_working
        ids = {"context_id": reply.context_id, "task_id": reply.task_id if is_open else ""}
        named = ", ".join(f"{name}: {value}" for name, value in ids.items() if value)
        hint = _WAIT_WITH_IDS if is_working else _ANSWER_WITH_IDS if reply.is_question else ""
        silent = "" if is_working else _SILENT
        lines = (reply.whole_text or silent, hint, f"({named})" if named else "")
        return "\n".join(filter(None, lines))

    @staticmethod
    def failure(error: Exception) -> str:
        """Format an error for the model."""
        return f"The agent could not be asked: {error}"


class LimitedWait:
    """Asks an agent for a framework's tool, and waits a limited time for the answer in each call.

    Args:
        agent: The agent.
        seconds: The time. A reply that is not complete by then has the state "working".
    """

    def __init__(self, agent: RemoteAgent, seconds: float) -> None:
        self._agent = agent
        check_arguments(LimitedWait, locals(), {"seconds"})
        self._seconds = seconds
        self._tasks: BoundedMap[str, RemoteTask] = BoundedMap(10_000)

    async def ask(
        self, key: str | None, message: MessageInput, skill: str | None = None
    ) -> AgentReply:
        """Send a message of the conversation `key`, unless its last answer is not complete yet.

        The task is cancelled if this call is, or if there is no key and the time is up.
        """
        task = self._tasks.get(key) if key is not None else None
        if task is None or task.state not in {*_UNFINISHED, *WAITING}:
            context_id = task.context_id if task else ""
            task = await self._agent.start(message, context_id=context_id, skill=skill)
        elif task.state in WAITING:
            await task.answer(message)
        if key is not None:
            self._tasks[key] = task
        return await _within(task, self._seconds, cancel=key is None)

    ask_sync = blocking.running(ask)


async def _within(task: RemoteTask, seconds: float, *, cancel: bool = False) -> AgentReply:
    """Return the result of a task, or its state when the time is up unless that cancels it.

    The task is cancelled if the caller is.
    """
    try:
        return await task.result(seconds, cancel=cancel)
    except RemoteTimeoutError:
        if cancel:
            raise
        return await task.status()
    except asyncio.CancelledError:
        in_background(_give_up(task))
        raise


async def _give_up(task: RemoteTask) -> None:
    with suppress(RemoteAgentError):  # the caller has left
        await task.cancel()


def _name(name: str) -> str:
    return _NOT_IN_A_NAME.sub("_", name).strip("_")[:_NAME_LENGTH] or "agent"


def _clip(text: str) -> str:
    is_short = len(text) <= _DESCRIPTION_LENGTH
    return text if is_short else f"{text[: _DESCRIPTION_LENGTH - 1]}…"


def remote_llm(agent: str | RemoteAgent, framework: str, **options: Unpack[AgentOptions]) -> object:
    """Return a remote agent as a language model of a framework.

    Args:
        agent: The agent, or its URL.
        framework: The framework's name, such as "langchain".
        **options: See `AgentOptions`; only for an agent given by its URL.

    Raises:
        NoAdapterError: No plugin supports language models of that framework.
        MissingExtraError: The framework is not installed.
    """
    return installed_plugins().remote_llm(RemoteAgent.of(agent, **options), framework)


def remote_tool(
    agent: str | RemoteAgent, framework: str, **options: Unpack[AgentOptions]
) -> object:
    """Return a remote agent as a tool of a framework, described by its card.

    Args:
        agent: The agent, or its URL.
        framework: The framework's name, such as "langchain".
        **options: See `AgentOptions`; only for an agent given by its URL.

    Raises:
        NoAdapterError: No plugin supports tools of that framework.
        MissingExtraError: The framework is not installed.
        RemoteAgentError: The card cannot be fetched.
    """
    return installed_plugins().remote_tool(RemoteAgent.of(agent, **options), framework)
