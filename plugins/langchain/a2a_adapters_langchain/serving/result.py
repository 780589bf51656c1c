"""What a finished run of a graph has to say beyond the tokens that were streamed.

| the graph's output has    | the answer is                                                    |
|---------------------------|------------------------------------------------------------------|
| `structured_response`     | that, as data with its schema                                    |
| messages                  | the run's last message: its text, unless streamed, and its files |
| other keys                | those the run has written; a single text is sent as text         |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from a2a_adapters import AgentEvent, Output, Speech, TextDelta
from a2a_adapters_langchain.serving.content import message_extras
from a2a_adapters_langchain.serving.files import FILES, StateFiles
from a2a_adapters_langchain.serving.output import is_message_list, outputs

if TYPE_CHECKING:
    from a2a_adapters_langchain.serving.run import GraphRun
    from a2a_adapters_langchain.serving.schema import Schema

_STRUCTURED = "structured_response"


class GraphResult:
    """Reads the answer from a graph's last state.

    Args:
        channels: What of the state is the output; None for all.
        schema: The output's schema, empty if it is not known.
        output: Makes the answer of the output state, in place of the rules above.
        files: Which files of the state are artifacts, by patterns of their paths.

    Raises:
        TargetError: The patterns are no list.
    """

    def __init__(
        self,
        channels: str | Sequence[str] | None,
        schema: Schema,
        output: Callable[[Any], object] | None,
        files: Collection[str],
    ) -> None:
        self._channels = channels
        self._schema = schema
        self._output = output
        self._files = StateFiles(files)

    def files(self, run: GraphRun) -> Sequence[Output]:
        """Return the wanted files that the run wrote, as artifacts."""
        return self._files.outputs(run)

    def events(self, run: GraphRun) -> Sequence[AgentEvent]:
        """Return the rest of the answer."""
        values = run.values
        if isinstance(self._channels, str) or not isinstance(values, Mapping):
            return self._unless_said(self._output(values) if self._output else values, run.speech)
        channels = values if self._channels is None else self._channels
        hidden = {FILES} if self._files.patterns else set()
        state = {key: values[key] for key in channels if key in values and key not in hidden}
        if self._output:
            return outputs(self._output(state))
        if state.get(_STRUCTURED) is not None:
            return outputs(state[_STRUCTURED], self._property(_STRUCTURED))
        if lists := [key for key, value in state.items() if is_message_list(value)]:
            key = "messages" if "messages" in lists else lists[0]
            return _last_message(state[key], run.first_values.get(key), run.speech)
        made = {key: value for key, value in state.items() if run.has_made(key, value)}
        return self._made(made, run.speech)

    def _made(self, made: Mapping[str, object], speech: Speech[str]) -> Sequence[AgentEvent]:
        if len(made) == 1:
            (value,) = made.values()
            if isinstance(value, str | BaseMessage):
                return self._unless_said(value, speech)
        new = {key: value for key, value in made.items() if not _is_said(value, speech)}
        is_complete = new.keys() == self._schema.get("properties", {}).keys()
        return outputs(new, self._schema if is_complete else None) if new else []

    def _unless_said(self, value: object, speech: Speech[str]) -> Sequence[AgentEvent]:
        if isinstance(value, BaseMessage):
            return _message_events(value, speech)
        return (
            _text_events(value, speech) if isinstance(value, str) else outputs(value, self._schema)
        )

    def _property(self, name: str) -> Schema | None:
        schema = self._schema.get("properties", {}).get(name)
        return {**schema, "$defs": self._schema.get("$defs", {})} if schema else None


def _is_said(value: object, speech: Speech[str]) -> bool:
    return isinstance(value, str) and speech.has_said(value)


def _last_message(
    messages: Sequence[object], before: object, speech: Speech[str]
) -> Sequence[AgentEvent]:
    """Return the last message of the run, if it made one, as far as it was not streamed."""
    last_before = before[-1] if is_message_list(before) else None
    for message in reversed(messages):
        if last_before and _is_same(message, last_before):
            break
        if isinstance(message, AIMessage | ToolMessage):
            return _message_events(message, speech)
    return []


def _is_same(message: object, other: BaseMessage) -> bool:
    if message is other:
        return True
    return isinstance(message, BaseMessage) and message.id is not None and message.id == other.id


def _text_events(text: str, speech: Speech[str]) -> list[AgentEvent]:
    if not speech:
        return [*outputs(text)]
    new = "" if speech.has_said(text) else speech.end("", text)
    return [TextDelta(new)] if new else []


def _message_events(message: BaseMessage, speech: Speech[str]) -> Sequence[AgentEvent]:
    if not speech:
        return outputs(message)
    extras = message_extras(message)
    return [*_text_events(str(message.text), speech), *(outputs(extras) if extras else [])]
