"""Several targets as one agent, which passes each message to the adapter of the skill it names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from a2a_adapters import AgentRequest, ConfigurationError, InputRequired, InvalidInputError, Skill
from a2a_adapters.plugin import Adapter, AgentDescription, StateStorage, installed_plugins

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable

    from a2a_adapters import AgentEvent

    _Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]

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


_CHOICE = "skill_id"
"""Key in a message's metadata, as `RemoteAgent.send(..., skill=...)` sets it."""

_ASKED = "a2a_adapters.skill"
"""Key in a question's metadata: the skill that gets the answer."""


class _Chosen(NamedTuple):
    """A skill, and the request as its adapter sees it."""

    id: str
    adapter: Adapter
    request: AgentRequest


class SkillsAdapter(Adapter):
    """Makes several targets the skills of one agent.

    Attributes:
        inner: The adapters of the targets.

    Raises:
        ConfigurationError: The targets have different policies for fetching files.
        NoAdapterError: No plugin can serve a target.
        TargetError: A plugin supports a target's type, but cannot serve this object.
    """

    def __init__(self, skills: Skills) -> None:
        self._skills = skills
        self._adapters = {
            name: installed_plugins().adapt(target) for name, target in skills.targets.items()
        }
        every = self._adapters.values()
        self._opened = AsyncExitStack()
        self.may_reply = any(each.may_reply for each in every)
        self.uses_history = any(each.uses_history for each in every)
        self.holds_text = any(each.holds_text for each in every)
        self.resumes = any(each.resumes for each in every)
        self.inner = list(every)
        self.fetch = self.inner[0].fetch
        if any(each.fetch != self.fetch for each in every):
            raise ConfigurationError(
                "skills fetch files by one policy: give all of them the same fetch="
            )

    def describe(self) -> AgentDescription:
        """Describe the agent, with a skill for each target."""
        about = {name: adapter.describe() for name, adapter in self._adapters.items()}
        extensions = {each.uri: each for one in about.values() for each in one.extensions}
        return AgentDescription(
            name=self._skills.name,
            description=self._skills.description,
            skills=[_as_skill(name, one) for name, one in about.items()],
            extensions=list(extensions.values()),
            input_modes=_joined(one.input_modes for one in about.values()),
            output_modes=_joined(one.output_modes for one in about.values()),
        )

    async def open(self, storage: StateStorage) -> None:
        """Open the targets, each with state of its own."""
        async with AsyncExitStack() as opened:
            for name, adapter in self._adapters.items():
                opened.push_async_callback(adapter.aclose)
                await adapter.open(SkillStorage(storage, name))
            self._opened = opened.pop_all()

    def stream(self, request: AgentRequest) -> _Events:
        """Let the skill that the message names answer it.

        Raises:
            InvalidInputError: The message names no skill, or an unknown one.
        """
        chosen = self._choose(request)
        return _answered(chosen, chosen.adapter.stream(chosen.request))

    def resume(self, request: AgentRequest) -> _Events:
        """Let the skill continue the run of a dead process."""
        chosen = self._choose(request)
        return _answered(chosen, chosen.adapter.resume(chosen.request))

    async def had_effect(self, request: AgentRequest) -> bool:
        """Ask the skill whether the interrupted run did anything."""
        chosen = self._choose(request)
        return await chosen.adapter.had_effect(chosen.request)

    async def abandon(self, request: AgentRequest) -> None:
        """Let the skill close its open question."""
        chosen = self._choose(request)
        await chosen.adapter.abandon(chosen.request)

    async def aclose(self) -> None:
        """Close the targets."""
        await self._opened.aclose()

    def _choose(self, request: AgentRequest) -> _Chosen:
        asked = request.resume_metadata.get(_ASKED)
        name = asked or request.metadata.get(_CHOICE, self._skills.default)
        adapter = self._adapters.get(name) if isinstance(name, str) else None
        if not isinstance(name, str) or adapter is None:
            known = ", ".join(self._adapters)
            problem = "the message names no skill" if name is None else "there is no such skill"
            raise InvalidInputError(f"{problem}; set {_CHOICE} in its metadata to one of: {known}")
        return _Chosen(name, adapter, _of_skill(request, adapter))


def _of_skill(request: AgentRequest, adapter: Adapter) -> AgentRequest:
    """Return a request as it would be without other skills."""
    metadata = {key: value for key, value in request.resume_metadata.items() if key != _ASKED}
    history = request.history if adapter.uses_history else ()
    return replace(request, resume_metadata=metadata, history=history)


async def _answered(chosen: _Chosen, events: _Events) -> _Events:
    """Yield the events of a skill, and mark its questions as its own."""
    answer: AgentRequest | None = None
    async with aclosing(events):
        with suppress(StopAsyncIteration):
            while True:
                event = await events.asend(answer)
                if isinstance(event, InputRequired):
                    event = replace(event, metadata={**event.metadata, _ASKED: chosen.id})
                answer = yield event
                if answer is not None:
                    answer = _of_skill(answer, chosen.adapter)


def _as_skill(name: str, about: AgentDescription) -> Skill:
    only = about.skills[0] if len(about.skills) == 1 else None
    return Skill(
        id=name,
        name=about.name,
        description=about.description,
        tags=[tag for skill in about.skills for tag in skill.tags],
        examples=[example for skill in about.skills for example in skill.examples],
        input_schema=only.input_schema if only else None,
        output_schema=only.output_schema if only else None,
    )


def _joined(modes: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(modes)))


class SkillStorage(StateStorage):
    """The part of an agent's storage that belongs to one of its skills."""

    def __init__(self, storage: StateStorage, skill: str) -> None:
        self._storage = storage
        self._skill = skill
        self.url = storage.url
        self.agent = f"{storage.agent}/{skill}"
        self.is_durable = storage.is_durable

    async def read_state(self, owner: str, context_id: str, kind: str) -> bytes | None:
        """Return the skill's state of this kind, or None."""
        return await self._storage.read_state(owner, context_id, self._own(kind))

    async def write_state(self, owner: str, context_id: str, kind: str, body: bytes | None) -> None:
        """Store the skill's state of this kind, or delete it if `body` is None."""
        await self._storage.write_state(owner, context_id, self._own(kind), body)

    async def swap_state(
        self, owner: str, context_id: str, kind: str, expected: bytes | None, body: bytes
    ) -> bool:
        """Replace the skill's state if it is still the expected one."""
        return await self._storage.swap_state(owner, context_id, self._own(kind), expected, body)

    async def keep_elsewhere(self, owner: str, context_id: str, kind: str, name: str) -> None:
        """Record that the conversation has state of the skill in another store."""
        await self._storage.keep_elsewhere(owner, context_id, self._own(kind), name)

    def forget_elsewhere(self, kind: str, forget: Callable[[str], Awaitable[None]]) -> None:
        """Register the function that deletes state of the skill in another store."""
        self._storage.forget_elsewhere(self._own(kind), forget)

    def _own(self, kind: str) -> str:
        return f"{self._skill}/{kind}"
