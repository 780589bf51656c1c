"""A2A operations over JSON-RPC and HTTP+JSON, and their outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from a2a.utils.errors import A2A_ERROR_MAPPING, JSON_RPC_ERROR_CODE_MAP

from a2a_adapters_check.http_client import Answer, Stream, as_json
from a2a_adapters_check.interfaces import CHANGING, REST, RPC, listed

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from a2a_adapters_check.http_client import HttpClient
    from a2a_adapters_check.interfaces import Interface, Operation

ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"

_CODES = {
    kind.reason: JSON_RPC_ERROR_CODE_MAP[error]
    for error, kind in A2A_ERROR_MAPPING.items()
    if error in JSON_RPC_ERROR_CODE_MAP
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of an operation.

    Attributes:
        answer: The HTTP response.
        result: The result, None on errors.
        error: The error object, None on success.
        code: The JSON-RPC error code, derived for other bindings; None if unknown.
    """

    answer: Answer
    result: Any = None
    error: dict[str, Any] | None = None
    code: int | None = None
    details: list[Any] = field(default_factory=list)

    @property
    def speaks(self) -> bool:
        """Whether the response follows the binding's protocol."""
        return self.error is not None or self.result is not None

    @property
    def summary(self) -> str:
        """Short description of the response."""
        if self.answer.failure:
            return self.answer.failure
        if self.error is None:
            return f"HTTP {self.answer.status}" + (" with a result" if self.speaks else "")
        code = self.error.get("code")
        return f"HTTP {self.answer.status} with error {code}: {self.error.get('message')}"


async def call(
    http: HttpClient,
    interface: Interface,
    operation: Operation,
    params: Mapping[str, Any],
    *,
    version: str | None = None,
    headers: Mapping[str, str] | None = None,
    anonymous: bool = False,
    seconds: float | None = None,
) -> Outcome:
    """Perform an operation and return its outcome."""
    verb, url, body = interface.request(operation, params)
    sent = {**interface.headers(version), **(headers or {})}
    answer = await http.ask(
        verb,
        url,
        headers=sent,
        json=body,
        anonymous=anonymous,
        seconds=seconds,
        repeats=operation not in CHANGING,
    )
    return outcome(interface, answer)


async def stream(
    http: HttpClient,
    interface: Interface,
    operation: Operation,
    params: Mapping[str, Any],
    seconds: float,
    begun: asyncio.Event | None = None,
) -> tuple[Stream, Outcome | None]:
    """Perform a streaming operation; return its events, and the outcome if it was refused.

    Over JSON-RPC the refusal may also be the only event of the stream.
    """
    verb, url, body = interface.request(operation, params)
    found = await http.stream(
        verb, url, headers=interface.headers(), json=body, seconds=seconds, begun=begun
    )
    if found.answer.failure or found.answer.status != 200 or not found.events:
        refused = outcome(interface, found.answer)
        return found, refused if refused.error or not found.events else None
    if interface.binding == REST:
        return found, None
    _, first = found.events[0]
    if isinstance(first, dict) and "error" in first:
        return found, _outcome(found.answer, first)
    found.events = [
        (at, event.get("result") if isinstance(event, dict) else None) for at, event in found.events
    ]
    return found, None


def outcome(interface: Interface, answer: Answer) -> Outcome:
    """Parse a response in the protocol of an interface."""
    if interface.binding == RPC and answer.media_type == "text/event-stream":
        lines = [line[5:] for line in answer.text.splitlines() if line.startswith("data:")]
        return _outcome(answer, as_json(lines[0]) if lines else None)
    if interface.binding == RPC:
        return _outcome(answer, answer.json)
    body = answer.json
    if isinstance(body, dict) and isinstance(error := body.get("error"), dict):
        return _with_code(answer, error, listed(error.get("details")))
    if interface.is_old and answer.status >= 400 and (message := _message_of(body)):
        # A2A 0.3 defines no body for errors over HTTP+JSON.
        return Outcome(answer, error={"code": answer.status, "message": message})
    is_good = 200 <= answer.status < 300
    return Outcome(answer, result=body if is_good else None)


def _outcome(answer: Answer, body: Any) -> Outcome:
    if not isinstance(body, dict):
        return Outcome(answer)
    error = body.get("error")
    if isinstance(error, dict):
        code = error.get("code")
        details = listed(error.get("data"))
        return Outcome(
            answer, error=error, code=code if isinstance(code, int) else None, details=details
        )
    return Outcome(answer, result=body.get("result"))


def _message_of(body: Any) -> str:
    """Return the message of a server's error about a task, "" for those of web frameworks."""
    message = body.get("message") if isinstance(body, dict) else None
    return message if isinstance(message, str) and "task" in message.lower() else ""


def _with_code(answer: Answer, error: dict[str, Any], details: list[Any]) -> Outcome:
    reasons = [each.get("reason") for each in details if isinstance(each, dict)]
    known = (_CODES.get(each) for each in reasons if isinstance(each, str))
    code = next((each for each in known if each is not None), None)
    return Outcome(answer, error=error, code=code, details=details)
