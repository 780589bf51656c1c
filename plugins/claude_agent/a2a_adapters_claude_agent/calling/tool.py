"""A remote agent, or one of its skills, as a tool of an in-process MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from claude_agent_sdk import SdkMcpTool
from pydantic import ValidationError

from a2a_adapters import InvalidInputError, RemoteAgent, RemoteAgentError, Skill
from a2a_adapters.plugin import AgentDescription, StatelessTool, StatelessToolInput

if TYPE_CHECKING:
    from a2a_adapters.plugin import AgentOptions


def a2a_tool(
    agent: RemoteAgent | str,
    about: AgentDescription | Skill | None = None,
    *,
    wait: float | None = None,
    **options: Unpack[AgentOptions],
) -> SdkMcpTool[Any]:
    """Return any A2A agent as a tool for `create_sdk_mcp_server(name, tools=[...])`.

    A result contains its context id, and its task id if the agent asks a question. To continue the
    conversation, the model passes these ids to the next call. The tool is stateless: it serves any
    number of runs. Errors are results that the model sees.

    Args:
        agent: The agent, or its URL.
        about: The description that the model sees: of the agent, or of one of its skills, whose id
            is then sent as metadata `skill_id`. Without it the agent's card is read now, by a
            blocking call; in async code, pass `await RemoteAgent(...).describe()`.
        wait: Maximum time in seconds that a call waits for the answer. The next call with the
            task's id resumes waiting. None waits as long as the agent's timeout allows.
        **options: Options for an agent given by its URL; see `AgentOptions`.

    Raises:
        ConfigurationError: The URL is invalid.
        RemoteAgentError: The card cannot be read.
    """
    tool = StatelessTool(RemoteAgent.of(agent, **options), about, wait)

    async def invoke(arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            asked = StatelessToolInput.model_validate(arguments)
            reply = await tool.ask(asked.message, asked.context_id, asked.task_id)
        except ValidationError as error:
            return _result(tool.failure(InvalidInputError.of(error)), is_error=True)
        except (InvalidInputError, RemoteAgentError) as error:
            return _result(tool.failure(error), is_error=True)
        return _result(tool.result(reply))

    return SdkMcpTool(tool.name, tool.description, StatelessToolInput.model_json_schema(), invoke)


def _result(text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "is_error": is_error}
