"""The ASGI app that receives push notifications."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from a2a.types import AuthenticationInfo, TaskPushNotificationConfig
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from a2a_adapters import (
    AccessDeniedError,
    ConfigurationError,
    ForbiddenError,
    InvalidInputError,
    UnauthenticatedError,
)
from a2a_adapters.plugin import check_arguments
from a2a_adapters_webhooks.notification import Arrival, Binding, Record
from a2a_adapters_webhooks.tables import open_table
from a2a_adapters_webhooks.watched_table import Watch, WatchedTable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.types import Receive, Scope, Send

    from a2a_adapters import Authenticator
    from a2a_adapters_webhooks.notification import Notification

_TOKEN = "x-a2a-notification-token"  # noqa: S105 - a header
_MEBIBYTE = 1024 * 1024
_LARGE_BYTES = 64 * 1024
"""Size from which parsing would block the event loop."""

_BINDING_SECONDS = 3.0
"""Time that a notification waits for `start` to return; senders give up after 5 to 10 seconds."""

logger = logging.getLogger(__name__)


class WebhookReceiver:
    """Receives push notifications of remote tasks, as an ASGI app to mount or to run alone.

    Pass it to `RemoteAgent.start(..., notify=receiver)`: waiting tasks wake up when a notification
    arrives, also in other processes with the same storage and secret. Handlers get every new
    notification, those of one task one at a time.

    Each task gets its own token, which its agent has to send with every notification, and which is
    accepted for no other task and no other agent. A notification that arrives before `start` has
    returned waits briefly, and is then refused with 425, so that the agent repeats it. Repeated and
    outdated notifications are acknowledged, but change nothing. Notifications after the end of
    a task count as such, so that recorded ones cannot be replayed.

    Args:
        url: The public URL at which agents reach this app.
        secret: Signs the tokens; at least 16 characters. Needed with a database, because other
            processes then check them. By default it is random.
        storage: Where notifications are recorded: `memory:`; a file of its own for the processes
            of one machine, `sqlite:///file.db`; or `postgresql://...`, as for servers.
        credentials: Sent by agents as `Authorization: Bearer ...`, for a gateway in front.
        authentication: Checks that header in addition, for example `JwtTokens` for agents that
            sign their notifications.
        poll_seconds: Maximum time that a task waits for a notification; then it asks the agent.
        max_bytes: Maximum size of a notification.

    Raises:
        ConfigurationError: The secret is missing or too short, or the storage is unknown.
    """

    def __init__(
        self,
        url: str,
        *,
        secret: str | None = None,
        storage: str = "memory:",
        credentials: str = "",
        authentication: Authenticator | None = None,
        poll_seconds: float = 60,
        max_bytes: int = 8 * _MEBIBYTE,
    ) -> None:
        check_arguments(WebhookReceiver, locals(), {"poll_seconds", "max_bytes"})
        if secret is None and storage != "memory:":
            raise ConfigurationError("a receiver with a database needs a secret for its tokens")
        if secret is not None and len(secret) < 16:
            raise ConfigurationError("the secret of a receiver must have at least 16 characters")
        self.url = url
        self._secret = (secret or secrets.token_hex()).encode()
        self._credentials = credentials
        self._authentication = authentication
        self._poll_seconds = poll_seconds
        self._max_bytes = max_bytes
        self._table = WatchedTable(open_table(storage))
        self._handlers: list[Callable[[Notification], Awaitable[None]]] = []
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        routes = [Route("/{path:path}", self._receive, methods=["POST"])]
        self._app = Starlette(routes=routes, lifespan=self._closing)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve as an ASGI app."""
        await self._app(scope, receive, send)

    def handler(
        self, function: Callable[[Notification], Awaitable[None]]
    ) -> Callable[[Notification], Awaitable[None]]:
        """Call a function with every new notification; a decorator.

        The agent waits for it. If it raises, the agent is asked to send the notification again.
        """
        self._handlers.append(function)
        return function

    def push_config(self) -> TaskPushNotificationConfig:
        """Return the configuration of one task, with a token of its own."""
        config = TaskPushNotificationConfig(url=self.url, token=self._signed(secrets.token_hex(16)))
        if self._credentials:
            config.authentication.CopyFrom(
                AuthenticationInfo(scheme="Bearer", credentials=self._credentials)
            )
        return config

    async def bind(self, config: TaskPushNotificationConfig, agent: str, task_id: str) -> None:
        """Accept notifications with the token of `config` for this task of this agent only."""
        binding = Binding(agent, task_id).to_json()
        await self._table.write(_digest(config.token), None, binding)

    def watch(self, agent: str, task_id: str) -> Callable[[], Awaitable[None]]:
        """Return a function that waits for a notification that arrived after its previous call."""
        return Watch(self._table, Binding(agent, task_id).key, self._poll_seconds)

    async def aclose(self) -> None:
        """Disconnect from the storage in this event loop."""
        await self._table.aclose()

    def _signed(self, nonce: str) -> str:
        return f"{nonce}.{hmac.new(self._secret, nonce.encode(), 'sha256').hexdigest()}"

    async def _receive(self, request: Request) -> Response:
        try:
            token = await self._authenticated(request)
            binding = await self._binding(token)
            if binding is None:
                return _refusal(425, "the task of the token is not known yet")
            arrival = await self._arrival(request, binding)
            await self._take(arrival, binding)
        except AccessDeniedError as error:
            return _refusal(401 if isinstance(error, UnauthenticatedError) else 403, error)
        except InvalidInputError as error:
            return _refusal(400, error)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception:
            logger.exception("a notification could not be handled")
            return Response(status_code=500)
        return Response(status_code=204)

    @asynccontextmanager
    async def _closing(self, _: Starlette) -> AsyncIterator[None]:
        yield
        await self.aclose()

    async def _authenticated(self, request: Request) -> str:
        token = request.headers.get(_TOKEN, "")
        expected = self._signed(token.partition(".")[0])
        if not hmac.compare_digest(token.encode(), expected.encode()):
            raise UnauthenticatedError("the notification token is missing or wrong")
        if self._authentication is not None:
            await self._authentication.authenticate(request.headers)
        return token

    async def _binding(self, token: str) -> Binding | None:
        """Return the task of a token, waiting briefly if it is not known yet."""
        bound = Watch(self._table, _digest(token), _BINDING_SECONDS)
        await bound()
        return Binding.parse(bound.record) if bound.record is not None else None

    async def _arrival(self, request: Request, binding: Binding) -> Arrival:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > self._max_bytes:
                raise InvalidInputError(f"the notification is over {self._max_bytes:,} bytes")
        try:
            if len(body) <= _LARGE_BYTES:
                return Arrival.of(bytes(body), binding.agent)
            return await asyncio.to_thread(Arrival.of, bytes(body), binding.agent)
        except ValueError as error:
            raise InvalidInputError("this is not a push notification of a task") from error

    async def _take(self, arrival: Arrival, binding: Binding) -> None:
        if arrival.notification.task_id != binding.task_id:
            raise ForbiddenError("the token belongs to another task")
        key = binding.key
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            is_handled = False
            while True:
                stored = await self._table.read(key)
                record = Record.parse(stored)
                if not record.is_news(arrival):
                    return
                if not is_handled:
                    for function in self._handlers:
                        await function(arrival.notification)
                    is_handled = True
                if await self._table.write(key, stored, record.after(arrival).to_json()):
                    return


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _refusal(status: int, error: Exception | str) -> Response:
    logger.warning("a notification was refused with %d: %s", status, error)
    return PlainTextResponse(str(error), status)
