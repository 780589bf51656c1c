"""Connections to MCP servers."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from mcp import ClientSession, types
from mcp.shared.exceptions import McpError

from a2a_adapters import Progress
from a2a_adapters.dialects import quote
from a2a_adapters_mcp.serving.session import CLOSED, Session, Watched, every, every_if_any
from a2a_adapters_mcp.serving.shown import ABOUT_LENGTH, NAME_LENGTH

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.context import RequestContext
    from mcp.shared.message import SessionMessage
    from mcp.shared.session import ProgressFnT

    Streams: TypeAlias = tuple[
        MemoryObjectReceiveStream[SessionMessage | Exception],
        MemoryObjectSendStream[SessionMessage],
    ]

_PING_SECONDS = 10.0
"""Interval of pings during calls, which detect dead HTTP servers."""

_SESSION_LOST = 32600
"""Error code of the SDK for a session unknown to an HTTP server."""

_CLOSING_SECONDS = 10.0
"""Time limit for closing: an HTTP server may not respond; a process has
four seconds before the SDK kills it."""

_MOST_NEWS = 1_000

_LOST = {types.CONNECTION_CLOSED, _SESSION_LOST}
_FIRST = asyncio.FIRST_COMPLETED


class ServerGoneError(Exception):
    """The MCP server cannot be reached or has ended."""


class NotBegunError(ServerGoneError):
    """The server ended before it could start the call, which may be retried."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a server, with the future of its answer."""

    params: types.ElicitRequestParams
    answer: asyncio.Future[types.ElicitResult]


News: TypeAlias = Progress | Asked

T = TypeVar("T")
WorkOf: TypeAlias = "Callable[[ClientSession, ProgressFnT], Awaitable[T]]"
"""Performs a call over a session and reports progress."""


