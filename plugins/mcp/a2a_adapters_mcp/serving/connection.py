"""A connection with an MCP server."""

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
"""How often is looked after a server that works: over HTTP nothing else tells that it has died."""

_SESSION_LOST = 32600
"""The code by which the SDK tells that a server over HTTP does not know the session any more."""

_CLOSING_SECONDS = 10.0
"""How long closing may take: a server over HTTP is told, and may not answer; a process has
four seconds before the SDK kills it."""

_MOST_NEWS = 1_000

_LOST = {types.CONNECTION_CLOSED, _SESSION_LOST}
_FIRST = asyncio.FIRST_COMPLETED


class ServerGoneError(Exception):
    """The MCP server cannot be reached, or has ended."""


class NotBegunError(ServerGoneError):
    """It was gone before it can have begun to work: the call may be made once more."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a server asks the user, and where the answer goes."""

    params: types.ElicitRequestParams
    answer: asyncio.Future[types.ElicitResult]


News: TypeAlias = Progress | Asked

T = TypeVar("T")
WorkOf: TypeAlias = "Callable[[ClientSession, ProgressFnT], Awaitable[T]]"
"""Makes a call over a session, and tells its progress."""


class Connection:
    """A session, kept open by a task of its own: what anyio opens, the same task must close.

    Args:
        streams: Opens the transport.
        can_ask: Whether the server may ask the user. It does not say in which call it asks, so a
            connection that it may ask over has one call at a time.
        start_seconds: How long the server may take to start.
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
        """Whether the server is there, as far as is known."""
        return self._is_ready and not self._ending.is_set()

    async def open(self) -> None:
        """Connect, and learn what the server has. What failed has to be closed, too.

        Raises:
            ServerGoneError: That fails, or takes too long.
        """
        self._keeping = asyncio.create_task(self._keep())
        # Not in the keeper: what anyio cancels there leaves the SDK's streams open.
        beginning = asyncio.create_task(self._begin())
        try:
            async with asyncio.timeout(self._start_seconds):
                await asyncio.wait({self._keeping, beginning}, return_when=_FIRST)
            if not beginning.done():
                raise self._why()
            beginning.result()
            self._is_ready = True
        except TimeoutError as error:
            told = f"the MCP server did not answer in {self._start_seconds:g} s"
            raise ServerGoneError(told) from error
        except (McpError, RuntimeError, *CLOSED) as error:
            raise ServerGoneError(f"the MCP server cannot be used: {error}") from error
        finally:
            beginning.cancel()
            await asyncio.wait({beginning})

    async def call(self, work: WorkOf[T], news: asyncio.Queue[News | None]) -> T:
        """Make a call and return its result; leaving cancels it.

        Args:
            work: Makes the call.
            news: Gets its progress, and what the server asks.

        Raises:
            ServerGoneError: The server is not there any more.
            McpError: It answers with an error of the protocol.
        """
        if not self.is_open:
            raise NotBegunError("the MCP server has ended")
        session = self._session.result()

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            if news.qsize() >= _MOST_NEWS:  # it is told faster than anybody reads
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
        """End the session, and the server if it is ours; one that starts is let start first.

        A server that is told of it and does not answer is left.
        """
        self._ending.set()
        if self._keeping is None:
            return
        # Not cancelled at once: what is cancelled while it starts a process never reaps it.
        await asyncio.wait({self._keeping}, timeout=_CLOSING_SECONDS)
        self._keeping.cancel()
        await asyncio.wait({self._keeping})

    async def _wait(self, session: Session, calling: asyncio.Task[Any]) -> None:
        """Wait for a call, or for the end of the server in it."""
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
        context: RequestContext[ClientSession, Any],  # noqa: ARG002 - by the SDK
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult | types.ErrorData:
        if self._news is None:
            return types.ErrorData(code=types.INVALID_REQUEST, message="there is no call")
        answer: asyncio.Future[types.ElicitResult] = asyncio.get_running_loop().create_future()
        self._news.put_nowait(Asked(params, answer))
        return await answer

    def _why(self) -> ServerGoneError:
        """Return why the connection has ended."""
        reason = next(_leaves(self._error), None)
        told = f": {type(reason).__name__}: {reason}" if reason else ""
        gone = ServerGoneError(f"the MCP server has ended, or cannot be reached{told}")
        gone.__cause__ = self._error
        return gone


async def _ping(session: Session) -> None:
    """Look after a server once.

    Raises:
        ServerGoneError: It does not know the session any more.
    """
    await asyncio.sleep(_PING_SECONDS)
    try:
        await session.send_ping()
    except McpError as error:
        if error.error.code in _LOST:
            raise ServerGoneError("the MCP server has ended") from error
    except CLOSED as error:  # of the ping alone: the call may have been worked on
        raise ServerGoneError("the MCP server has ended") from error


def _leaves(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the errors in a group."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    elif error is not None:
        yield error
