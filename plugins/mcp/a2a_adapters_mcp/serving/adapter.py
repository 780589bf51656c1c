"""An MCP server as an adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.shared.exceptions import McpError
from mcp.types import INVALID_PARAMS

from a2a_adapters import (
    Adapter,
    AgentDescription,
    AgentEvent,
    AgentRequest,
    Progress,
    Rejected,
    Skill,
)
from a2a_adapters.dialects import quote
from a2a_adapters_mcp.serving.calls import CallReader, ToolCall, example
from a2a_adapters_mcp.serving.connection import NotBegunError
from a2a_adapters_mcp.serving.questions import give, question
from a2a_adapters_mcp.serving.results import events
from a2a_adapters_mcp.serving.shown import ABOUT_LENGTH, NAME_LENGTH, text_of
from a2a_adapters_mcp.serving.work import Work

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from mcp.types import CallToolResult, Tool

    from a2a_adapters_mcp.serving.pool import Connections


class McpAdapter(Adapter):
    """Calls the tools of an MCP server.

    Args:
        connections: What calls go through.
        tools: The server's tools by their names.
        name: The agent's name.
        description: What it does.
    """

    def __init__(
        self, connections: Connections, tools: Mapping[str, Tool], name: str, description: str
    ) -> None:
        self._connections = connections
        self._tools = tools
        self._reader = CallReader(tools)
        self._name = name
        self._description = description

    def describe(self) -> AgentDescription:
        """Describe each tool as a skill."""
        skills = [
            Skill(
                id=tool.name,
                name=quote(tool.title or "", NAME_LENGTH) or tool.name,
                description=quote(tool.description or "", ABOUT_LENGTH) or f"The tool {tool.name}.",
                tags=["mcp"],
                examples=[example(tool)],
            )
            for tool in self._tools.values()
        ]
        text = ["text/plain"] if self._reader.takes_text else []
        return AgentDescription(
            name=self._name,
            description=self._description,
            skills=skills,
            input_modes=["application/json", *text],
        )

    def stream(self, request: AgentRequest) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Call the tool that the message means."""
        return self._answer(request, self._reader.read(request))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()

    async def _answer(
        self, request: AgentRequest, call: ToolCall
    ) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        key = (request.owner, request.context_id)
        result: CallToolResult | None = None
        may_repeat = True
        while result is None:
            try:
                async with (
                    self._connections.lease(key) as connection,
                    Work(connection, call) as work,
                ):
                    while (news := await work.news()) is not None:
                        if isinstance(news, Progress):
                            yield news
                            continue
                        hint = ""
                        while not news.answer.done():
                            answer = yield question(news.params, hint)
                            hint = give(news, answer)
                    result = work.result()
            except NotBegunError:
                if not may_repeat:
                    raise
                may_repeat = False
            except McpError as error:
                if error.error.code != INVALID_PARAMS:
                    raise
                yield Rejected(text_of(error.error.message))
                return
        for event in events(result, call.tool):
            yield event
