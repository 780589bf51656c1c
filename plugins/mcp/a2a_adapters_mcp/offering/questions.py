"""Elicitation: passes an agent's questions to the user of an MCP client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

from a2a_adapters import Data, File, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp.server.session import ServerSession
    from mcp.types import ElicitResult

    from a2a_adapters import AgentReply, Part

_PRIMITIVES = {"string", "number", "integer", "boolean"}
ANSWER = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "Answer"}},
    "required": ["answer"],
}
"""Default schema of an answer."""

_DONE = {"type": "object", "properties": {}}
AUTHORISED = "The user reports that the authorisation is done."
"""Answer passed to the agent."""


class DeclinedError(Exception):
    """The user declined to answer."""


class Elicitation:
    """Asks the user of a client.

    Args:
        session: The connection with the client.
        request_id: The call that asks.
    """

    def __init__(self, session: ServerSession, request_id: str | int) -> None:
        self._session = session
        self._request_id = request_id
        about = session.client_params
        capabilities = about.capabilities.model_dump(exclude_none=True) if about else {}
        can = capabilities.get("elicitation")
        self._has_url = can is not None and "url" in can
        self._has_form = can is not None and ("form" in can or not self._has_url)

    async def answer(self, reply: AgentReply) -> list[Part] | None:
        """Return the user's answer to an agent's question; None if the client cannot ask.

        Raises:
            DeclinedError: The user declined to answer.
            McpError: The client failed.
        """
        if not self._has_form:
            return None
        if reply.state == "auth-required":
            return await self._authorised(reply)
        schema = form_of(reply)
        result = await self._form(reply.question, schema or ANSWER)
        content = result.content or {}
        return [Data(content)] if schema else [Text(str(content.get("answer", "")))]

    async def _authorised(self, reply: AgentReply) -> list[Part] | None:
        """Ask the user to open the authorisation page and to confirm completion."""
        url = url_of(reply)
        if url is None or not self._has_url:
            return None
        request_id = str(self._request_id)
        shown = reply.question or "The agent needs an authorisation."
        _check(await self._session.elicit_url(shown, url, str(uuid4()), request_id))
        await self._form("Have you given the authorisation?", _DONE)
        return [Text(AUTHORISED)]

    async def _form(self, message: str, schema: Mapping[str, Any]) -> ElicitResult:
        related = str(self._request_id)
        return _check(await self._session.elicit_form(message, dict(schema), related))


def _check(result: ElicitResult) -> ElicitResult:
    if result.action != "accept":
        raise DeclinedError
    return result


def form_of(reply: AgentReply) -> Mapping[str, Any] | None:
    """Return the schema of the answer if forms support it: flat, with simple values."""
    for part in reply.status_parts:
        value = part.value if isinstance(part, Data) else None
        schema = value.get("response_schema") if isinstance(value, Mapping) else None
        if isinstance(schema, Mapping) and _is_form(schema):
            return schema
    return None


def _is_form(schema: Mapping[str, Any]) -> bool:
    properties = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(properties, Mapping) or not properties:
        return False
    return all(
        isinstance(each, Mapping) and (each.get("type") in _PRIMITIVES or _is_choice(each))
        for each in properties.values()
    )


def _is_choice(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema is a multiple choice of strings (SEP-1330)."""
    items = schema.get("items")
    return (
        schema.get("type") == "array"
        and isinstance(items, Mapping)
        and ("enum" in items or "anyOf" in items)
    )


def url_of(reply: AgentReply) -> str | None:
    """Return the URL of the authorisation page, if it is safe to open."""
    return next(_urls(reply), None)


def _urls(reply: AgentReply) -> Iterator[str]:
    """Yield the safe URLs in a question."""
    for part in reply.status_parts:
        found: object = None
        if isinstance(part, File):
            found = part.url
        elif isinstance(part, Data) and isinstance(part.value, Mapping):
            found = part.value.get("url")
        if isinstance(found, str) and _is_safe(found):
            yield found


def _is_safe(url: str) -> bool:
    try:
        parsed = urlsplit(url)
    except ValueError:
        return False
    if parsed.scheme == "http":
        return parsed.hostname in {"localhost", "127.0.0.1", "::1"}
    return parsed.scheme == "https" and bool(parsed.hostname)
