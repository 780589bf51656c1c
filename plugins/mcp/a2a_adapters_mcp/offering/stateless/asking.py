"""Questions as requests that the client answers with its next call (SEP-2322)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from a2a_adapters import Data, Text
from a2a_adapters_mcp.offering.questions import ANSWER, AUTHORISED, DeclinedError, form_of, url_of

if TYPE_CHECKING:
    from a2a.types import Task

    from a2a_adapters import AgentReply, Part


class InputRequest:
    """The question of a waiting task.

    Attributes:
        key: Id of the question, unique within the task.

    Args:
        task: The task.
        reply: The task's content as a reply.
        capabilities: The client's capabilities.
    """

    def __init__(self, task: Task, reply: AgentReply, capabilities: Mapping[str, Any]) -> None:
        self.key = task.status.message.message_id or task.id
        self._reply = reply
        self._schema = form_of(reply)
        can = capabilities.get("elicitation")
        self._can = can if isinstance(can, Mapping) else None

    def wire(self) -> Mapping[str, Any] | None:
        """Return the protocol's request; None if the client does not support it."""
        params = self._page() if self._reply.state == "auth-required" else self._form()
        return params and {"method": "elicitation/create", "params": params}

    def answer(self, responses: object) -> list[Part] | None:
        """Return the user's answer, None if the responses do not contain it.

        Raises:
            DeclinedError: The user declined.
        """
        given = responses.get(self.key) if isinstance(responses, Mapping) else None
        if not isinstance(given, Mapping) or not isinstance(action := given.get("action"), str):
            return None
        if action != "accept":
            raise DeclinedError
        if self._reply.state == "auth-required":
            return [Text(AUTHORISED)]
        content = given.get("content")
        if not isinstance(content, Mapping):
            return None
        if self._schema:
            return [Data(dict(content))]
        return [Text(str(content["answer"]))] if "answer" in content else None

    def _page(self) -> Mapping[str, Any] | None:
        url = url_of(self._reply)
        if self._can is None or "url" not in self._can or url is None:
            return None
        shown = self._reply.question or "The agent needs an authorisation."
        return {"mode": "url", "message": shown, "url": url}

    def _form(self) -> Mapping[str, Any] | None:
        if self._can is None or ("url" in self._can and "form" not in self._can):
            return None
        schema = self._schema or ANSWER
        return {"mode": "form", "message": self._reply.question, "requestedSchema": schema}
