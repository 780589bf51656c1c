"""A remote agent, or one of its skills, as a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from strands import ToolContext, tool

from a2a_adapters import InvalidInputError, RemoteAgent, RemoteAgentError, Skill
from a2a_adapters.plugin import AgentDescription, StatelessTool, StatelessToolInput, check_arguments

if TYPE_CHECKING:
    from strands.tools.decorator import DecoratedFunctionTool

    from a2a_adapters.plugin import AgentOptions

_STATE = "a2a_questions"
"""The key of open questions in the Strands agent's state, by the id of the call."""


def a2a_tool(
    agent: RemoteAgent | str,
    about: AgentDescription | Skill | None = None,
    *,
    ask_user: bool = False,
    wait: float | None = None,
    **options: Unpack[AgentOptions],
) -> DecoratedFunctionTool[..., Any]:
    """Return any A2A agent as a tool: `Agent(tools=[a2a_tool("http://localhost:8000")])`.

    A result contains its context id, and its task id if the agent asks a question. To continue the
    conversation, the model passes these ids to the next call. The tool is stateless: it serves any
    number of runs. If the agent fails, so does the call, and the model sees the reason.

    Args:
        agent: The agent, or its URL.
        about: The description that the model sees: of the agent, or of one of its skills, whose id
            is then sent as metadata `skill_id`. Without it the agent's card is read now, by a
            blocking call; in async code, pass `await RemoteAgent(...).describe()`.
        ask_user: Whether a question of the agent interrupts the run, so that the user answers it
            rather than the model.
        wait: Maximum time in seconds that a call waits for the answer. The next call with the
            task's id resumes waiting. None waits as long as the agent's timeout allows.
        **options: Options for an agent given by its URL; see `AgentOptions`.

    Raises:
        ConfigurationError: The URL is invalid.
        RemoteAgentError: The card cannot be read.
    """
    check_arguments(a2a_tool, locals(), {"wait"})
    remote = RemoteAgent.of(agent, **options)
    asking = StatelessTool(remote, about, wait)

    async def invoke(
        message: str, tool_context: ToolContext, context_id: str = "", task_id: str = ""
    ) -> dict[str, Any]:
        place = {"context_id": context_id, "task_id": task_id}
        if asked := _asked(tool_context):  # a resumed run calls the tool from its beginning
            message, place = str(tool_context.interrupt(asked["task_id"])), asked
        while True:
            try:
                reply = await asking.ask(message, place["context_id"], place["task_id"])
            except (InvalidInputError, RemoteAgentError) as error:
                return _result(tool_context, "error", asking.failure(error))
            if not (reply.is_question and ask_user):
                _ask(tool_context, None)
                return _result(tool_context, "success", asking.result(reply))
            place = {"context_id": reply.context_id, "task_id": reply.task_id}
            _ask(tool_context, place)
            reason = {"question": reply.question}
            message = str(tool_context.interrupt(reply.task_id, reason))

    return tool(
        name=asking.name,
        description=asking.description,
        inputSchema=StatelessToolInput.model_json_schema(),
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
