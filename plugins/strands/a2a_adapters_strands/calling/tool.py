"""A remote agent, or one of its skills, as a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pydantic import Field
from strands import ToolContext, tool

from a2a_adapters import InvalidInputError, RemoteAgent, RemoteAgentError, Skill
from a2a_adapters.plugin import AgentDescription, ToolDescription, ToolInput

if TYPE_CHECKING:
    from strands.tools.decorator import DecoratedFunctionTool

    from a2a_adapters import AgentReply
    from a2a_adapters.plugin import AgentOptions

_SILENT = "(The agent answered nothing.)"
_ASKS = "(It asks you. Call this tool again with the answer, and with these names.)"
_FAILED = "The agent could not be asked: {}"
_STATE = "a2a_questions"
"""The key of open questions in the Strands agent's state, by the id of the call."""


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
    *,
    ask_user: bool = False,
    **options: Unpack[AgentOptions],
) -> DecoratedFunctionTool[..., Any]:
    """Return any A2A agent as a tool: `Agent(tools=[a2a_tool("http://localhost:8000")])`.

    A result contains its context id, and its task id if the agent asks a question. To continue the
    conversation, the model passes these ids to the next call. The tool is stateless: it serves any
    number of runs. If the agent fails, so does the call, and the model sees the reason.

    Args:
        agent: The agent, or its URL.
        about: The description that the model sees: of the agent, or of one of its skills, whose
            id is then sent as metadata `skill_id`. Without it the agent's card is read now, by
            a blocking call; in async code give `await RemoteAgent(...).describe()`.
        ask_user: Whether a question of the agent interrupts the run, so that the user answers it
            rather than the model.
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

    async def invoke(
        message: str, tool_context: ToolContext, context_id: str = "", task_id: str = ""
    ) -> dict[str, Any]:
        place = {"context_id": context_id, "task_id": task_id}
        if asked := _asked(tool_context):  # a resumed run calls the tool from its beginning
            message, place = str(tool_context.interrupt(asked["task_id"])), asked
        while True:
            try:
                reply = await remote.send(
                    message, context_id=place["context_id"], task_id=place["task_id"], skill=skill
                )
            except (InvalidInputError, RemoteAgentError) as error:
                return _result(tool_context, "error", _FAILED.format(error))
            if not (reply.is_question and ask_user):
                _ask(tool_context, None)
                return _result(tool_context, "success", _text(reply))
            place = {"context_id": reply.context_id, "task_id": reply.task_id}
            _ask(tool_context, place)
            reason = {"question": reply.question}
            message = str(tool_context.interrupt(reply.task_id, reason))

    return tool(
        name=described.name,
        description=described.description,
        inputSchema=A2AToolArgs.model_json_schema(),
        context=True,
    )(invoke)


def _asked(context: ToolContext) -> dict[str, str] | None:
    """Return the place in the conversation at which the call asked its user."""
    questions = context.agent.state.get(_STATE) or {}
    place: dict[str, str] | None = questions.get(context.tool_use["toolUseId"])
    return place


def _ask(context: ToolContext, place: dict[str, str] | None) -> None:
    """Store the place of an open question of the call, or remove it."""
    questions = context.agent.state.get(_STATE) or {}
    questions.pop(context.tool_use["toolUseId"], None)
    if place:
        questions[context.tool_use["toolUseId"]] = place
    context.agent.state.set(_STATE, questions)


def _result(context: ToolContext, status: str, text: str) -> dict[str, Any]:
    return {
        "toolUseId": context.tool_use["toolUseId"],
        "status": status,
        "content": [{"text": text}],
    }


def _text(reply: AgentReply) -> str:
    """Format an answer for the model, with the ids that continue the conversation."""
    ids = {"context_id": reply.context_id, "task_id": reply.task_id if reply.is_question else ""}
    named = ", ".join(f"{name}: {value}" for name, value in ids.items() if value)
    asks = _ASKS if reply.is_question else ""
    lines = (reply.whole_text or _SILENT, asks, f"({named})" if named else "")
    return "\n".join(filter(None, lines))
