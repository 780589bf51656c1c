"""Serves the agent card, and the lists of a server's agents: `/agents` and an AI Catalog."""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass, replace
from email.utils import formatdate, parsedate_to_datetime
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from a2a.utils.errors import ExtendedAgentCardNotConfiguredError
from pydantic_core import to_json
from starlette.datastructures import URL, Headers
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from a2a_adapters.contract.card import listed_skills
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.protocol.card import (
    CARD_TYPE,
    CATALOG_PATH,
    CATALOG_TYPE,
    WELL_KNOWN_PATHS,
    card_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from a2a.server.context import ServerCallContext
    from a2a.types import AgentCard
    from starlette.requests import Request
    from starlette.types import Scope

    from a2a_adapters.contract.card import AgentDescription

_CACHE_CONTROL = "public, max-age=60"
_PORT = re.compile(r":\d+$")
_PAIR = re.compile(r'\s*(?P<name>[\w-]+)=(?P<value>"[^"]*"|[^;,"\s]*)\s*(?P<end>[;,]|$)')
"""A pair of the header `Forwarded`, with what ends it: a semicolon, or the element's comma."""
_VERBS = ("GET", "HEAD", "OPTIONS")

ExtendedDescription: TypeAlias = "Callable[[AgentDescription, str], AgentDescription]"
"""Returns the description for an authenticated caller from the public one and the caller's name."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of an agent.

    Attributes:
        url: The server's public address; empty to use the one in the client's request.
        trust_forwarded: Whether the headers of a proxy are trusted.
        path: The agent's path on the server.
    """

    url: str = ""
    trust_forwarded: bool = False
    path: str = ""

    @property
    def name(self) -> str:
        """The agent's name in the path; empty for the single agent of a server."""
        return self.path.rpartition("/")[2]

    def of(self, scope: Scope | None) -> str:
        """Return the address as seen by a request, without a trailing slash."""
        url = self.url or (self._requested(scope) if scope else "")
        return url.rstrip("/") + self.path

    def _requested(self, scope: Scope) -> str:
        root = scope.get("app_root_path", scope.get("root_path", ""))
        url = URL(scope={**scope, "path": root, "root_path": root, "query_string": b""})
        if self.trust_forwarded:
            url = _forwarded(url, Headers(scope=scope))
        return str(url)


def check_public(url: str) -> None:
    """Raise `ConfigurationError` if `url` cannot be a public HTTP address."""
    try:
        parsed = urlsplit(url)
        is_address = parsed.scheme in {"http", "https"} and parsed.hostname
    except ValueError:
        is_address = False
    if not is_address:
        raise ConfigurationError(
            f"{url!r} cannot be the agent's public address: use one like https://agents.example.org"
        )


def _forwarded(url: URL, headers: Headers) -> URL:
    """Return an address as a proxy's client sees it.

    `Forwarded` (RFC 7239) counts for values that have no `X-Forwarded` header: more proxies set
    the latter, and pass a client's own `Forwarded` on.
    """
    first = dict[str, str]()
    for pair in _PAIR.finditer(headers.get("forwarded", "")):
        first.setdefault(pair["name"].lower(), pair["value"].strip('"'))
        if pair["end"] == ",":
            break
    scheme = _first(headers.get("x-forwarded-proto")) or first.get("proto") or url.scheme
    host = _first(headers.get("x-forwarded-host")) or first.get("host", "")
    port = _first(headers.get("x-forwarded-port"))
    place = host or url.netloc
    if port.isdecimal() and not _PORT.search(host):
        usual = {"http": "80", "https": "443"}.get(scheme)
        place = _PORT.sub("", place) + ("" if port == usual else f":{port}")
    path = _first(headers.get("x-forwarded-prefix")) or url.path
    return url.replace(scheme=scheme, netloc=place, path=path)


def _first(header: str | None) -> str:
    """Return the first value of a header to which each proxy of a chain appends."""
    return (header or "").split(",")[0].strip()


class CardEndpoint:
    """Serves the card with the address that the client used.

    Args:
        make: Returns the card for an agent's URL.
        address: The agent's address.
    """

    def __init__(self, make: Callable[[str], AgentCard], address: Address) -> None:
        self._make = make
        self._address = address
        self._last_modified = formatdate(usegmt=True)
        # Bounded, because clients choose the host.
        self._render = functools.lru_cache(maxsize=64)(self._render_once)

    def routes(self, also: Sequence[str] = ()) -> list[Route]:
        """Return the routes of the card, at the well-known paths and others."""
        paths = (*WELL_KNOWN_PATHS, *also)
        return [Route(path, self.handle, methods=list(_VERBS)) for path in paths]

    async def handle(self, request: Request) -> Response:
        """Answer with the card, or with 304 if the client has it."""
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": ", ".join(_VERBS)})
        body, etag = self._render(self._address.of(request.scope))
        headers = {
            "ETag": etag,
            "Cache-Control": _CACHE_CONTROL,
            "Last-Modified": self._last_modified,
        }
        if self._is_known(request.headers, etag):
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type="application/json")

    def _is_known(self, headers: Headers, etag: str) -> bool:
        """Return whether the client has this card (RFC 9110, section 13.2.2)."""
        if (known := headers.get("if-none-match")) is not None:
            tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
            return not tags.isdisjoint({etag, "*"})
        try:
            since = parsedate_to_datetime(headers.get("if-modified-since", ""))
            return since >= parsedate_to_datetime(self._last_modified)
        except (ValueError, TypeError):  # TypeError: without a time zone
            return False

    def _render_once(self, url: str) -> tuple[bytes, str]:
        body = to_json(card_json(self._make(url)))
        return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'


