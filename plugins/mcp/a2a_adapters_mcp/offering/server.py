"""The MCP server whose tools are agents."""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode
from collections import deque
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from a2a.utils.errors import A2AError
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.shared.exceptions import McpError
from mcp.types import CONNECTION_CLOSED, Resource

from a2a_adapters import AgentReply, InvalidInputError
from a2a_adapters.concurrency import in_background
from a2a_adapters.dialects import log_failure
from a2a_adapters.plugin import PROGRESS_EXTENSION
from a2a_adapters_mcp.offering.arguments import ToolArguments
from a2a_adapters_mcp.offering.questions import DeclinedError, Elicitation
from a2a_adapters_mcp.offering.resources import Artifacts
from a2a_adapters_mcp.offering.results import error, to_result
from a2a_adapters_mcp.offering.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from a2a.server.context import ServerCallContext
    from mcp.server.session import ServerSession
    from mcp.types import CallToolResult, Tool
    from pydantic import AnyUrl

    from a2a_adapters import Part
    from a2a_adapters_mcp.offering.tools import AgentTool

_TASKS = 100
"""Maximum number of tasks per session whose artifacts are listed."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a tool with the client's session."""

    session: ServerSession
    request_id: str | int
    progress_token: str | int | None


class ToolServer:
    """MCP server that answers tool calls with agents.

    Args:
        tools: The tools by name.
        caller: Returns the caller of an HTTP request (None over stdio).
        lifespan: Entered for each session.
    """

    def __init__(
        self,
        tools: Mapping[str, AgentTool],
        caller: Callable[[Any], ServerCallContext],
        lifespan: Callable[[object], AbstractAsyncContextManager[object]] = nullcontext,
    ) -> None:
        self._tools = tools
        self._caller = caller
        self._artifacts = Artifacts({each.agent_id: each.agent for each in tools.values()}.values())
        self._contexts: WeakKeyDictionary[ServerSession, str] = WeakKeyDictionary()
        self._tasks: WeakKeyDictionary[ServerSession, deque[str]] = WeakKeyDictionary()
        self.server: Server[Any, Any] = Server(
            "a2a-adapters", version("a2a-adapters"), lifespan=lifespan
        )
        self.server.list_tools()(self._list)  # type: ignore[no-untyped-call]
        self.server.call_tool(validate_input=False)(self._answer)
        self.server.list_resources()(self._resources)  # type: ignore[no-untyped-call]
        self.server.read_resource()(self._read)  # type: ignore[no-untyped-call]

    async def _list(self) -> list[Tool]:
        return [each.tool for each in self._tools.values()]

    async def _resources(self) -> list[Resource]:
        """Return the artifacts of the session's latest tasks."""
        asked = self.server.request_context
        tasks = self._tasks.get(asked.session, ())
        found = await self._artifacts.listed(tasks, self._caller(asked.request))
        return [Resource.model_validate(each) for each in found]

    async def _read(self, uri: AnyUrl) -> list[ReadResourceContents]:
        context = self._caller(self.server.request_context.request)
        found = await self._artifacts.read(str(uri), context)
        content = found["text"] if "text" in found else b64decode(found["blob"])
        return [ReadResourceContents(content, found.get("mimeType"))]

    async def _answer(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        found = self._tools.get(name)
        if found is None:
            return error(f"unknown tool {name!r:.100}")
        try:
            reply = await self._call(found, ToolArguments.read(arguments))
            return to_result(reply, is_typed=found.is_typed)
        except DeclinedError:
            return error("the user did not answer the agent's question")
        except InvalidInputError as failure:
            return error(str(failure))
        except A2AError as failure:
            return error(failure.message)
        except Exception as failure:  # its text may be confidential
            error_id = log_failure(f"a call of the tool {name} failed", failure)
            return error(f"The call failed. Error id: {error_id}")

    async def _call(self, tool: AgentTool, arguments: ToolArguments) -> AgentReply:
        asked = self.server.request_context
        call = _Call(
            asked.session, asked.request_id, asked.meta.progressToken if asked.meta else None
        )
        context = self._caller(asked.request)
        if call.progress_token is not None:
            context.requested_extensions = {*context.requested_extensions, PROGRESS_EXTENSION}
        work = Work(tool.agent, context, tool.metadata, _Progress(call).tell)
        context_id = arguments.context_id
        if not (context_id or arguments.task_id):
            context_id = self._contexts.setdefault(call.session, str(uuid4()))
        reply = await work.send(arguments.parts, context_id, arguments.task_id)
        tasks = self._tasks.setdefault(call.session, deque(maxlen=_TASKS))
        if reply.task_id and reply.task_id not in tasks:
            tasks.append(reply.task_id)
        elicitation = Elicitation(call.session, call.request_id)
        while reply.is_question:
            answer = await _ask(elicitation, reply, work)
            if answer is None:
                return reply
            reply = await work.send(answer, reply.context_id, reply.task_id)
        return reply


async def _ask(elicitation: Elicitation, reply: AgentReply, work: Work) -> list[Part] | None:
    """Return the user's answer, None without one; cancel the task if the client is gone.

    Raises:
        DeclinedError: The user declined.
    """
    try:
        return await elicitation.answer(reply)
    except DeclinedError:
        await work.cancel()
        raise
    except asyncio.CancelledError:
        in_background(work.cancel())
        raise
    except McpError as failure:
        if failure.error.code == CONNECTION_CLOSED:
            in_background(work.cancel())
        logger.info("a client failed to ask its user: %s", failure)
        return None


class _Progress:
    """Sends progress to clients that request it."""

    def __init__(self, call: _Call) -> None:
        self._call = call
        self._count = 0

    async def tell(self, text: str) -> None:
        token = self._call.progress_token
        if token is None:
            return
        self._count += 1
        await self._call.session.send_progress_notification(
            token,
            self._count,
            message=text,
            related_request_id=str(self._call.request_id),
        )
