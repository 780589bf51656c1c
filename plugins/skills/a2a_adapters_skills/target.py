"""Several targets that are one agent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from a2a_adapters import ConfigurationError

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class Skills:
    """Targets that one agent offers as skills; a message names the one that answers it.

    Attributes:
        targets: The targets by skill id: chains, graphs, crews, functions, ...
        name: The agent's name.
        description: The agent's description.
        default: The skill for messages that name none; by default these are refused.

    Raises:
        ConfigurationError: There is no target, an id is invalid, a target is `Skills`, or the
            default is none of the targets.
    """

    targets: Mapping[str, object]
    name: str
    description: str
    default: str | None = None

    def __post_init__(self) -> None:
        if not self.targets:
            raise ConfigurationError("there are no skills to serve")
        for skill, target in self.targets.items():
            if isinstance(target, Skills):
                raise ConfigurationError(f"{skill} is Skills itself: list its targets instead")
            if not _ID.fullmatch(skill):
                raise ConfigurationError(
                    f"{skill!r} cannot be the id of a skill: use at most 63 letters, digits and "
                    "- . _, starting with a letter or digit"
                )
        if self.default is not None and self.default not in self.targets:
            raise ConfigurationError(f"the default {self.default!r} is none of the skills")
