"""A remote agent, or one of its skills, as a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from agent_framework import FunctionTool
from pydantic import Field

from a2a_adapters import InvalidInputError, RemoteAgent, RemoteAgentError, Skill
from a2a_adapters.plugin import AgentDescription, ToolDescription, ToolInput

if TYPE_CHECKING:
    from a2a_adapters import AgentReply
    from a2a_adapters.plugin import AgentOptions

_SILENT = "(The agent answered nothing.)"
_ASKS = "(It asks you. Call this tool again with the answer, and with these names.)"
_FAILED = "The agent could not be asked: {}"


class A2AToolArgs(ToolInput):
    """The tool's arguments."""

    context_id: str = Field(
        "", description="The context_id of an earlier result, to go on with it; else empty."
    )
    task_id: str = Field(
        "", description="The task_id of a result in which the agent asks, to answer it; else empty."
    )


def a2a_tool(
    agent: RemoteAgent | str,
    about: AgentDescription | Skill | None = None,
    **options: Unpack[AgentOptions],
) -> FunctionTool:
    """Return any A2A agent as a tool: `Agent(tools=[a2a_tool("http://localhost:8000")], ...)`.

    A result contains its context id, and its task id if the agent asks a question. To continue the
    conversation, the model passes these ids to the next call. The tool is stateless: it serves any
    number of runs. If the agent fails, the model sees the reason.

    Args:
        agent: The agent, or its URL.
        about: The description that the model sees: of the agent, or of one of its skills, whose
            id is then sent as metadata `skill_id`. Without it the agent's card is read now, by
            a blocking call; in async code give `await RemoteAgent(...).describe()`.
        **options: Options for an agent given by its URL; see `AgentOptions`.

    Raises:
        ConfigurationError: The URL is invalid.
        RemoteAgentError: The card cannot be read.
    """
    remote = RemoteAgent.of(agent, **options)
    about = about or remote.describe_sync()
    if isinstance(about, Skill):
        described, skill = ToolDescription.of_skill(about), about.id
    else:
        described, skill = ToolDescription.of_agent(about), None

    async def invoke(message: str, context_id: str = "", task_id: str = "") -> str:
        try:
            reply = await remote.send(message, context_id=context_id, task_id=task_id, skill=skill)
        except (InvalidInputError, RemoteAgentError) as error:
            return _FAILED.format(error)
        return _text(reply)

    return FunctionTool(
        name=described.name,
        description=described.description,
        func=invoke,
        input_model=A2AToolArgs,
    )


def _text(reply: AgentReply) -> str:
    """Format an answer for the model, with the ids that continue the conversation."""
    ids = {"context_id": reply.context_id, "task_id": reply.task_id if reply.is_question else ""}
    named = ", ".join(f"{name}: {value}" for name, value in ids.items() if value)
    asks = _ASKS if reply.is_question else ""
    lines = (reply.whole_text or _SILENT, asks, f"({named})" if named else "")
    return "\n".join(filter(None, lines))