class ExtendedCard:
    """Builds the card for authenticated callers (A2A 1.0, section 13.3).

    Args:
        make: Returns the card for a description and an agent's URL.
        description: The public description.
        extend: Returns the extended description.
        address: The agent's address.
    """

    def __init__(
        self,
        make: Callable[[AgentDescription, str], AgentCard],
        description: AgentDescription,
        extend: ExtendedDescription,
        address: Address,
    ) -> None:
        self._make = make
        self._description = replace(description, skills=listed_skills(description))
        self._extend = extend
        self._address = address

    def __call__(self, context: ServerCallContext) -> AgentCard:
        """Return the card for a caller.

        Raises:
            ExtendedAgentCardNotConfiguredError: The caller is anonymous.
        """
        if not context.user.is_authenticated:
            raise ExtendedAgentCardNotConfiguredError("the extended card needs authentication")
        about = self._extend(self._description, context.user.user_name)
        return self._make(about, self._address.of(context.state.get("scope")))


class Catalog:
    """Lists a server's agents, which are given with their addresses."""

    def __init__(self, agents: Collection[tuple[AgentDescription, Address]]) -> None:
        self._agents = agents

    def routes(self) -> list[Route]:
        """Return the routes of both lists, which are public, as the cards are."""
        # The root is what load balancers ask for by default.
        lists = (Route(path, self._list) for path in ("/", "/agents"))
        return [*lists, Route(CATALOG_PATH, self._catalog)]

    async def _list(self, request: Request) -> Response:
        agents = [
            {
                "name": about.name,
                "description": about.description,
                "url": f"{address}/",
                "card": address + WELL_KNOWN_PATHS[0],
            }
            for about, place in self._agents
            if (address := place.of(request.scope))
        ]
        return JSONResponse({"agents": agents})

    async def _catalog(self, request: Request) -> Response:
        entries = [
            {
                "identifier": address,
                "displayName": about.name,
                "description": about.description,
                "version": about.version,
                "mediaType": CARD_TYPE,
                "type": CARD_TYPE,  # the name of mediaType in later drafts
                "url": address + WELL_KNOWN_PATHS[0],
            }
            for about, place in self._agents
            if (address := place.of(request.scope))
        ]
        return JSONResponse({"specVersion": "1.0", "entries": entries}, media_type=CATALOG_TYPE)
