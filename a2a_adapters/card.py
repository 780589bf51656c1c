"""From an `AgentDescription` to the card that clients of A2A 1.0 and 0.3 read."""

from __future__ import annotations

import functools
import hashlib
from email.utils import formatdate
from typing import TYPE_CHECKING, TypeAlias

from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    SecurityRequirement,
    StringList,
)
from a2a.utils.errors import ExtendedAgentCardNotConfiguredError
from pydantic_core import to_json
from starlette.responses import Response
from starlette.routing import Route

from a2a_adapters.conversion import to_struct
from a2a_adapters.events import PROGRESS_EXTENSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a.server.context import ServerCallContext
    from starlette.requests import Request

    from a2a_adapters.adapter import AgentDescription, Extension, Skill
    from a2a_adapters.address import Address
    from a2a_adapters.security import Authenticator

WELL_KNOWN_PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""Where clients look for the card: today's path and the one used before A2A 0.3."""

_CACHE_CONTROL = "public, max-age=60"


ExtendedDescription: TypeAlias = "Callable[[AgentDescription, str], AgentDescription]"
"""Makes what an authenticated caller is told of what everybody is, and of the caller's name."""


def build_card(
    description: AgentDescription,
    url: str,
    grpc_url: str | None = None,
    *,
    authentication: Authenticator | None = None,
    has_extended: bool = False,
    push: bool = False,
) -> AgentCard:
    """Return the card of an agent at `url`, if that is known, and over gRPC at `grpc_url`.

    Both protocol versions are listed for every binding, so that a2a-sdk adds the fields 0.3
    clients need (A2A 1.0, section 4.4.1 and appendix A). Any scheme of `authentication` is
    enough, so each is a requirement of its own.
    """
    url = url.rstrip("/")
    addresses = [("JSONRPC", f"{url}/"), ("HTTP+JSON", url)] if url else []
    if grpc_url:
        addresses.append(("GRPC", grpc_url))
    interfaces = [
        AgentInterface(url=address, protocol_binding=binding, protocol_version=version)
        for version in ("1.0", "0.3")
        for binding, address in addresses
    ]
    progress = AgentExtension(
        uri=PROGRESS_EXTENSION,
        description="Steps, tool calls and tool results while a task is worked on.",
    )
    schemes = authentication.security_schemes() if authentication else {}
    return AgentCard(
        name=description.name,
        description=description.description,
        version=description.version,
        supported_interfaces=interfaces,
        capabilities=AgentCapabilities(
            streaming=True,
            push_notifications=push,
            extensions=[progress, *map(_extension, description.extensions)],
            extended_agent_card=has_extended or None,
        ),
        default_input_modes=description.input_modes,
        default_output_modes=description.output_modes,
        skills=[_skill(skill) for skill in description.skills] or [_only_skill(description)],
        security_schemes=dict(schemes),
        security_requirements=[
            SecurityRequirement(schemes={name: StringList()}) for name in schemes
        ],
    )


def _skill(skill: Skill) -> AgentSkill:
    return AgentSkill(
        id=skill.id,
        name=skill.name,
        description=skill.description,
        tags=skill.tags or [skill.id],
        examples=skill.examples,
    )


def _extension(extension: Extension) -> AgentExtension:
    listed = AgentExtension(
        uri=extension.uri, description=extension.description, required=extension.required
    )
    if extension.params:
        listed.params.CopyFrom(to_struct(extension.params))
    return listed


def _only_skill(description: AgentDescription) -> AgentSkill:
    name = description.name
    return AgentSkill(id="answer", name=name, description=description.description, tags=["answer"])


class CardEndpoint:
    """Serves the card, with the address under which the client reached it.

    Args:
        make: Returns the card of an agent at a URL.
        address: Where the agent is found.
    """

    def __init__(self, make: Callable[[str], AgentCard], address: Address) -> None:
        self._make = make
        self._address = address
        self._last_modified = formatdate(usegmt=True)
        # Bounded: the host is whatever a client sends.
        self._render = functools.lru_cache(maxsize=64)(self._render_once)

    def routes(self) -> list[Route]:
        """Return the routes of the card."""
        return [Route(path, self.handle, methods=["GET"]) for path in WELL_KNOWN_PATHS]

    async def handle(self, request: Request) -> Response:
        """Answer with the card, or with 304 if the client has it already."""
        body, etag = self._render(self._address.of(request.scope))
        headers = {
            "ETag": etag,
            "Cache-Control": _CACHE_CONTROL,
            "Last-Modified": self._last_modified,
        }
        if etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type="application/json")

    def _render_once(self, url: str) -> tuple[bytes, str]:
        body = to_json(agent_card_to_dict(self._make(url)))
        return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'


class ExtendedCard:
    """Makes the card for authenticated callers (A2A 1.0, section 13.3).

    Args:
        make: Returns the card with a description at a URL.
        description: What everybody is told.
        extend: Makes the extended description.
        address: Where the agent is found.
    """

    def __init__(
        self,
        make: Callable[[AgentDescription, str], AgentCard],
        description: AgentDescription,
        extend: ExtendedDescription,
        address: Address,
    ) -> None:
        self._make = make
        self._description = description
        self._extend = extend
        self._address = address

    def __call__(self, context: ServerCallContext) -> AgentCard:
        """Return the card for a caller.

        Raises:
            ExtendedAgentCardNotConfiguredError: The caller is nobody.
        """
        if not context.user.is_authenticated:
            raise ExtendedAgentCardNotConfiguredError("the extended card is not for everybody")
        about = self._extend(self._description, context.user.user_name)
        return self._make(about, self._address.of(context.state.get("scope")))
