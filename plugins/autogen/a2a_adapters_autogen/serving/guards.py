"""Finds what may change or block a message of an agent after its model has streamed it.

Custom code is judged by what it is, wherever an agent or a team has it: see `parts_of`.
"""

from __future__ import annotations

from functools import lru_cache
from inspect import isabstract
from itertools import chain
from types import FunctionType
from typing import TYPE_CHECKING, Any

from autogen_agentchat.agents import BaseChatAgent, CodeExecutorAgent
from autogen_agentchat.base import ChatAgent, TaskRunner, Team, TerminationCondition
from autogen_agentchat.conditions import FunctionalTermination
from autogen_agentchat.messages import BaseMessage
from autogen_core import CacheStore
from autogen_core.code_executor import CodeExecutor
from autogen_core.memory import Memory
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import ChatCompletionClient
from autogen_core.tools import BaseStreamTool, BaseTool, StaticStreamWorkbench, StreamTool, Tool
from pydantic import BaseModel

from a2a_adapters.plugin import overrides
from a2a_adapters_autogen.serving.references import (
    FRAMEWORK,
    is_known,
    is_own,
    may_call,
    parts_of,
    refers_to,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from a2a_adapters_autogen.serving.runners import Runner

_TOOLS = (BaseStreamTool, BaseTool, StreamTool, Tool)
_INTERFACES = (TaskRunner, ChatAgent, ChatCompletionClient, *_TOOLS)
_METHODS = (FunctionType, classmethod, staticmethod)
_PAIRS = (("on_messages", "on_messages_stream"), ("run", "run_stream"))
_SPEAKING = (ChatAgent, Team, ChatCompletionClient, BaseStreamTool, StaticStreamWorkbench)
"""What passes on text of models."""
_ANSWERS = {ChatCompletionClient: {"create_stream"}, ChatCompletionContext: {"add_message"}}
"""The methods of classes, of which others do not change an answer."""
_UNCHANGING = {
    "_from_config", "_to_config", "close", "dump_component", "load_state", "load_state_json",
    "on_pause", "on_reset", "on_resume", "pause", "reset", "resume", "save_state",
    "save_state_json",
}  # fmt: skip
"""The methods of agents, teams and tools that do not change an answer."""


def changes_messages(runner: Runner) -> bool:
    """Whether something in a runner may change or block a message after it was streamed.

    This may be a custom class or object that overrides the answers of an agent or a model client,
    or wraps one; a custom termination condition, manager of a team, executor of code or store of
    answers, which may raise; or a function that approves code.
    """
    return any(map(_changes, parts_of(runner)))


def sees_messages(team: Runner) -> bool:
    """Whether custom code of a team sees the messages of agents that have ended, and may raise.

    This may be a custom class of agents, memories or contexts, a type of structured messages, a
    function, or a class that overrides the whole answers of a model client.
    """
    return any(map(_sees, parts_of(team)))


def runs_whole(runner: Runner) -> bool:
    """Whether a custom class changes a runner's answer only if the answer is not streamed."""
    return any(_wraps(runner, whole, unless=[stream]) for whole, stream in _PAIRS)


def sees_whole_run(runner: Runner) -> bool:
    """Whether a custom class sees the result of a run, with the messages before a question."""
    return any(_wraps(runner, name) for name in ("run", "run_stream"))


def _changes(part: Any) -> bool:
    kind: Any = type(part)
    if not is_known(kind):
        return False
    match part:
        case FunctionalTermination():
            return True
        case TerminationCondition() | CodeExecutor() | CacheStore():
            return is_own(part)
        case CodeExecutorAgent() if part._approval_func is not None:  # noqa: SLF001 - no public name
            return True
    names = _answering(kind)
    if names and not is_own(part):  # a function may have been set on the object
        names = names & vars(part).keys()
    return any(_wraps(part, name) for name in names) or _is_around_another(part)


def _sees(part: Any) -> bool:
    kind: Any = type(part)
    if issubclass(kind, type):
        return is_own(part) and BaseModel in part.__mro__ and not issubclass(part, BaseMessage)
    if not is_known(kind):
        return callable(part) and is_own(part)
    match part:
        case ChatCompletionClient():
            return _wraps(part, "create")
        case ChatAgent() | Team() | Memory() | ChatCompletionContext():
            return is_own(part)
    return callable(part) and is_own(part)


@lru_cache
def _answering(kind: Any) -> set[str]:
    """Return the names of AutoGen's methods by which objects of a class change answers."""
    for known, names in _ANSWERS.items():
        if issubclass(kind, known):
            return names
    if not issubclass(kind, _SPEAKING):
        return set()
    bases = (each for each in kind.__mro__ if each.__module__.startswith(FRAMEWORK))
    members = chain.from_iterable(vars(each).items() for each in bases)
    names = {name for name, value in members if isinstance(value, _METHODS)} - _UNCHANGING
    return {name for name in names if not name.startswith("__")}


def _is_around_another(part: Any) -> bool:
    """Whether a custom class that is derived from no working one of AutoGen's needs another.

    A model client of an agent that does not stream is never heard before the agent has answered.
    """
    if not (isinstance(part, _SPEAKING) and is_own(part)):
        return False
    bases = [
        each for each in type(part).__mro__ if issubclass(each, _SPEAKING) and not is_own(each)
    ]
    stream = getattr(part, "on_messages_stream", None)
    is_silent = getattr(stream, "__func__", None) is BaseChatAgent.on_messages_stream
    others = (ChatAgent, Team) if is_silent else _SPEAKING
    return all(map(isabstract, bases)) and refers_to(part, others)


def _wraps(owner: object, name: str, unless: Collection[str] = ()) -> bool:
    """Whether custom code overrides a method of a class that does the whole work."""
    # The streaming of `BaseChatAgent` only calls `on_messages`, which is abstract.
    interfaces = (*_INTERFACES, *([BaseChatAgent] if "messages" in name else ()))
    is_over = overrides(owner, name, FRAMEWORK, interfaces=interfaces, unless=unless)
    return is_over and not _is_alone(owner, name, interfaces)


def _is_alone(owner: object, name: str, interfaces: Collection[type]) -> bool:
    """Whether a method takes the place of those of custom classes only, and calls none of them."""
    defining = [each for each in type(owner).__mro__ if name in vars(each)]
    newest, *older = [each for each in defining if each not in interfaces]
    is_replaced = name not in vars(owner) and all(map(is_own, older))
    return is_replaced and not may_call(vars(newest)[name], older)
