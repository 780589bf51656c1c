"""The agent under test: its card, its interfaces, and cached answers."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import uuid4

from a2a_adapters.contract.events import HELD_TEXT_EXTENSION
from a2a_adapters_check.interfaces import GET, GRPC, REST, RPC, SEND, interfaces_of, listed
from a2a_adapters_check.operations import Outcome, call, outcome
from a2a_adapters_check.report import ONLY_OLD, UNAUTHENTICATED, UNREACHABLE, UncheckedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    import httpx

    from a2a_adapters_check.http_client import Answer, HttpClient
    from a2a_adapters_check.interfaces import Interface, Operation

T = TypeVar("T")

_NO_JSON = b'{"jsonrpc": "2.0", "id": 1, "method": '


class Subject:
    """The agent under test.

    Args:
        url: URL of the agent.
        http: Client for the requests.
        card_url: URL of the card.
        card_answer: Response with the card.
        deadline: End of the time limit, by `time.monotonic`.
        has_credentials: Whether credentials were given.
    """

    def __init__(
        self,
        url: httpx.URL,
        http: HttpClient,
        card_url: str,
        card_answer: Answer,
        *,
        deadline: float,
        has_credentials: bool,
    ) -> None:
        self.url = url
        self.http = http
        self.card_url = card_url
        self.card_answer = card_answer
        self.has_credentials = has_credentials
        self.card: dict[str, Any] = {}
        self.figures: dict[str, float] = {}
        self.interfaces: list[Interface] = []
        if card_answer.status == 200 and isinstance(card_answer.json, dict):
            self.card = card_answer.json
            self.interfaces = interfaces_of(self.card)
        self._deadline = deadline
        self._asked: dict[Hashable, asyncio.Future[Any]] = {}

    @property
    def has_card(self) -> bool:
        """Whether the card is valid."""
        return bool(self.card)

    @property
    def is_current(self) -> bool:
        """Whether the card has interfaces of A2A 1.0."""
        return "supportedInterfaces" in self.card or not (
            "url" in self.card or "protocolVersion" in self.card
        )

    def declares(self, capability: str) -> bool:
        """Return whether the card declares a capability."""
        capabilities = self.card.get("capabilities")
        return isinstance(capabilities, dict) and capabilities.get(capability) is True

    @property
    def holds_text(self) -> bool | None:
        """Whether text is held back for the agent's guardrails; None if the card does not say."""
        capabilities = self.card.get("capabilities")
        named = listed(capabilities.get("extensions")) if isinstance(capabilities, dict) else []
        for extension in named:
            match extension:
                case {"uri": uri, "params": {"held": bool(is_held)}} if uri == HELD_TEXT_EXTENSION:
                    return is_held
        return None

    @property
    def seconds_left(self) -> float:
        """Time until the deadline."""
        return max(0.0, self._deadline - time.monotonic())

    async def once(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `make`, called once per key and shared by all checks."""
        if key not in self._asked:
            self._asked[key] = asyncio.ensure_future(make())
        return cast("T", await asyncio.shield(self._asked[key]))

    async def aclose(self) -> None:
        """Cancel pending requests."""
        for asked in self._asked.values():
            asked.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)

    async def ask(self, interface: Interface, operation: Operation, **params: Any) -> Outcome:
        """Perform an operation once for all checks."""
        key = (interface, operation, repr(params))
        return await self.once(key, lambda: call(self.http, interface, operation, params))

    async def unknown_task(self, interface: Interface) -> Outcome:
        """Get an unknown task."""
        return await self.ask(interface, GET, id=await self.unknown_id())

    async def unknown_id(self) -> str:
        """Return an unused task id, the same for all checks."""

        async def make() -> str:
            return str(uuid4())

        return await self.once("unknown", make)

    async def broken(self, interface: Interface) -> Outcome:
        """Send invalid JSON once for all checks."""

        async def send() -> Outcome:
            verb, url, _ = interface.request(SEND, {})
            headers = {**interface.headers(), "Content-Type": "application/json"}
            answer = await self.http.ask(verb, url, headers=headers, content=_NO_JSON)
            return outcome(interface, answer)

        return await self.once(("broken", interface), send)

    def over_http(self) -> list[Interface]:
        """Return the interfaces over HTTP."""
        return [each for each in self.interfaces if each.binding in {RPC, REST}]

    def over_grpc(self) -> list[Interface]:
        """Return the interfaces over gRPC."""
        return [each for each in self.interfaces if each.binding == GRPC]

    async def ask_all(self) -> list[Outcome]:
        """Get an unknown task from all HTTP interfaces concurrently."""
        return await asyncio.gather(*map(self.unknown_task, self.over_http()))

    async def reachable(self) -> list[Interface]:
        """Return the HTTP interfaces that answer.

        Raises:
            UncheckedError: No interface qualifies.
        """
        reply = zip(self.over_http(), await self.ask_all(), strict=True)
        found = [each for each, one in reply if not one.answer.failure]
        if not found:
            raise UncheckedError(UNREACHABLE)
        return found

    async def answering(self) -> list[Interface]:
        """Return the HTTP interfaces that follow their protocol and accept the credentials.

        Raises:
            UncheckedError: No interface qualifies.
        """
        asked = [(each, await self.unknown_task(each)) for each in await self.reachable()]
        found = [each for each, reply in asked if reply.speaks and not is_refused(reply)]
        if not found and any(is_refused(reply) for _, reply in asked):
            raise UncheckedError(UNAUTHENTICATED)
        if not found:
            raise UncheckedError(UNREACHABLE)
        return found

    async def accepting(self) -> list[Interface]:
        """Return the HTTP interfaces that accept the credentials, in both versions of A2A.

        Raises:
            UncheckedError: No interface qualifies.
        """
        asked = [(each, await self.unknown_task(each)) for each in await self.reachable()]
        found = [each for each, reply in asked if not is_refused(reply)]
        if not found:
            raise UncheckedError(UNAUTHENTICATED)
        return found

    async def current(self) -> list[Interface]:
        """Return those of `answering` that support A2A 1.0.

        Raises:
            UncheckedError: No interface qualifies.
        """
        found = [each for each in await self.answering() if not each.is_old]
        if not found:
            raise UncheckedError(ONLY_OLD)
        return found


def is_refused(reply: Outcome) -> bool:
    """Return whether an interface requires other credentials."""
    message = str((reply.error or {}).get("message", "")).lower()
    words = ("unauthenticated", "unauthorized", "authentication required", "not authenticated")
    return reply.answer.is_refused or (
        reply.code not in {-32001, -32601} and any(word in message for word in words)
    )