class Connection:
    """A session held open by a dedicated task, because anyio must open and close in one task.

    Args:
        streams: Opens the transport.
        can_ask: Whether the server may ask the user. Questions name no call, so such a
            connection handles one call at a time.
        start_seconds: Time limit for starting the server.
    """

    def __init__(
        self,
        streams: Callable[[], AbstractAsyncContextManager[Streams]],
        *,
        can_ask: bool,
        start_seconds: float,
    ) -> None:
        self._streams = streams
        self._can_ask = can_ask
        self._start_seconds = start_seconds
        self._keeping: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()
        self._news: asyncio.Queue[News | None] | None = None
        self._error: Exception | None = None
        self._session: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        self._is_ready = False
        self.name = ""
        self.instructions = ""
        self.tools: Sequence[types.Tool] = ()
        self.resources: Sequence[types.Resource | types.ResourceTemplate] = ()
        self.prompts: Sequence[types.Prompt] = ()

    @property
    def is_open(self) -> bool:
        """Whether the server is known to be available."""
        return self._is_ready and not self._ending.is_set()

    async def open(self) -> None:
        """Connect and initialise. Close the connection even if this fails.

        Raises:
            ServerGoneError: The server fails or is too slow.
        """
        self._keeping = asyncio.create_task(self._keep())
        # Not in the keeper, where anyio's cancellation would leave the SDK's streams open.
        beginning = asyncio.create_task(self._begin())
        try:
            async with asyncio.timeout(self._start_seconds):
                await asyncio.wait({self._keeping, beginning}, return_when=_FIRST)
            if not beginning.done():
                raise self._why()
            beginning.result()
            self._is_ready = True
        except TimeoutError as error:
            message = f"the MCP server did not answer in {self._start_seconds:g} s"
            raise ServerGoneError(message) from error
        except (McpError, RuntimeError, *CLOSED) as error:
            raise ServerGoneError(f"cannot use the MCP server: {error}") from error
        finally:
            beginning.cancel()
            await asyncio.wait({beginning})

    async def call(self, work: WorkOf[T], news: asyncio.Queue[News | None]) -> T:
        """Perform a call and return its result; cancellation cancels the call.

        Args:
            work: Performs the call.
            news: Receives progress and questions.

        Raises:
            ServerGoneError: The server has ended.
            McpError: The server returns a protocol error.
        """
        if not self.is_open:
            raise NotBegunError("the MCP server has ended")
        session = self._session.result()

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            if news.qsize() >= _MOST_NEWS:  # faster than it is read
                return
            done = f"{progress:g} of {total:g}" if total else f"{progress:g}"
            text = quote(message or "", ABOUT_LENGTH) or done
            news.put_nowait(Progress(text, {"progress": progress, "total": total}))

        if self._can_ask:
            self._news = news
        calling = asyncio.ensure_future(work(session, tell))
        try:
            await self._wait(session, calling)
            return calling.result()
        except CLOSED as error:
            self._ending.set()
            raise NotBegunError("the MCP server has ended") from error
        except McpError as error:
            if error.error.code not in _LOST:
                raise
            self._ending.set()
            kind = NotBegunError if error.error.code == _SESSION_LOST else ServerGoneError
            raise kind("the MCP server has ended") from error
        finally:
            self._news = None
            calling.cancel()
            await asyncio.wait({calling})

    async def close(self) -> None:
        """Close the session and stop our own server; a starting one finishes starting first.

        A server that does not respond is abandoned.
        """
        self._ending.set()
        if self._keeping is None:
            return
        # Not cancelled immediately: cancelling the start of a process would leave a zombie.
        await asyncio.wait({self._keeping}, timeout=_CLOSING_SECONDS)
        self._keeping.cancel()
        await asyncio.wait({self._keeping})

    async def _wait(self, session: Session, calling: asyncio.Task[Any]) -> None:
        """Wait for a call or for the end of the server."""
        assert self._keeping is not None  # noqa: S101 - it is open
        pinging: asyncio.Task[Any] | None = None
        try:
            while not calling.done():
                if pinging is not None and pinging.done():
                    pinging.result()
                    pinging = None
                pinging = pinging or asyncio.create_task(_ping(session))
                await asyncio.wait({calling, self._keeping, pinging}, return_when=_FIRST)
                if self._keeping.done() and not calling.done():
                    raise self._why()
        finally:
            if pinging is not None:
                pinging.cancel()

    async def _keep(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                read, write = await stack.enter_async_context(self._streams())
                watched = await stack.enter_async_context(Watched(read, self._ending))
                session = await stack.enter_async_context(
                    Session(
                        watched,
                        write,
                        elicitation_callback=self._ask if self._can_ask else None,
                        client_info=types.Implementation(
                            name="a2a-adapters", version=version("a2a-adapters")
                        ),
                    )
                )
                self._session.set_result(session)
                await self._ending.wait()
        except Exception as error:
            self._error = error
        finally:
            self._ending.set()

    async def _begin(self) -> None:
        session = await self._session
        about = await session.initialize()
        self.name = quote(about.serverInfo.name, NAME_LENGTH) or "mcp"
        self.instructions = about.instructions or ""
        has = about.capabilities
        if has.tools or not (has.resources or has.prompts):
            self.tools = await every(session.list_tools, "tools")
        if has.resources:
            self.resources = [
                *await every_if_any(session.list_resources, "resources"),
                *await every_if_any(session.list_resource_templates, "resourceTemplates"),
            ]
        if has.prompts:
            self.prompts = await every_if_any(session.list_prompts, "prompts")

    async def _ask(
        self,
        context: RequestContext[ClientSession, Any],  # noqa: ARG002 - passed by the SDK
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult | types.ErrorData:
        if self._news is None:
            return types.ErrorData(code=types.INVALID_REQUEST, message="no call is running")
        answer: asyncio.Future[types.ElicitResult] = asyncio.get_running_loop().create_future()
        self._news.put_nowait(Asked(params, answer))
        return await answer

    def _why(self) -> ServerGoneError:
        """Return the reason for the end of the connection."""
        reason = next(_leaves(self._error), None)
        cause = f": {type(reason).__name__}: {reason}" if reason else ""
        gone = ServerGoneError(f"the MCP server has ended or cannot be reached{cause}")
        gone.__cause__ = self._error
        return gone


async def _ping(session: Session) -> None:
    """Ping a server once.

    Raises:
        ServerGoneError: The server has lost the session.
    """
    await asyncio.sleep(_PING_SECONDS)
    try:
        await session.send_ping()
    except McpError as error:
        if error.error.code in _LOST:
            raise ServerGoneError("the MCP server has ended") from error
    except CLOSED as error:  # only of the ping: the call may have run
        raise ServerGoneError("the MCP server has ended") from error


def _leaves(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the errors in an exception group."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    elif error is not None:
        yield error
