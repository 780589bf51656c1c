"""From an `AgentDescription` to the card that clients of A2A 1.0 and 0.3 read.

Hosts list their agents in an AI Catalog, see https://agent-card.github.io/ai-catalog/. Media types
are compared as in RFC 9110, section 8.3.1: without case and parameters.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    SecurityRequirement,
    StringList,
)

from a2a_adapters.contract.adapter import Skill
from a2a_adapters.contract.events import PROGRESS_EXTENSION
from a2a_adapters.protocol.conversion import to_struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from a2a.types import SecurityScheme

    from a2a_adapters.contract.adapter import AgentDescription, Extension
    from a2a_adapters.contract.parts import JSON

WELL_KNOWN_PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""Where clients look for the card: today's path and the one used before A2A 0.3."""

CATALOG_PATH = "/.well-known/ai-catalog.json"
"""Where a host's catalog is."""

CATALOG_TYPE = "application/ai-catalog+json"
"""Media type of a catalog, also of one that another lists."""

CARD_TYPE = "application/a2a-agent-card+json"
"""Media type of an agent's card."""

ANY = "*/*"
"""Stands for every media type."""

DEDUPLICATION_EXTENSION = "urn:a2a-adapters:extension:deduplication:v1"
"""URI of the A2A extension by which an agent recognises repeated messages by their ids alone."""

DEDUPLICATION_SECONDS = 24 * 3600
"""How long after a message a repeat of it is recognised, if its task is kept for so long."""

_DEDUPLICATION = AgentExtension(
    uri=DEDUPLICATION_EXTENSION,
    description="A message sent again under its messageId gets the task that it began, also after "
    "a restart. Another message under that id is refused.",
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
) -> AgentCard:
    """Return the card of an agent at `url`, if that is known.

    `others` are the names and addresses of additional bindings, such as `GRPC`.
    Both protocol versions are listed for every binding, so that a2a-sdk adds the fields 0.3
    clients need (A2A 1.0, section 4.4.1 and appendix A). Any of `security_schemes` is
    enough, so each is a requirement of its own. `deduplicates` tells that messages are known
    again by their ids, also after a restart.
    """
    url = url.rstrip("/")
    addresses = [("JSONRPC", f"{url}/"), ("HTTP+JSON", url)] if url else []
    addresses.extend(others)
    interfaces = [
        AgentInterface(url=address, protocol_binding=binding, protocol_version=version)
        for version in ("1.0", "0.3")
        for binding, address in addresses
    ]
    progress = AgentExtension(
        uri=PROGRESS_EXTENSION,
        description="Steps, tool calls and tool results while a task is worked on.",
    )
    extensions = [progress, *([_DEDUPLICATION] if deduplicates else [])]
    schemes = security_schemes or {}
    skills = listed_skills(description)
    return AgentCard(
        name=description.name,
        description=description.description + (_schemas(skills[0]) if len(skills) == 1 else ""),
        version=description.version,
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


def listed_skills(description: AgentDescription) -> Sequence[Skill]:
    """Return the skills that the card lists: of an agent that names none, to answer at all."""
    only = Skill(id="answer", name=description.name, description=description.description)
    return description.skills or [only]


def _skill(skill: Skill, agent: AgentDescription) -> AgentSkill:
    return AgentSkill(
        id=skill.id,
        name=skill.name,
        description=skill.description + _schemas(skill),
        tags=skill.tags or [skill.id],
        examples=skill.examples,
        # They are the card's, and could be left out, but fasta2a 2.1 refuses such a card.
        input_modes=agent.input_modes,
        output_modes=agent.output_modes,
    )


def _schemas(skill: Skill) -> str:
    """Return what is added to a description: the JSON schemas, one per line."""
    takes, returns = skill.input_schema, skill.output_schema
    lines = ["\nInput: data, or text that is JSON, of the schema " + _line(takes)] if takes else []
    lines += ["\nOutput: data of the schema " + _line(returns)] if returns else []
    return "".join(lines)


def _line(schema: Mapping[str, JSON]) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def _extension(extension: Extension) -> AgentExtension:
    listed = AgentExtension(
        uri=extension.uri, description=extension.description, required=extension.required
    )
    if extension.params:
        listed.params.CopyFrom(to_struct(extension.params))
    return listed


def overlap(one: str, other: str) -> bool:
    """Tell whether something can be of both media types; `*` stands for any type or subtype."""
    (kind, subtype), (other_kind, other_subtype) = _essence(one), _essence(other)
    return _same(kind, other_kind) and _same(subtype, other_subtype)


def _essence(media_type: str) -> tuple[str, str]:
    kind, _, subtype = media_type.partition(";")[0].strip().lower().partition("/")
    return kind, subtype


def _same(one: str, other: str) -> bool:
    return one == other or "*" in (one, other)
