"""A remote agent, or its skills, as a toolset; the agents of a fleet as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Required, Unpack, cast

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from pydantic_ai import ApprovalRequired, ToolDefinition, ToolFailed
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from typing_extensions import TypedDict

from a2a_adapters import Fleet, InvalidInputError, RemoteAgent, RemoteAgentError, Skill
from a2a_adapters.plugin import StatelessTool, check_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_ai import RunContext
    from pydantic_core import SchemaValidator

    from a2a_adapters.plugin import AgentDescription, AgentOptions, AnyFleet


@with_config(ConfigDict(extra="forbid"))
class A2AToolArgs(TypedDict, total=False):
    """The arguments of a tool."""

    message: Required[
        Annotated[str, Field(description="What to ask the agent or tell it, in full sentences.")]
    ]
    context_id: Annotated[
        str, Field(description="The context_id of an earlier result, to go on with it; else empty.")
    ]
    task_id: Annotated[
        str,
        Field(description="The task_id of a result in which the agent asks, to answer it."),
    ]


_ARGS = TypeAdapter(A2AToolArgs)


@dataclass(kw_only=True)
class _AgentTool(ToolsetTool[Any]):
    """The tool of an agent or a skill."""

    asking: StatelessTool


class A2AToolset(AbstractToolset[Any]):
    """Any A2A agent as a tool: `Agent(toolsets=[A2AToolset("http://localhost:8000")])`.

    The agent's card, which is read when a run needs the tools, describes the tool. A result has the
    id of its context and, if the agent asks a question, of its task. To continue the conversation,
    the model passes these ids to the next call. The toolset is stateless: it serves any number of
    runs. Errors are failed results for the model.

    Args:
        agent: The agent, or its URL.
        per_skill: Whether each skill of the agent is a tool, whose id is sent as metadata
            `skill_id`.
        ask_user: Whether a question of the agent is passed up as a call that requires approval,
            rather than returned to the model. Its metadata has the `question`; approve it with
            `ToolApproved(override_args={"message": answer})` and this metadata.
        about: The description that the model sees, in place of the card's: of the agent, or of one
            of its skills.
        wait: Maximum time in seconds that a call waits for the answer. The next call with the
            task's id resumes waiting. None waits as long as the agent's timeout allows.
        id: The id of the toolset, for agents that need to tell several toolsets apart.
        **options: Options for an agent given by its URL; see `AgentOptions`.

    Raises:
        ConfigurationError: The URL is invalid.
    """

    def __init__(
        self,
        agent: RemoteAgent | str,
        *,
        per_skill: bool = False,
        ask_user: bool = False,
        about: AgentDescription | Skill | None = None,
        wait: float | None = None,
        id: str | None = None,  # noqa: A002 - the framework's name
        **options: Unpack[AgentOptions],
    ) -> None:
        check_arguments(A2AToolset, locals(), {"wait"})
        self._agent = RemoteAgent.of(agent, **options)
        self._per_skill = per_skill
        self._ask_user = ask_user
        self._about = about
        self._wait = wait
        self._id = id

    @property
    def id(self) -> str | None:
        """The id of the toolset."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:  # noqa: ARG002
        """Return the tools.

        Raises:
            RemoteAgentError: The card cannot be read.
        """
        about = self._about or await self._agent.describe()
        shown: Sequence[AgentDescription | Skill] = [about]
        if self._per_skill and not isinstance(about, Skill):
            shown = about.skills
        tools = [StatelessTool(self._agent, each, self._wait) for each in shown]
        return {tool.name: self._tool(tool) for tool in tools}

    async def call_tool(
        self,
        name: str,  # noqa: ARG002 - of the interface
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],
    ) -> str:
        """Ask the agent.

        Raises:
            ApprovalRequired: The agent asks a question, which the user is to answer.
            ToolFailed: The agent does not answer.
        """
        asking = cast("_AgentTool", tool).asking
        try:
            reply = await asking.ask(**{**tool_args, **_place(ctx)})
        except (InvalidInputError, RemoteAgentError) as error:
            raise ToolFailed(asking.failure(error)) from error
        if reply.is_question and self._ask_user:
            raise ApprovalRequired(
                {
                    "question": reply.question,
                    "answer_argument": "message",
                    "context_id": reply.context_id,
                    "task_id": reply.task_id,
                }
            )
        return asking.result(reply)

    def _tool(self, asking: StatelessTool) -> _AgentTool:
        return _AgentTool(
            toolset=self,
            tool_def=ToolDefinition(
                name=asking.name,
                description=asking.description,
                parameters_json_schema=_ARGS.json_schema(),
            ),
            max_retries=1,
            args_validator=cast("SchemaValidator", _ARGS.validator),
            asking=asking,
        )


def _place(ctx: RunContext[Any]) -> dict[str, str]:
    """Return the place in the conversation at which the user has answered a question."""
    asked = ctx.tool_call_metadata if ctx.tool_call_approved else None
    return {key: asked[key] for key in ("context_id", "task_id")} if asked else {}


class A2AToolkit(AbstractToolset[Any]):
    """A tool for each agent of a fleet: `Agent(toolsets=[A2AToolkit({"poet": "http://..."})])`.

    Each step of a run has the tools of the agents that respond at that time.

    Args:
        agents: A `Fleet`, or its agents by the names of their tools: URLs, settings, or
            `RemoteAgent`s.
        id: The id of the toolset, for agents that need to tell several toolsets apart.

    Raises:
        ConfigurationError: A setting is invalid.
    """

    def __init__(
        self,
        agents: AnyFleet,
        *,
        id: str | None = None,  # noqa: A002 - the framework's name
    ) -> None:
        check_arguments(A2AToolkit, {"id": id})
        self.fleet = Fleet.of(agents)
        self._id = id

    @property
    def id(self) -> str | None:
        """The id of the toolset."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools of the agents that answer."""
        tools: dict[str, ToolsetTool[Any]] = {}
        for each in await self.fleet.members():
            toolset = A2AToolset(each.agent, about=each.about, wait=each.wait)
            tools |= await toolset.get_tools(ctx)
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Ask the agent of a tool."""
        return await tool.toolset.call_tool(name, tool_args, ctx, tool)
