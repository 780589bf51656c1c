"""Adapter of MCP servers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from mcp.shared.exceptions import McpError

from a2a_adapters import AgentEvent, AgentRequest, Progress, Rejected, Skill
from a2a_adapters.dialects import quote
from a2a_adapters.plugin import Adapter, AgentDescription, AgentFailedError
from a2a_adapters_mcp.serving.calls import Call, CallReader, example, prompt_example
from a2a_adapters_mcp.serving.connection import NotBegunError, ServerGoneError
from a2a_adapters_mcp.serving.questions import give, question
from a2a_adapters_mcp.serving.shown import ABOUT_LENGTH, NAME_LENGTH, text_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from a2a_adapters import AgentEvent
    from a2a_adapters_mcp.serving.calls import Call
    from a2a_adapters_mcp.serving.connection import Connection, News
    from a2a_adapters_mcp.serving.pool import Connections
    from a2a_adapters_mcp.serving.shown import Offer

_LISTED = 20
"""Maximum number of resources listed in the card."""


class McpAdapter(Adapter):
    """Calls tools, reads resources and gets prompts of an MCP server.

    Args:
        connections: Provides connections for calls.
        offer: Tools, prompts and resources of the server.
        name: Name of the agent.
        description: Description of the agent.
    """

    def __init__(self, connections: Connections, offer: Offer, name: str, description: str) -> None:
        self._connections = connections
        self._offer = offer
        self._reader = CallReader(offer)
        self._name = name
        self._description = description

    def describe(self) -> AgentDescription:
        """Describe each tool and prompt as a skill, and all resources as one."""
        skills = [
            Skill(
                id=tool.name,
                name=quote(tool.title or "", NAME_LENGTH) or tool.name,
                description=quote(tool.description or "", ABOUT_LENGTH) or f"The tool {tool.name}.",
                tags=["mcp"],
                examples=[example(tool)],
            )
            for tool in self._offer.tools.values()
        ]
        skills += [
            Skill(
                id=f"prompt:{prompt.name}",
                name=quote(prompt.title or "", NAME_LENGTH) or prompt.name,
                description=quote(prompt.description or "", ABOUT_LENGTH)
                or f"The prompt {prompt.name}.",
                tags=["mcp", "prompt"],
                examples=[prompt_example(prompt)],
            )
            for prompt in self._offer.prompts.values()
        ]
        if resources := self._offer.resources:
            listed = "\n".join(quote(each, ABOUT_LENGTH) for each in resources[:_LISTED])
            more = "\n..." if len(resources) > _LISTED else ""
            skills.append(
                Skill(
                    id="resources",
                    name="Resources",
                    description=f"Returns the file for a URI:\n{listed}{more}",
                    tags=["mcp", "resource"],
                    examples=['{"resource": "<URI>"}'],
                )
            )
        text = ["text/plain"] if self._reader.takes_text else []
        return AgentDescription(
            name=self._name,
            description=self._description,
            skills=skills,
            input_modes=["application/json", *text],
        )

    def stream(self, request: AgentRequest) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Perform the call in the message."""
        return self._answer(request, self._reader.read(request))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()

    async def _answer(
        self, request: AgentRequest, call: Call
    ) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        key = (request.owner, request.context_id)
        result: Iterator[AgentEvent] | None = None
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
            except NotBegunError as error:
                if not may_repeat:
                    raise AgentFailedError("tool") from error
                may_repeat = False
            except (ServerGoneError, McpError) as error:
                if not isinstance(error, McpError) or error.error.code not in call.refusals:
                    raise AgentFailedError("tool") from error
                yield Rejected(text_of(error.error.message))
                return
        for event in result:
            yield event


class Work:
    """Runs a call in a separate task; exiting the context cancels it.

    Args:
        connection: The connection to the server.
        call: The call.
    """

    def __init__(self, connection: Connection, call: Call) -> None:
        self._connection = connection
        self._call = call
        self._news: asyncio.Queue[News | None] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        calling = self._connection.call(self._call.events, self._news)
        self._calling = asyncio.create_task(calling)
        self._calling.add_done_callback(lambda _: self._news.put_nowait(None))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._calling.cancel()
        await asyncio.wait({self._calling})

    async def news(self) -> News | None:
        """Return the next progress or question, None at the end."""
        return await self._news.get()

    def result(self) -> Iterator[AgentEvent]:
        """Return the events of the result.

        Raises:
            ServerGoneError: The server was unavailable or ended.
            McpError: The server returned a protocol error.
        """
        return self._calling.result()
