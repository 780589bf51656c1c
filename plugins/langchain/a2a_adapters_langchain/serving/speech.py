"""The streamed text of a graph's messages, one message at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a_adapters import ReasoningFilter, without_reasoning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from langchain_core.messages import AIMessageChunk

TASK = "langgraph_checkpoint_ns"
"""Key in the metadata of a model call: the path of its task."""

BETWEEN = "\n\n"


class Speech:
    """What a run says.

    Messages are set apart by a blank line. Of nodes that speak at the same time one has the
    floor until its message ends and the others wait, so that their words are not mixed.

    Args:
        may_speak: Whether the tokens of a task, given by its path, are part of the answer.
        said: The messages that were said already.
        is_structured: Whether a task's text is structured output. That is held back, since it may
            prove invalid; the graph's result has it.
    """

    def __init__(
        self,
        may_speak: Callable[[str], bool],
        said: Iterable[str] = (),
        is_structured: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._may_speak = may_speak
        self._is_structured = is_structured
        self._held: dict[str, list[str]] = {}
        self._is_heard: dict[str, bool] = {}
        self._floor = ""
        self._reasoning = ReasoningFilter()
        self._current: list[str] = []
        self._waiting: dict[str, list[str]] = {}
        self._late: list[str] = []
        self._said: list[str] = list(said)

    def add(self, chunk: AIMessageChunk, metadata: Mapping[str, Any]) -> str:
        """Take a chunk and return what is to be sent now."""
        task = metadata[TASK]
        content = chunk.content
        text = content if type(content) is str else str(chunk.text)
        if self._is_structured(task):
            text = self._hold(task, text, chunk)
        if task != self._floor:
            if not self._hears(task):
                return ""
            if self._floor:
                return self._wait(task, text, ends=bool(chunk.chunk_position))
        if text:
            text = self._speak(task, text)
        if chunk.chunk_position and self._floor:
            text += self._yield_floor()
        return text

    def rest(self) -> str:
        """Return what was never sent, at the end of the run."""
        rest = ""
        while self._floor or self._late:
            rest += self._yield_floor()
        return rest

    def apart(self, text: str) -> str:
        """Return `text` set apart from the messages before."""
        return BETWEEN + text if self._said else text

    def has_said(self, text: str) -> bool:
        """Whether a message of this text was streamed."""
        return without_reasoning(text).strip() in self._said

    def __bool__(self) -> bool:
        return bool(self._said)

    def _hold(self, task: str, text: str, chunk: AIMessageChunk) -> str:
        """Hold text back until its message calls a tool, which structured output never does."""
        held = self._held.setdefault(task, [])
        held.append(text)
        text = "".join(held) if chunk.tool_call_chunks else ""
        if text or chunk.chunk_position:
            held.clear()
        return text

    def _hears(self, task: str) -> bool:
        if task not in self._is_heard:
            self._is_heard[task] = self._may_speak(task)
        return self._is_heard[task]

    def _speak(self, task: str, text: str) -> str:
        self._floor = task
        return self._say(self._reasoning.add(text))

    def _say(self, text: str) -> str:
        """Note what is part of the current message; return it, set apart if it begins that."""
        if not text:
            return ""
        begins = not self._current
        self._current.append(text)
        return self.apart(text) if begins else text

    def _wait(self, task: str, text: str, *, ends: bool) -> str:
        pieces = self._waiting.setdefault(task, [])
        pieces.append(text)
        if ends:
            self._late.append(without_reasoning("".join(self._waiting.pop(task))))
        return ""

    def _yield_floor(self) -> str:
        """End the current message; return what has waited for that."""
        text = self._say(self._reasoning.rest())
        if self._current:
            self._said.append("".join(self._current).strip())
        self._floor, self._current, self._reasoning = "", [], ReasoningFilter()
        for message in filter(None, self._late):
            text += self.apart(message)
            self._said.append(message.strip())
        self._late.clear()
        if self._waiting:
            task = next(iter(self._waiting))
            text += self._speak(task, "".join(self._waiting.pop(task)))
        return text
