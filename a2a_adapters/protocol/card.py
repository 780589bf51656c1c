"""Builds agent cards for clients of A2A 1.0 and 0.3, and compares media types."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from a2a.compat.v0_3.conversions import to_compat_agent_card
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentProvider,
    AgentSkill,
    SecurityRequirement,
    StringList,
)
from a2a.utils.errors import VersionNotSupportedError
from google.protobuf.json_format import MessageToDict

from a2a_adapters.contract.card import Provider, Skill, listed_skills
from a2a_adapters.contract.events import PROGRESS_EXTENSION
from a2a_adapters.protocol.conversion import to_struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from a2a.types import SecurityScheme

    from a2a_adapters.contract.card import AgentDescription, Extension
    from a2a_adapters.contract.parts import JSON

WELL_KNOWN_PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""The paths of the card: the current one, and the one used before A2A 0.3."""

CATALOG_PATH = "/.well-known/ai-catalog.json"
"""The path of a host's AI Catalog, see https://agent-card.github.io/ai-catalog/."""

CATALOG_TYPE = "application/ai-catalog+json"
"""Media type of a catalog, including nested ones."""

CARD_TYPE = "application/a2a-agent-card+json"
"""Media type of an agent's card."""

ANY = "*/*"
"""Matches any media type."""

DEDUPLICATION_EXTENSION = "urn:a2a-adapters:extension:deduplication:v1"
"""URI of the A2A extension of agents that recognise duplicate messages by their ids."""

DEDUPLICATION_SECONDS = 24 * 3600
"""Time for which duplicates of a message are recognised, if its task is kept as long."""

_DEDUPLICATION = AgentExtension(
    uri=DEDUPLICATION_EXTENSION,
    description="A message that is resent under its messageId gets the same task, also after a "
    "restart. A different message under that id is refused.",
    params=to_struct({"seconds": DEDUPLICATION_SECONDS}),
)


def build_card(
    description: AgentDescription,
    url: str,
    others: Iterable[tuple[str, str]] = (),
    *,
    security_schemes: Mapping[str, SecurityScheme] | None = None,
    has_extended: bool = False,
    push: bool = False,
    deduplicates: bool = False,
    previews: Iterable[str] = (),
) -> AgentCard:
    """Build the card of an agent.

    Each binding is listed with both protocol versions, so that a2a-sdk adds the fields that 0.3
    clients need (A2A 1.0, section 4.4.1 and appendix A).

    Args:
        description: The agent's description.
        url: The agent's address, "" if it is unknown.
        others: Names and addresses of additional bindings, such as `GRPC`.
        security_schemes: Alternative schemes, any of which is sufficient.
        has_extended: Whether there is an extended card.
        push: Whether the agent sends push notifications.
        deduplicates: Whether duplicate messages are recognised also after a restart.
        previews: The drafted versions that are served as well. They are listed last: a client
            that knows a released version should prefer it.
    """
    url = url.rstrip("/")
    addresses = [("JSONRPC", f"{url}/"), ("HTTP+JSON", url)] if url else []
    addresses.extend(others)
    interfaces = [
        AgentInterface(url=address, protocol_binding=binding, protocol_version=version)
        for version in ("1.0", "0.3", *previews)
        for binding, address in addresses
    ]
    progress = AgentExtension(
        uri=PROGRESS_EXTENSION, description="Steps, tool calls and tool results of a running task."
    )
    extensions = [progress, *([_DEDUPLICATION] if deduplicates else [])]
    schemes = security_schemes or {}
    skills = listed_skills(description)
    return AgentCard(
        name=description.name,
        description=description.description + (_schemas(skills[0]) if len(skills) == 1 else ""),
        version=description.version,
        provider=_provider(description.provider),
        icon_url=description.icon_url or None,
        documentation_url=description.documentation_url or None,
        supported_interfaces=interfaces,
        capabilities=AgentCapabilities(
            streaming=True,
            push_notifications=push,
            extensions=[*extensions, *map(_extension, description.extensions)],
            extended_agent_card=has_extended or None,
        ),
        default_input_modes=description.input_modes,
        default_output_modes=description.output_modes,
        skills=[_skill(skill, description) for skill in skills],
        security_schemes=dict(schemes),
        security_requirements=[
            SecurityRequirement(schemes={name: StringList()}) for name in schemes
        ],
    )


def card_json(card: AgentCard) -> dict[str, JSON]:
    """Return a card as JSON, with the fields of 0.3 beside those of 1.0.

    As a2a-sdk's `agent_card_to_dict`, which cannot be imported without its request handlers: these
    take a sixth of a start.
    """
    found: dict[str, JSON] = MessageToDict(card)
    try:
        old = to_compat_agent_card(card).model_dump(exclude_none=True)
    except VersionNotSupportedError:  # it lists no interface of 0.3
        return found
    if not old.get("supportsAuthenticatedExtendedCard"):
        old.pop("supportsAuthenticatedExtendedCard", None)
    _add_missing(found, old)
    return found


def _add_missing(value: JSON, other: JSON) -> None:
    """Add what another value has, at all depths."""
    if isinstance(value, dict) and isinstance(other, dict):
        for key, its in other.items():
            if key in value:
                _add_missing(value[key], its)
            else:
                value[key] = its
    elif isinstance(value, list) and isinstance(other, list):
        for one, its in zip(value, other, strict=False):
            _add_missing(one, its)


def _skill(skill: Skill, agent: AgentDescription) -> AgentSkill:
    return AgentSkill(
        id=skill.id,
        name=skill.name,
        description=skill.description + _schemas(skill),
        tags=skill.tags or [skill.id],
        examples=skill.examples,
        # The same as the card's, but fasta2a 2.1 refuses a card without them.
        input_modes=agent.input_modes,
        output_modes=agent.output_modes,
    )


def _schemas(skill: Skill) -> str:
    """Return the JSON schemas for the end of a description, one per line."""
    takes, returns = skill.input_schema, skill.output_schema
    lines = ["\nInput: data, or text that is JSON, of the schema " + _line(takes)] if takes else []
    lines += ["\nOutput: data of the schema " + _line(returns)] if returns else []
    return "".join(lines)


def _line(schema: Mapping[str, JSON]) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def _provider(provider: Provider | None) -> AgentProvider | None:
    if provider is None:
        return None
    return AgentProvider(organization=provider.organization, url=provider.url)


def _extension(extension: Extension) -> AgentExtension:
    listed = AgentExtension(
        uri=extension.uri, description=extension.description, required=extension.required
    )
    if extension.params:
        listed.params.CopyFrom(to_struct(extension.params))
    return listed


def overlap(one: str, other: str) -> bool:
    """Return whether two media types, which may contain `*`, have a type in common.

    Case and parameters are ignored (RFC 9110, section 8.3.1).
    """
    (kind, subtype), (other_kind, other_subtype) = _essence(one), _essence(other)
    return _same(kind, other_kind) and _same(subtype, other_subtype)


def _essence(media_type: str) -> tuple[str, str]:
    kind, _, subtype = media_type.partition(";")[0].strip().lower().partition("/")
    return kind, subtype


def _same(one: str, other: str) -> bool:
    return one == other or "*" in (one, other)
