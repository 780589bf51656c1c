"""Remote agents, and their skills, as tools; remote agents as handoffs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from agents import Agent, FunctionTool, Handoff, RunContextWrapper, handoff
from agents.extensions.handoff_filters import remove_all_tools
from pydantic import ConfigDict, ValidationError

from a2a_adapters import InvalidInputError, RemoteAgent, RemoteAgentError, Skill
from a2a_adapters.plugin import (
    AgentDescription,
    StatelessTool,
    StatelessToolInput,
    ToolDescription,
    Toolkit,
    check_arguments,
)
from a2a_adapters_openai_agents.calling.model import A2AModel
from a2a_adapters_openai_agents.calling.spans import call_span

if TYPE_CHECKING:
    from agents.tool_context import ToolContext

    from a2a_adapters.plugin import AgentOptions, FleetMember


class A2AToolArgs(StatelessToolInput):
    """The tool's arguments."""

    model_config = ConfigDict(extra="forbid")


def a2a_tool(
    agent: RemoteAgent | str,
    about: AgentDescription | Skill | None = None,
    *,
    approve_answers: bool = False,
    wait: float | None = None,
    **options: Unpack[AgentOptions],
) -> FunctionTool:
    """Return any A2A agent as a tool: `Agent(tools=[a2a_tool("http://localhost:8000")])`.

    A result contains its context id, and its task id if the agent asks a question. To continue
    the conversation, the model passes these ids to the next call. The tool is stateless: it
    serves any number of runs. Errors are returned to the model as the result of the call.

    Args:
        agent: The agent, or its URL.
        about: The description that the model sees: of the agent, or of one of its skills, whose id
            is then sent as metadata `skill_id`. Without it the agent's card is read now, by a
            blocking call; in async code, pass `await RemoteAgent(...).describe()`.
        approve_answers: Whether a run is interrupted before the model answers a question of the
            agent, for a human to approve the answer or to reject it with a better one.
        wait: Maximum time in seconds that a call waits for the answer. The next call with the
            task's id resumes waiting. None waits as long as the agent's timeout allows.
        **options: Options for an agent given by its URL; see `AgentOptions`.

    Raises:
        ConfigurationError: The URL is invalid.
        RemoteAgentError: The card cannot be read.
    """
    check_arguments(a2a_tool, locals(), {"wait"})
    remote = RemoteAgent.of(agent, **options)
    tool = StatelessTool(remote, about, wait)

    async def invoke(_: ToolContext[Any], arguments: str) -> str:
        try:
            asked = A2AToolArgs.model_validate_json(arguments)
            with call_span(remote) as span:
                reply = await tool.ask(asked.message, asked.context_id, asked.task_id)
                span.take(reply)
        except ValidationError as error:
            return tool.failure(InvalidInputError.of(error))
        except (InvalidInputError, RemoteAgentError) as error:
            return tool.failure(error)
        return tool.result(reply)

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=A2AToolArgs.model_json_schema(),
        on_invoke_tool=invoke,
        needs_approval=_answers if approve_answers else False,
    )


async def _answers(_: RunContextWrapper[Any], arguments: dict[str, Any], __: str) -> bool:
    """Whether a call answers a question of the agent."""
    return bool(arguments.get("task_id"))


_PREFIX = "transfer_to_"
_NAME_LENGTH = 64


def a2a_handoff(
    agent: RemoteAgent | str,
    about: AgentDescription | None = None,
    **options: Unpack[AgentOptions],
) -> Handoff[Any, Agent[Any]]:
    """Return a handoff to any A2A agent: `Agent(handoffs=[a2a_handoff(url)])`.

    The remote agent receives the conversation without its tool calls and continues it as an agent
    whose model is `A2AModel`. Its question becomes the run's output; a further run with that
    run's `last_agent` answers it.

    Args:
        agent: The agent, or its URL.
        about: The description that the model sees. Without it the agent's card is read now, by a
            blocking call; in async code, pass `await RemoteAgent(...).describe()`.
        **options: Options for an agent given by its URL; see `AgentOptions`.

    Raises:
        ConfigurationError: The URL is invalid.
        RemoteAgentError: The card cannot be read.
    """
    remote = RemoteAgent.of(agent, **options)
    about = about or remote.describe_sync()
    target: Agent[Any] = Agent(
        name=about.name, handoff_description=about.description, model=A2AModel(remote)
    )
    named = ToolDescription.of_agent(about)
    return handoff(
        target,
        tool_name_override=f"{_PREFIX}{named.name}"[:_NAME_LENGTH],
        tool_description_override=named.description,
        input_filter=remove_all_tools,
    )


class A2AToolkit(Toolkit[FunctionTool]):
    """A tool for each agent of a fleet, see `Toolkit`."""

    @staticmethod
    def _tool(member: FleetMember) -> FunctionTool:
        return a2a_tool(member.agent, member.about, wait=member.wait)
