"""Serves the console's files and its list of agents."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from pydantic_core import to_json
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from a2a_adapters.contract.dialect_routes import DialectRoutes
from a2a_adapters.dialects import PageRoute
from a2a_adapters.observability.requests import CURRENT_REQUEST
from a2a_adapters_console.findings import Findings
from a2a_adapters_console.look import Console

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping, Sequence
    from importlib.resources.abc import Traversable

    from starlette.requests import Request

__all__ = ["CONSOLE_PATH", "ConsoleAgent", "console_routes"]

CONSOLE_PATH = "/console"

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "jpg": "image/jpeg",
    "webp": "image/webp",
    "txt": "text/plain; charset=utf-8",
    "json": "application/json",
}
_POLICY = (
    "default-src 'none'; "
    "script-src 'self'; "
    "style-src 'self'; "
    "img-src 'self' blob:; "
    "connect-src 'self'; "
    "frame-src blob:; "  # PDFs, in the browser's own viewer
    "base-uri 'none'; "
    "form-action 'none'; "
    "frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
"""Allows only our own files, and prevents text from becoming markup (CSP 3)."""

_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class ConsoleAgent:
    """An agent listed in the console.

    Attributes:
        name: Display name.
        path: Path on this server, with leading and trailing slashes.
        url: URL of the remote agent, if this server is a relay.
        headers: Headers sent in addition to those typed by the user; hidden from the page.
        tls: The TLS settings for calls of the remote agent; None for the default.
    """

    name: str
    path: str
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tls: ssl.SSLContext | None = None


def console_routes(agents: Sequence[ConsoleAgent], look: Console | None = None) -> DialectRoutes:
    """Return the routes of the page: public files and checks of agents.

    Browsers that open the server's root are redirected to the page.

    Args:
        agents: The agents to list.
        look: The settings of the page.

    Raises:
        ConfigurationError: The logo cannot be read.
    """
    look = look or Console()
    checks = [Findings(agent.url, agent.path, agent.headers, agent.tls) for agent in agents]
    # A proxy may move the page, so it uses relative URLs.
    listed = [
        {
            "name": agent.name,
            "path": f"..{agent.path}",
            "url": agent.url,
            "check": f"check/{number}",
        }
        for number, agent in enumerate(agents)
    ]
    known = {
        **_static(),
        "agents.json": _File("json", to_json({"agents": listed, "look": _shown(look)})),
    }
    if look.logo:
        known[f"logo.{look.logo_type}"] = _File(look.logo_type, look.logo_content())
    return DialectRoutes(
        cards=[
            PageRoute("/", _to_console),
            Route(CONSOLE_PATH, _to_folder),
            Route(f"{CONSOLE_PATH}/", known["index.html"].answer),
            *(Route(f"{CONSOLE_PATH}/{name}", file.answer) for name, file in known.items()),
        ],
        calls=[
            Route(f"{CONSOLE_PATH}/check/{number}", check, methods=["POST"])
            for number, check in enumerate(checks)
        ],
        endpoints={"console": CONSOLE_PATH},
    )


def _shown(look: Console) -> dict[str, str]:
    """Return the settings that the page needs, without those that are not given."""
    logo = f"logo.{look.logo_type}" if look.logo else ""
    every = {"title": look.title, "logo": logo, "colour": look.colour, "view": look.view}
    return {name: value for name, value in every.items() if value}


class _File:
    """A file with its ETag (RFC 9110, section 8.8.3)."""

    def __init__(self, kind: str, content: bytes) -> None:
        self._content = content
        self._type = _TYPES[kind]
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        self._headers = {**_HEADERS, "ETag": tag, "Content-Type": self._type}

    async def answer(self, request: Request) -> Response:
        """Answer with the file, or with 304 if the browser has cached it."""
        if (record := CURRENT_REQUEST.get()) is not None:
            record.is_hidden = True  # the log has no files of the page
        known = request.headers.get("if-none-match", "").split(",")
        if self._headers["ETag"] in {tag.strip().removeprefix("W/") for tag in known}:
            return Response(status_code=304, headers=self._headers)
        return Response(self._content, headers=self._headers)


async def _to_console(_request: Request) -> Response:
    return RedirectResponse(CONSOLE_PATH.removeprefix("/") + "/", 307)


async def _to_folder(request: Request) -> Response:
    """Redirect to the folder URL, so that relative URLs in the page work."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"console/{query}", 307)


@cache
def _static() -> dict[str, _File]:
    return dict(_files(files(__package__) / "static", ""))


def _files(folder: Traversable, prefix: str) -> list[tuple[str, _File]]:
    found = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _files(entry, f"{prefix}{entry.name}/")
        elif (kind := entry.name.rpartition(".")[2]) in _TYPES:
            found.append((prefix + entry.name, _File(kind, entry.read_bytes())))
    return found
