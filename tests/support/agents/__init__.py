"""Suites for the plugins of agent frameworks, which use the support module of each framework."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from a2a_adapters.plugin import Adapter


class Model(Protocol):
    """A scripted model of a framework."""

    heard: Sequence[Sequence[Any]]
    """The messages of each call."""


class Support(Protocol):
    """The part of a framework's support module that the suites use."""

    def adapt(self, target: Any, **options: Any) -> Adapter:
        """Return the adapter of an agent."""

    def Fake(self, answer: Callable[[Any], Any], *, streams: bool = True) -> Model:  # noqa: N802
        """Return a model that answers with what the function makes of the messages it receives.

        The function returns a text, a content of the framework, an exception to raise, or a list
        of these; it may be async.
        """

    def script(self, *answers: Any, **options: Any) -> Model:
        """Return a model that gives these answers in turn."""

    def made(self, model: Any, **options: Any) -> Any:
        """Return an agent with this model."""

    def tool(self, function: Callable[..., Any]) -> Any:
        """Return a tool of the framework."""

    def book(self, log: Any) -> Any:
        """Return the tool `book`, which asks before it appends a city to the log."""

    def team(self, agent: Any) -> Any:
        """Return a team of one agent; only of frameworks whose teams ask questions."""

    def calling(self, name: str, call_id: str = "c1", **arguments: Any) -> Any:
        """Return a tool call of a model."""

    def said(self, messages: Any) -> list[str]:
        """Return the texts of the user's messages."""

    def results(self, messages: Any) -> dict[str, Any]:
        """Return the results of tools in the last message, by the id of the call."""


async def items(answer: Callable[[Any], Any], messages: Any) -> list[Any]:
    """Return what the function of a scripted model answers, as a list."""
    made = answer(messages)
    if inspect.isawaitable(made):
        made = await made
    return made if isinstance(made, list) else [made]
