"""The content of an agent's card."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from a2a_adapters.contract.checking import check_fields
from a2a_adapters.contract.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters.contract.parts import JSON

_Target = TypeVar("_Target")

_MODES = ("text/plain", "application/json")
ANY_MODES = (*_MODES, "*/*")
"""The media types of an agent that takes and returns text, data and any files."""
_ATTRIBUTE = "a2a_card"
"""The attribute of a target that holds its card."""
_ADDRESSES = ("icon_url", "documentation_url")


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A capability that the agent card lists (A2A 1.0, `AgentSkill`).

    `input_schema` and `output_schema` are JSON schemas of the data it takes and returns. A2A skills
    have no field for them, so the card adds them to the description.

    Raises:
        ConfigurationError: A value has the wrong type.
    """

    id: str
    name: str
    description: str
    tags: Sequence[str] = ()
    examples: Sequence[str] = ()
    input_schema: Mapping[str, JSON] | None = None
    output_schema: Mapping[str, JSON] | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    def of(cls, name: str, description: str | None, tag: str = "tool") -> Skill:
        """Return the skill of a tool or a member; its name describes it if nothing else does."""
        return cls(id=name, name=name, description=description or name, tags=(tag,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """A protocol extension that the agent card lists (A2A 1.0, section 4.6).

    Messages that do not activate a `required` extension are refused.
    """

    uri: str
    description: str = ""
    required: bool = False
    params: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Provider:
    """The organization that offers an agent (A2A 1.0, `AgentProvider`), and its website."""

    organization: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDescription:
    """The public description of a target, from which its agent card is built.

    Never include a prompt. `input_modes` and `output_modes` are media types; `*/*` is any type.
    """

    name: str
    description: str
    version: str = "1.0.0"
    skills: Sequence[Skill] = ()
    extensions: Sequence[Extension] = ()
    input_modes: Sequence[str] = _MODES
    output_modes: Sequence[str] = _MODES
    provider: Provider | None = None
    icon_url: str = ""
    documentation_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Fields of an agent's card that replace those its adapter derives from the target.

    Pass it to `serve` and `build_app`, or use it as a decorator of a function, a class or an
    object: `@Card(version="2.1.0")`. Fields that are None are derived.

    Attributes:
        name: The agent's name.
        description: The agent's description.
        version: The agent's version.
        skills: All skills of the agent.
        tags: The tags of its skill, if it has one.
        examples: Example messages for its skill, if it has one.
        provider: The organization that offers the agent.
        icon_url: The address of an icon.
        documentation_url: The address of the documentation.
        input_modes: The media types it takes; `*/*` is any type.
        output_modes: The media types it returns.

    Raises:
        ConfigurationError: A list is a string, or an address is not one of a website.
    """

    name: str | None = None
    description: str | None = None
    version: str | None = None
    skills: Sequence[Skill] | None = None
    tags: Sequence[str] | None = None
    examples: Sequence[str] | None = None
    provider: Provider | None = None
    icon_url: str | None = None
    documentation_url: str | None = None
    input_modes: Sequence[str] | None = None
    output_modes: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        addresses = {name: getattr(self, name) for name in _ADDRESSES}
        if self.provider is not None:
            addresses["provider.url"] = self.provider.url
        for name, address in addresses.items():
            if address is not None and not str(address).startswith(("https://", "http://")):
                raise ConfigurationError(f"Card.{name} must be a web address, not {address!r}")

    def __call__(self, target: _Target) -> _Target:
        """Give the card to a target, as its attribute `a2a_card`; return the target."""
        setattr(target, _ATTRIBUTE, self)
        return target

    @classmethod
    def of(cls, target: object) -> Card:
        """Return the card that a target was given; an empty one if it has none."""
        found = getattr(target, _ATTRIBUTE, None)
        return found if isinstance(found, cls) else cls()

    def over(self, below: Card) -> Card:
        """Return this card, completed by another one."""
        return replace(below, **self._said())

    def applied(self, about: AgentDescription) -> AgentDescription:
        """Return a description with the fields of this card.

        Raises:
            ConfigurationError: There are tags or examples for an agent of several skills.
        """
        said = self._said()
        skill = {name: said.pop(name) for name in ("tags", "examples") if name in said}
        about = replace(about, **said)
        if not skill:
            return about
        if len(about.skills) > 1:
            raise ConfigurationError(
                f"the agent {about.name} has {len(about.skills)} skills: give tags and examples "
                "to each in Card(skills=[Skill(...), ...])"
            )
        return replace(about, skills=[replace(listed_skills(about)[0], **skill)])

    def _said(self) -> dict[str, Any]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


def listed_skills(description: AgentDescription) -> Sequence[Skill]:
    """Return the agent's skills, or a general one for an agent that names none."""
    only = Skill(id="answer", name=description.name, description=description.description)
    return description.skills or [only]
