"""Finds what may change or block a message of an agent after its model has streamed it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from autogen_agentchat.agents import BaseChatAgent, CodeExecutorAgent
from autogen_agentchat.base import ChatAgent, TaskRunner, Team
from autogen_agentchat.conditions import FunctionalTermination
from autogen_core.models import ChatCompletionClient

from a2a_adapters.plugin import overrides
from a2a_adapters_autogen.serving.runners import conditions_of, model_clients, runners_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from a2a_adapters_autogen.serving.runners import Runner

_FRAMEWORK = ("autogen_agentchat.", "autogen_core.", "autogen_ext.", "a2a_adapters_autogen.")
_INTERFACES = (TaskRunner, ChatAgent, ChatCompletionClient)
_PAIRS = (("on_messages", "on_messages_stream"), ("run", "run_stream"))


def changes_messages(runner: Runner) -> bool:
    """Whether something in a runner may change or block a message after it was streamed.

    This may be a custom class or object that overrides the answers of an agent or a model client,
    or wraps one; a custom termination condition, or manager of a team, which may raise; or a
    function that approves the code that an agent writes as text.
    """
    members = list(runners_in(runner))
    return (
        any(_wraps(member, name) for member in members for pair in _PAIRS for name in pair)
        or any(_wraps_another(member, (ChatAgent, Team)) for member in members)
        or any(map(_changes_stream, model_clients(members)))
        or any(map(_approves_code, members))
        or any(map(_has_own_manager, members))
        or any(
            isinstance(each, FunctionalTermination) or not _is_of_framework(type(each))
            for each in conditions_of(members)
        )
    )


def runs_whole(runner: Runner) -> bool:
    """Whether a custom class changes a runner's answer only if the answer is not streamed."""
    return any(_wraps(runner, whole, unless=[stream]) for whole, stream in _PAIRS)


def _approves_code(member: Runner) -> bool:
    # There is no public name.
    return isinstance(member, CodeExecutorAgent) and member._approval_func is not None  # noqa: SLF001


def _has_own_manager(member: Runner) -> bool:
    """Whether a custom class makes the manager of a team, which gets each message."""
    own = (each for each in type(member).__mro__ if not _is_of_framework(each))
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
    return not _is_of_framework(type(owner)) and any(_held(owner, kind))


def _held(owner: object, kind: type | tuple[type, ...]) -> Iterator[Any]:
    """Yield the values of an object's attributes, and those in lists and mappings there."""
    for name, value in vars(owner).items():
        if name != "_participants":  # the members of a team are checked one by one
            yield from (each for each in _members(value) if isinstance(each, kind))


def _members(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple | set) else (value,)


def _is_of_framework(kind: type) -> bool:
    return kind.__module__.startswith(_FRAMEWORK)
