"""Finds what may change or block a message of an agent after its model has streamed it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from autogen_agentchat.agents import BaseChatAgent, CodeExecutorAgent
from autogen_agentchat.base import ChatAgent, TaskRunner, Team
from autogen_agentchat.conditions import FunctionalTermination
from autogen_core.models import ChatCompletionClient

from a2a_adapters.plugin import overrides
from a2a_adapters_autogen.serving.runners import (
    conditions_of,
    listeners,
    model_clients,
    runners_in,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from a2a_adapters_autogen.serving.runners import Runner

_FRAMEWORK = ("autogen_agentchat.", "autogen_core.", "autogen_ext.", "a2a_adapters_autogen.")
_INTERFACES = (TaskRunner, ChatAgent, ChatCompletionClient)
_PAIRS = (("on_messages", "on_messages_stream"), ("run", "run_stream"))


def changes_messages(runner: Runner) -> bool:
    """Whether something in a runner may change or block a message after it was streamed.

    This may be a custom class or object that overrides the answers of an agent or a model client,
    or wraps one; a custom termination condition, or manager of a team, which may raise; or custom
    code that approves or executes the code that an agent writes as text.
    """
    members = list(runners_in(runner))
    return (
        any(_wraps(member, name) for member in members for pair in _PAIRS for name in pair)
        or any(_wraps_another(member, (ChatAgent, Team)) for member in members)
        or any(map(_changes_stream, model_clients(members)))
        or any(map(_refuses_code, members))
        or any(map(_has_own_manager, members))
        or any(
            isinstance(each, FunctionalTermination) or is_own(each)
            for each in conditions_of(members)
        )
    )


def sees_messages(team: Runner) -> bool:
    """Whether custom code of a team sees the messages of agents that have ended, and may raise.

    This may be a custom class of agents, memories or contexts, a function that selects agents, or
    a class that overrides the whole answers of a model client.
    """
    members = list(runners_in(team))
    parts = (part for member in members for part in (member, *listeners(member)))
    return any(map(is_own, parts)) or any(
        _wraps(client, "create") for client in model_clients(members)
    )


def runs_whole(runner: Runner) -> bool:
    """Whether a custom class changes a runner's answer only if the answer is not streamed."""
    return any(_wraps(runner, whole, unless=[stream]) for whole, stream in _PAIRS)


def sees_whole_run(runner: Runner) -> bool:
    """Whether a custom class sees the result of a run, with the messages before a question."""
    return any(_wraps(runner, name) for name in ("run", "run_stream"))


def _refuses_code(member: Runner) -> bool:
    # There are no public names.
    return isinstance(member, CodeExecutorAgent) and (
        member._approval_func is not None  # noqa: SLF001
        or is_own(member._code_executor)  # noqa: SLF001
    )


def _has_own_manager(member: Runner) -> bool:
    """Whether a custom class makes the manager of a team, which gets each message."""
    own = (each for each in type(member).__mro__ if not each.__module__.startswith(_FRAMEWORK))
    return any("_create_group_chat_manager_factory" in vars(each) for each in own)


def _changes_stream(client: ChatCompletionClient) -> bool:
    """Whether a model client, or one inside it, may change what its model has streamed."""
    return (
        _wraps(client, "create_stream")
        or _wraps_another(client, ChatCompletionClient)
        or any(map(_changes_stream, _held(client, ChatCompletionClient)))
    )


def _wraps(owner: object, name: str, unless: Collection[str] = ()) -> bool:
    """Whether custom code overrides a method of a class that does the whole work."""
    # The streaming of `BaseChatAgent` only calls `on_messages`, which is abstract.
    interfaces = (*_INTERFACES, *([BaseChatAgent] if "messages" in name else ()))
    return overrides(owner, name, _FRAMEWORK, interfaces=interfaces, unless=unless)


def _wraps_another(owner: object, kind: type | tuple[type, ...]) -> bool:
    return is_own(owner) and any(_held(owner, kind))


def _held(owner: object, kind: type | tuple[type, ...]) -> Iterator[Any]:
    """Yield the values of an object's attributes, and those in lists and mappings there."""
    for name, value in vars(owner).items():
        if name != "_participants":  # the members of a team are checked one by one
            yield from (each for each in _members(value) if isinstance(each, kind))


def _members(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple | set) else (value,)


def is_own(part: object) -> bool:
    """Whether something is a function, or of a class that is not AutoGen's."""
    return not type(part).__module__.startswith(_FRAMEWORK)
