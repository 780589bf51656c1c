"""One run of a graph: what its stream has told so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessageChunk

from a2a_adapters import AgentEvent, Speech, TextDelta
from a2a_adapters_langchain.serving.watch import TASK

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_adapters_langchain.serving.cutoff import CutOffRun
    from a2a_adapters_langchain.serving.progress import GraphNews, Namespace
    from a2a_adapters_langchain.serving.speakers import MaySpeak

_INTERRUPT = "__interrupt__"


class GraphRun:
    """Takes a run's stream and gives the events that are to be sent at once.

    Args:
        given: The graph's input.
        speech: Joins the messages.
        may_speak: Whether the tokens of a task, given by its path, are part of the answer.
        news: Takes what clients that follow the run want to know; None if nobody does.
        cut_off: The run of a process that is gone, with which this one goes on.
        is_structured: Whether a task's text is structured output. That is held back, since it may
            prove invalid; the graph's result has it.
    """

    def __init__(
        self,
        given: object,
        speech: Speech[str],
        may_speak: MaySpeak,
        *,
        news: GraphNews | None,
        cut_off: CutOffRun | None = None,
        is_structured: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.speech = speech
        self._may_speak = may_speak
        self._is_heard: dict[str, bool] = {}
        self._is_structured = is_structured
        self._held: dict[str, list[str]] = {}
        self.values: Any = cut_off.values if cut_off else None
        self.first_values: Mapping[str, Any] = cut_off.first_values if cut_off else {}
        self.is_paused = False
        self.complaint = ""
        self.news = news
        self._given = given if isinstance(given, Mapping) else {}
        self._written: set[str] = cut_off.written() if cut_off else set()

    def token(self, message: object, metadata: Mapping[str, Any]) -> str:
        """Take a message or a chunk of one; return the text to be sent."""
        if not isinstance(message, AIMessageChunk):
            return ""
        task = metadata[TASK]
        if not self._hears(task):
            return ""
        content = message.content
        text = content if type(content) is str else str(message.text)
        if self._is_structured(task):
            text = self._hold(task, text, message)
        text = self.speech.add(task, text)
        return text + self.speech.end(task) if message.chunk_position else text

    def step(self, namespace: Namespace, mode: str, data: Any) -> Iterator[AgentEvent]:
        """Take anything but a token."""
        if mode == "values":
            if not namespace:
                self._take_values(data)
        elif mode == "updates":
            if not namespace:
                self._take_updates(data)
            if self.news:
                yield from self.news.updates(namespace, data)
        elif self.news:
            yield self.news.custom(data)

    def rest(self) -> Iterator[TextDelta]:
        """Return text that waited for its turn."""
        if text := self.speech.rest():
            yield TextDelta(text)

    def has_made(self, key: str, value: object) -> bool:
        """Whether this run wrote a key of the state, and not only what it was given."""
        return key in self._written and value is not self._given.get(key)

    def _hears(self, task: str) -> bool:
        if task not in self._is_heard:
            self._is_heard[task] = self._may_speak(task)
        return self._is_heard[task]

    def _hold(self, task: str, text: str, chunk: AIMessageChunk) -> str:
        """Hold text back until its message calls a tool, which structured output never does."""
        held = self._held.setdefault(task, [])
        held.append(text)
        text = "".join(held) if chunk.tool_call_chunks else ""
        if text or chunk.chunk_position:
            held.clear()
        return text

    def _take_values(self, values: Any) -> None:
        if isinstance(values, Mapping) and _INTERRUPT in values:
            return
        if self.values is None and isinstance(values, Mapping):
            self.first_values = values
        self.values = values

    def _take_updates(self, updates: Mapping[str, Any]) -> None:
        if _INTERRUPT in updates:
            self.is_paused = True
        for update in updates.values():
            for written in update if isinstance(update, list) else [update]:
                if isinstance(written, Mapping):
                    self._written |= written.keys()
