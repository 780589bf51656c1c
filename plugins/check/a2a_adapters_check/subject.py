"""The agent that is being checked: its card, its interfaces, and what was asked already."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import uuid4

from a2a_adapters_check.interfaces import GET, GRPC, REST, RPC, SEND, interfaces_of
from a2a_adapters_check.operations import Outcome, call, outcome
from a2a_adapters_check.report import UNAUTHENTICATED, UNREACHABLE, UncheckedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    import httpx

    from a2a_adapters_check.http_client import Answer, HttpClient
    from a2a_adapters_check.interfaces import Interface, Operation

T = TypeVar("T")

_OLD = "no interface speaks A2A 1.0 over HTTP"
_NO_JSON = b'{"jsonrpc": "2.0", "id": 1, "method": '


class Subject:
    """An agent that is being checked.

    Args:
        url: Where it is.
        http: Sends the requests.
        card_url: Where its card was.
        card_answer: What came back there.
        deadline: When the check has to end, by `time.monotonic`.
        has_credentials: Whether the caller gave headers.
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
        """Whether there is a card that can be read."""
        return bool(self.card)

    @property
    def is_current(self) -> bool:
        """Whether the card is one of A2A 1.0, not of 0.3 alone."""
        return "supportedInterfaces" in self.card or not (
            "url" in self.card or "protocolVersion" in self.card
        )

    def declares(self, capability: str) -> bool:
        """Tell whether the card declares a capability."""
        capabilities = self.card.get("capabilities")
        return isinstance(capabilities, dict) and capabilities.get(capability) is True

    @property
    def seconds_left(self) -> float:
        """How long there is until the check has to end."""
        return max(0.0, self._deadline - time.monotonic())

    async def once(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        """Return what `make` returns, which is called once for all checks that ask by a key."""
        if key not in self._asked:
            self._asked[key] = asyncio.ensure_future(make())
        return cast("T", await asyncio.shield(self._asked[key]))

    async def aclose(self) -> None:
        """End what is under way."""
        for asked in self._asked.values():
            asked.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)

    async def ask(self, interface: Interface, operation: Operation, **params: Any) -> Outcome:
        """Make an operation, once for all checks."""
        key = (interface, operation, repr(params))
        return await self.once(key, lambda: call(self.http, interface, operation, params))

    async def unknown_task(self, interface: Interface) -> Outcome:
        """Ask an interface for a task that is nobody's."""
        return await self.ask(interface, GET, id=await self.unknown_id())

    async def unknown_id(self) -> str:
        """Return an id that no task has, the same for all checks."""

        async def make() -> str:
            return str(uuid4())

        return await self.once("unknown", make)

    async def broken(self, interface: Interface) -> Outcome:
        """Send an interface what is no JSON, once for all checks."""

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
        """Ask every interface over HTTP for a task that is nobody's, all at once."""
        return await asyncio.gather(*map(self.unknown_task, self.over_http()))

    async def reachable(self) -> list[Interface]:
        """Return the interfaces over HTTP where somebody answers.

        Raises:
            UncheckedError: There is none.
        """
        told = zip(self.over_http(), await self.ask_all(), strict=True)
        found = [each for each, one in told if not one.answer.failure]
        if not found:
            raise UncheckedError(UNREACHABLE)
        return found

    async def answering(self) -> list[Interface]:
        """Return the interfaces over HTTP that speak their protocol and let this caller in.

        Raises:
            UncheckedError: There is none.
        """
        asked = [(each, await self.unknown_task(each)) for each in await self.reachable()]
        found = [each for each, told in asked if told.speaks and not is_refused(told)]
        if not found and any(is_refused(told) for _, told in asked):
            raise UncheckedError(UNAUTHENTICATED)
        if not found:
            raise UncheckedError(UNREACHABLE)
        return found

    async def current(self) -> list[Interface]:
        """Return those of `answering` that speak A2A 1.0.

        Raises:
            UncheckedError: There is none.
        """
        found = [each for each in await self.answering() if not each.is_old]
        if not found:
            raise UncheckedError(_OLD)
        return found


def is_refused(told: Outcome) -> bool:
    """Tell whether an interface wants credentials, or other ones."""
    message = str((told.error or {}).get("message", "")).lower()
    words = ("unauthenticated", "unauthorized", "authentication required", "not authenticated")
    return told.answer.is_refused or (
        told.code not in {-32001, -32601} and any(word in message for word in words)
    )
