"""`OmniRouteClient`: an OmniRoute gateway, called from async or blocking code."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NoReturn, Self, TypeAlias

from a2a_adapters import JSON, RemoteAgentError, RemoteTimeoutError, TextDelta, blocking
from a2a_adapters_omniroute.errors import OmniRouteAnswerError
from a2a_adapters_omniroute.gateway import Gateway
from a2a_adapters_omniroute.outcome import reply_of
from a2a_adapters_omniroute.reply import (
    OmniRouteCard,
    OmniRouteReply,
    OmniRouteTask,
    read_card,
    read_task,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence

__all__ = ["QUOTA_MANAGEMENT", "SMART_ROUTING", "OmniRouteClient"]

SMART_ROUTING = "smart-routing"
"""The skill that sends messages to the best model."""

QUOTA_MANAGEMENT = "quota-management"
"""The skill that knows what is left of the quotas."""

Messages: TypeAlias = "str | Sequence[Mapping[str, JSON]]"

_CANCEL_SECONDS = 5.0

_cancelling: set[asyncio.Task[None]] = set()


class OmniRouteClient:
    """An OmniRoute gateway, whose A2A endpoint no A2A client understands.

    Connects on first use. One object serves any number of threads and event loops at once.

    Args:
        base_url: The gateway's address.
        api_key: Its key, or a callable that returns it, sync or async; "" for an open gateway.
        timeout: How long an answer may take, in seconds. The gateway itself gives up after 30 s.

    Raises:
        ConfigurationError: The address is none.
    """

    def __init__(
        self,
        base_url: str = "http://localhost:20128",
        *,
        api_key: str | Callable[[], str | Awaitable[str]] = "",
        timeout: float = 60,
    ) -> None:
        self._gateway = Gateway(base_url, api_key, timeout)
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"OmniRouteClient({self._gateway.url!r})"

    def __deepcopy__(self, memo: object) -> Self:
        return self  # frameworks copy what models hold; the connections are shared

    def __reduce__(self) -> NoReturn:
        raise TypeError("an OmniRouteClient holds connections and cannot be pickled")

    async def discover(self) -> OmniRouteCard:
        """Return what the gateway says of itself; it does so also while A2A is switched off.

        Raises:
            RemoteAgentError: There is no gateway.
        """
        async with self._in_time():
            return read_card(await self._gateway.card())

    async def send(
        self, skill: str, messages: Messages, metadata: Mapping[str, JSON] | None = None
    ) -> OmniRouteReply:
        """Send messages to a skill and return the whole answer.

        Args:
            skill: Which, as the card names it.
            messages: `{"role": ..., "content": ...}` each, or a text from the user.
            metadata: What else the skill takes; for "smart-routing" a `Routing` makes it.

        Raises:
            OmniRouteBudgetError: The call is over its budget; `reply` holds the answer, if any.
            OmniRouteError: There is no answer; the subclass says why and what to do.
            RemoteAgentError: The gateway cannot be reached, or is too slow.
        """
        async with self._in_time():
            result = await self._gateway.call("message/send", _params(skill, messages, metadata))
        return reply_of(read_task(result))

    async def stream(
        self, skill: str, messages: Messages, metadata: Mapping[str, JSON] | None = None
    ) -> AsyncGenerator[TextDelta | OmniRouteReply]:
        """Send messages to a skill; yield the text as it comes, and last the whole answer.

        OmniRoute 3.7.9 sends the text in one piece. Closing the stream before its end cancels the
        task. For the arguments and errors see `send`.
        """
        deadline = asyncio.get_running_loop().time() + self._timeout
        events = self._gateway.stream("message/stream", _params(skill, messages, metadata))
        task, pieces = None, []
        try:
            while task is None or not task.is_finished:
                async with self._in_time(deadline):
                    event = await anext(events, None)
                if event is None:
                    raise OmniRouteAnswerError("the gateway's stream ended before its task did")
                task = read_task(event)
                if piece := _piece(event):
                    pieces.append(piece)
                    yield TextDelta(piece)
        except (GeneratorExit, asyncio.CancelledError, RemoteTimeoutError):
            if task is not None and not task.is_finished:
                self._cancel_later(task.id)
            raise
        except RemoteAgentError as error:
            error.task_id = error.task_id or (task.id if task else "")
            raise
        finally:
            await events.aclose()
        reply = reply_of(task, "".join(pieces))
        if not pieces:
            yield TextDelta(reply.text)
        yield reply

    async def get_task(self, task_id: str) -> OmniRouteTask:
        """Return a task as it now stands, whatever its state.

        Raises:
            OmniRouteTaskNotFoundError: The gateway does not know it, or has forgotten it.
            RemoteAgentError: It does not answer.
        """
        async with self._in_time():
            return read_task(await self._gateway.call("tasks/get", {"taskId": task_id}))

    async def cancel_task(self, task_id: str) -> OmniRouteTask:
        """Stop waiting for a task's answer; the provider may work on it all the same.

        Raises:
            OmniRouteTaskNotFoundError: The gateway does not know it.
            OmniRouteTaskFinishedError: It has ended already.
            RemoteAgentError: The gateway does not answer.
        """
        async with self._in_time():
            return read_task(await self._gateway.call("tasks/cancel", {"taskId": task_id}))

    async def quota(self, question: str = "How much quota is left?") -> OmniRouteReply:
        """Ask in words for quotas: for a ranking, for something free, or for a summary.

        For the errors see `send`.
        """
        return await self.send(QUOTA_MANAGEMENT, question)

    async def wait(
        self,
        task_id: str,
        timeout: float = 300,  # noqa: ASYNC109 - it cancels the task, not only the waiting
        interval: float = 2,
    ) -> OmniRouteReply:
        """Ask for a task every `interval` seconds until it ends; cancel it after `timeout`.

        Raises:
            RemoteTimeoutError: It did not end in time.
            RemoteAgentError: It ended without an answer, see `send`.
        """
        try:
            async with asyncio.timeout(timeout) as limit:
                task = await self.get_task(task_id)
                while not task.is_finished:
                    await asyncio.sleep(interval)
                    task = await self.get_task(task_id)
        except TimeoutError as error:
            if not limit.expired():
                raise
            self._cancel_later(task_id)
            raise RemoteTimeoutError(
                f"the task did not end within {timeout:g} s and was cancelled", task_id=task_id
            ) from error
        return reply_of(task)

    async def aclose(self) -> None:
        """Close the connections; the next call opens them again."""
        await self._gateway.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def discover_sync(self) -> OmniRouteCard:
        """`discover` from blocking code."""
        return blocking.run(self.discover())

    def send_sync(
        self, skill: str, messages: Messages, metadata: Mapping[str, JSON] | None = None
    ) -> OmniRouteReply:
        """`send` from blocking code."""
        return blocking.run(self.send(skill, messages, metadata))

    def stream_sync(
        self, skill: str, messages: Messages, metadata: Mapping[str, JSON] | None = None
    ) -> Generator[TextDelta | OmniRouteReply]:
        """`stream` from blocking code."""
        return blocking.iterate(self.stream(skill, messages, metadata))

    def get_task_sync(self, task_id: str) -> OmniRouteTask:
        """`get_task` from blocking code."""
        return blocking.run(self.get_task(task_id))

    def cancel_task_sync(self, task_id: str) -> OmniRouteTask:
        """`cancel_task` from blocking code."""
        return blocking.run(self.cancel_task(task_id))

    def quota_sync(self, question: str = "How much quota is left?") -> OmniRouteReply:
        """`quota` from blocking code."""
        return blocking.run(self.quota(question))

    def wait_sync(self, task_id: str, timeout: float = 300, interval: float = 2) -> OmniRouteReply:
        """`wait` from blocking code."""
        return blocking.run(self.wait(task_id, timeout, interval))

    def close(self) -> None:
        """`aclose` from blocking code."""
        blocking.run(self.aclose())

    @asynccontextmanager
    async def _in_time(self, deadline: float | None = None) -> AsyncGenerator[None]:
        if deadline is None:
            deadline = asyncio.get_running_loop().time() + self._timeout
        try:
            async with asyncio.timeout_at(deadline) as limit:
                yield
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise RemoteTimeoutError(f"no whole answer within {self._timeout:g} s") from error

    def _cancel_later(self, task_id: str) -> None:
        task = asyncio.create_task(self._give_up(task_id))
        _cancelling.add(task)
        task.add_done_callback(_cancelling.discard)

    async def _give_up(self, task_id: str) -> None:
        try:
            async with asyncio.timeout(_CANCEL_SECONDS):
                await self.cancel_task(task_id)
        except (RemoteAgentError, TimeoutError):  # whoever left does not wait for the outcome
            return


def _params(skill: str, messages: Messages, metadata: Mapping[str, JSON] | None) -> dict[str, JSON]:
    sent = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    return {"skill": skill, "messages": sent, **({"metadata": metadata} if metadata else {})}


def _piece(event: Mapping[str, object]) -> str:
    match event.get("chunk"):
        case {"content": str(content)}:
            return content
        case _:
            return ""
