"""A remote agent, or one of its skills, as a tool; the agents of a fleet as tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.genai.types import FunctionDeclaration

from a2a_adapters import Fleet, InvalidInputError, RemoteAgent, RemoteAgentError, Skill
from a2a_adapters.plugin import AgentDescription, StatelessTool, StatelessToolInput, check_arguments

if TYPE_CHECKING:
    from google.adk.agents.readonly_context import ReadonlyContext
    from google.adk.tools.tool_context import ToolContext

    from a2a_adapters.plugin import AgentOptions, AnyFleet

_STATE = "a2a_question:{}"
"""Key in the session's state: the place in the conversation at which a call asked its user."""


class A2ATool(BaseTool):
    """Any A2A agent as a tool: `LlmAgent(tools=[A2ATool("http://localhost:8000")], ...)`.

    A result contains its context id, and its task id if the agent asks a question. To continue the
    conversation, the model passes these ids to the next call. The tool is stateless: it serves any
    number of runs. If the agent fails, the model sees the reason.

    Args:
        agent: The agent, or its URL.
        about: The description that the model sees: of the agent, or of one of its skills, whose id
            is then sent as metadata `skill_id`. Without it the agent's card is read now, by a
            blocking call; in async code, pass `await RemoteAgent(...).describe()`.
        ask_user: Whether a question of the agent asks for a confirmation of the call, whose
            payload is the user's answer, so that the user answers it rather than the model.
        wait: Maximum time in seconds that a call waits for the answer. The next call with the
            task's id resumes waiting. None waits as long as the agent's timeout allows.
        **options: Options for an agent given by its URL; see `AgentOptions`.

    Raises:
        ConfigurationError: The URL is invalid.
        RemoteAgentError: The card cannot be read.
    """

    def __init__(
        self,
        agent: RemoteAgent | str,
        about: AgentDescription | Skill | None = None,
        *,
        ask_user: bool = False,
        wait: float | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        check_arguments(A2ATool, locals(), {"wait"})
        remote = RemoteAgent.of(agent, **options)
        self._asking = StatelessTool(remote, about, wait)
        self._ask_user = ask_user
        super().__init__(name=self._asking.name, description=self._asking.description)

    def _get_declaration(self) -> FunctionDeclaration:
        """Return the tool's arguments for the model (called by the framework)."""
        return FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=StatelessToolInput.model_json_schema(),
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
        """Send the message of a call, or the user's answer to its question."""
        key = _STATE.format(tool_context.function_call_id)
        place, message = {name: args.get(name, "") for name in ("context_id", "task_id")}, ""
        if (asked := tool_context.state.get(key)) and (said := tool_context.tool_confirmation):
            place, message = asked, str(said.payload or ("yes" if said.confirmed else "no"))
        try:
            reply = await self._asking.ask(message or args.get("message", ""), **place)
        except (InvalidInputError, RemoteAgentError) as error:
            return {"error": self._asking.failure(error)}
        asks = reply.is_question and self._ask_user
        if asked or asks:
            ids = {"context_id": reply.context_id, "task_id": reply.task_id}
            tool_context.state[key] = ids if asks else None
        if asks:
            tool_context.request_confirmation(hint=reply.question, payload="")
            return {"error": "The user has to answer a question of the agent first."}
        return {"result": self._asking.result(reply)}


class A2AToolkit(BaseToolset):
    """A tool for each agent of a fleet: `LlmAgent(tools=[A2AToolkit({"poet": url})], ...)`.

    Each invocation has the tools of the agents that respond at that time.

    Args:
        agents: A `Fleet`, or its agents by the names of their tools: URLs, settings, or
            `RemoteAgent`s.

    Raises:
        ConfigurationError: A setting is invalid.
    """

    def __init__(self, agents: AnyFleet) -> None:
        super().__init__()
        self.fleet = Fleet.of(agents)

    async def get_tools(
        self,
        readonly_context: ReadonlyContext | None = None,  # noqa: ARG002 - of the interface
    ) -> list[BaseTool]:
        """Return the tools of the reachable agents, in their order."""
        members = await self.fleet.members()
        return [A2ATool(each.agent, each.about, wait=each.wait) for each in members]

    async def close(self) -> None:
        """Close the connections, which the next call reopens."""
        await self.fleet.aclose()
