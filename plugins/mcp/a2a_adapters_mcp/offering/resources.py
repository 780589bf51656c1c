"""Artifacts of tasks as resources, for reading them later or again."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from a2a.types import GetTaskRequest
from a2a.utils.errors import A2AError
from mcp.shared.exceptions import McpError
from mcp.types import ErrorData

from a2a_adapters import Data, File, Part, Text
from a2a_adapters.dialects import Answer, one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from a2a.server.context import ServerCallContext

    from a2a_adapters import RemoteArtifact
    from a2a_adapters.dialects import DialectAgent

_NOT_FOUND = -32002
"""Error code for unknown resources (MCP 2025-11-25, "Resources")."""

_ADDRESS = re.compile(r"a2a://tasks/([^/]+)/([^/]+)/(\d+)(?:/[^/]*)?")
_TEXT_TYPE = re.compile(
    r"text/|application/(json|xml|yaml|toml|sql|javascript)\b|[\w.-]+/[\w.-]+\+(json|xml|yaml)\b",
    re.IGNORECASE,
)
"""Media types of text files."""


def address(task_id: str, artifact_id: str, number: int, name: str = "") -> str:
    """Return the URI of a part of an artifact."""
    ids = f"{quote(task_id or 'none', safe='')}/{quote(artifact_id, safe='')}"
    return f"a2a://tasks/{ids}/{number}" + (f"/{quote(name, safe='')}" if name else "")


def contents(part: Part) -> dict[str, Any] | None:
    """Return the `text` or `blob` and the `mimeType` of a part; None for links."""
    match part:
        case Text(text=text):
            return {"text": text, "mimeType": "text/plain"}
        case Data(value=value):
            return {"text": one_line(value).decode(), "mimeType": "application/json"}
        case File(content=bytes(content), media_type=kind):
            about = {"mimeType": kind} if kind else {}
            if _TEXT_TYPE.match(kind):
                try:
                    return {"text": content.decode(), **about}
                except UnicodeDecodeError:
                    pass
            return {"blob": b64encode(content).decode(), **about}
    return None


class Artifacts:
    """The artifacts of the tasks of some agents.

    Args:
        agents: The agents.
    """

    def __init__(self, agents: Collection[DialectAgent]) -> None:
        self._agents = agents

    async def read(self, uri: str, context: ServerCallContext) -> dict[str, Any]:
        """Return a resource of the caller in MCP's format.

        Raises:
            McpError: The resource is unknown.
        """
        if found := _ADDRESS.fullmatch(uri):
            task_id, artifact_id, number = unquote(found[1]), unquote(found[2]), int(found[3])
            for artifact in await self._of(task_id, context):
                parts = artifact.parts if artifact.id == artifact_id else ()
                if number < len(parts) and (body := contents(parts[number])) is not None:
                    return {"uri": uri, **body}
        raise McpError(ErrorData(code=_NOT_FOUND, message="Resource not found", data={"uri": uri}))

    async def listed(
        self, task_ids: Iterable[str], context: ServerCallContext
    ) -> list[dict[str, Any]]:
        """Return the resources of some of the caller's tasks in MCP's format."""
        resources = []
        for task_id in task_ids:
            for artifact in await self._of(task_id, context):
                for number, part in enumerate(artifact.parts):
                    if (body := contents(part)) is None:
                        continue
                    name = part.filename if isinstance(part, File) else ""
                    about = {"name": name or artifact.name or artifact.id}
                    about |= {"mimeType": body["mimeType"]} if "mimeType" in body else {}
                    uri = address(task_id, artifact.id, number, name)
                    resources.append({"uri": uri, **about})
        return resources

    async def _of(self, task_id: str, context: ServerCallContext) -> Iterable[RemoteArtifact]:
        for agent in self._agents:
            try:
                task = await agent.handler.on_get_task(GetTaskRequest(id=task_id), context)
            except A2AError:
                continue
            if task is not None:
                answer = Answer()
                answer.fold_task(task)
                return answer.finish()[1].artifacts
        return ()
