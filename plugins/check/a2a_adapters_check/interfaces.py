"""Interfaces of a card, and A2A operations as requests to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as escape
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Mapping

RPC, REST, GRPC = "JSONRPC", "HTTP+JSON", "GRPC"
CALL_ID = "check-1"

_MOST = 20
"""Maximum number of interfaces checked per card."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An A2A operation and its names in each binding (A2A 1.0, 5.3; A2A 0.3, 3.5).

    Attributes:
        method: JSON-RPC method.
        old_method: JSON-RPC method in A2A 0.3, "" if it had none.
        verb: HTTP method.
        path: Path below the interface's URL, with params in braces.
    """

    method: str
    old_method: str
    verb: str
    path: str


SEND = Operation("SendMessage", "message/send", "POST", "/message:send")
STREAM = Operation("SendStreamingMessage", "message/stream", "POST", "/message:stream")
GET = Operation("GetTask", "tasks/get", "GET", "/tasks/{id}")
LIST = Operation("ListTasks", "", "GET", "/tasks")
CANCEL = Operation("CancelTask", "tasks/cancel", "POST", "/tasks/{id}:cancel")
SUBSCRIBE = Operation("SubscribeToTask", "tasks/resubscribe", "POST", "/tasks/{id}:subscribe")
EXTENDED = Operation("GetExtendedAgentCard", "", "GET", "/extendedAgentCard")
LIST_PUSH = Operation(
    "ListTaskPushNotificationConfigs", "", "GET", "/tasks/{taskId}/pushNotificationConfigs"
)
CREATE_PUSH = Operation(
    "CreateTaskPushNotificationConfig", "", "POST", "/tasks/{taskId}/pushNotificationConfigs"
)
DELETE_PUSH = Operation(
    "DeleteTaskPushNotificationConfig",
    "",
    "DELETE",
    "/tasks/{taskId}/pushNotificationConfigs/{id}",
)
CHANGING = frozenset({SEND, STREAM, CANCEL, CREATE_PUSH, DELETE_PUSH})
"""Operations never repeated after a broken connection: the agent may have performed them."""


@dataclass(frozen=True, slots=True)
class Interface:
    """An endpoint of the agent listed in its card.

    Attributes:
        url: The URL as written in the card.
        binding: `JSONRPC`, `HTTP+JSON`, `GRPC` or another.
        version: The protocol version as written in the card.
        tenant: The tenant to send with requests, "" if none.
        where: JSON pointer to it in the card.
    """

    url: str
    binding: str
    version: str
    tenant: str = ""
    where: str = ""

    @property
    def is_old(self) -> bool:
        """Whether its version is A2A 0.3."""
        return self.version.startswith("0.")

    @property
    def name(self) -> str:
        """Description used in findings."""
        return f"{self.binding} {self.version} at {self.url}"

    def request(
        self, operation: Operation, params: Mapping[str, Any]
    ) -> tuple[str, str, dict[str, Any] | None]:
        """Return the HTTP method, URL and body of an operation."""
        if self.tenant:
            params = {"tenant": self.tenant, **params}
        if self.binding == RPC:
            method = operation.old_method if self.is_old else operation.method
            return "POST", self.url, rpc(method, params)
        named = {key: escape(str(value), safe="") for key, value in params.items()}
        path = operation.path.format_map(named)
        rest = {key: value for key, value in params.items() if f"{{{key}}}" not in operation.path}
        tenant = f"/{escape(str(rest.pop('tenant')), safe='')}" if self.tenant else ""
        url = self.url.rstrip("/") + ("/v1" if self.is_old else "") + tenant + path
        if operation.verb != "POST":
            return operation.verb, url + (f"?{urlencode(rest)}" if rest else ""), None
        return operation.verb, url, rest

    def headers(self, version: str | None = None) -> dict[str, str]:
        """Return request headers for the interface's version or the given one."""
        if version is None:
            version = "" if self.is_old else self.version
        accepted = {"Accept": "application/json, application/a2a+json, text/event-stream"}
        return accepted | ({"A2A-Version": version} if version else {})


def rpc(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON-RPC 2.0 request."""
    return {"jsonrpc": "2.0", "id": CALL_ID, "method": method, "params": dict(params)}


def interfaces_of(card: Mapping[str, Any]) -> list[Interface]:
    """Return the interfaces of a card; those of the 0.3 fields if it lists no others."""
    found = listed(card.get("supportedInterfaces"))
    if found:
        return [
            Interface(
                _text(each, "url"),
                _text(each, "protocolBinding"),
                _text(each, "protocolVersion"),
                _text(each, "tenant"),
                f"/supportedInterfaces/{index}",
            )
            for index, each in enumerate(found[:_MOST])
            if isinstance(each, dict)
        ]
    return old_interfaces_of(card)


def old_interfaces_of(card: Mapping[str, Any]) -> list[Interface]:
    """Return the interfaces in the fields of A2A 0.3 (A2A 0.3, section 5.5)."""
    version = _text(card, "protocolVersion") or "0.3"
    found = []
    if url := _text(card, "url"):
        found.append(Interface(url, _text(card, "preferredTransport") or RPC, version, "", "/url"))
    for index, each in enumerate(listed(card.get("additionalInterfaces"))[:_MOST]):
        if isinstance(each, dict):
            where = f"/additionalInterfaces/{index}"
            found.append(
                Interface(_text(each, "url"), _text(each, "transport"), version, "", where)
            )
    return list({(each.url, each.binding): each for each in reversed(found)}.values())[::-1]


def _text(holder: Mapping[str, Any], key: str) -> str:
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def listed(value: Any) -> list[Any]:
    """Return a list unchanged, and an empty list for any other value."""
    return value if isinstance(value, list) else []
