"""Follows what agents say in a run: what is streamed, what is accepted, and what is withdrawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.multiagent.base import MultiAgentResult

from a2a_adapters import CheckedSpeech

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from strands.agent import AgentResult

    from a2a_adapters import AnswerText, TextDelta
    from a2a_adapters_strands.serving.guards import Guards


class Spoken:
    """Converts what agents say in a run to events.

    A response whose model is called again, and the messages of an agent that is run again, or that
    delegates to another, are withdrawn. The last message of an agent is that of its result.

    Args:
        guards: What may change the text.
        streams: Whether text is yielded before it is accepted.
    """

    def __init__(self, guards: Guards, *, streams: bool) -> None:
        self._speech = CheckedSpeech[str](
            holds=guards.messages, until_end=guards.runs, streams=streams
        )
        self._is_guarded = bool(guards)
        self._last: dict[str, tuple[object, str]] = {}
        """The id and the text of the last message of each agent."""
        self._replaced: set[str] = set()
        """The agents whose result replaces what was said last: another run began within theirs."""

    def __bool__(self) -> bool:
        """Whether an agent has said anything."""
        return bool(self._speech)

    def take(self, speaker: str, event: Mapping[str, Any]) -> Iterator[TextDelta | AnswerText]:
        """Yield the text of an event of an agent."""
        match event:
            case {"data": str(text)}:
                yield from self._speech.add(speaker, text)
            case {"message": {"role": "assistant", "content": content} as message}:
                text = text_of(content)
                if self._is_guarded and _id(message) is None:
                    text = ""  # hooks have seen another message: the run fails with that
                self._last[speaker] = _id(message), text
                yield from self._speech.accept(speaker, text)
            case {"event": {"messageStart": _}}:
                yield from self._speech.accept(speaker, "")
            case {"init_event_loop": True} if self._last.pop(speaker, None):
                self._replaced.add(speaker)
                yield from self._speech.withdraw(speaker)
            case {"result": result}:
                if not result.interrupts:
                    yield from self._result(speaker, result)
                self._last.pop(speaker, None)
                self._replaced.discard(speaker)

    def say(self, text: str) -> Iterator[TextDelta | AnswerText]:
        """Yield a text that no agent said by itself."""
        yield from self._speech.accept("", text)

    def end(self) -> Iterator[TextDelta | AnswerText]:
        """Yield the rest of the text."""
        yield from self._speech.end()

    def _result(
        self, speaker: str, result: AgentResult | MultiAgentResult
    ) -> Iterator[TextDelta | AnswerText]:
        """Yield the message of a result, if it is another one or has been rewritten."""
        while isinstance(result, MultiAgentResult):
            if not (nodes := list(result.results.values())) or isinstance(
                nodes[-1].result, Exception
            ):
                return
            result = nodes[-1].result
        message: Mapping[str, Any] = result.message
        if message["role"] != "assistant":
            return
        text, (last_id, last) = text_of(message["content"]), self._last.get(speaker, (None, ""))
        if text == last:
            return
        is_same = speaker in self._last and _id(message) in (None, last_id)
        if is_same or speaker in self._replaced:
            yield from self._speech.correct(speaker, text)
        else:
            yield from self._speech.accept(speaker, text)


def text_of(content: list[dict[str, Any]]) -> str:
    """Return the text of a message, with that of its citations."""
    texts = []
    for block in content:
        if "text" in block:
            texts.append(block["text"])
        elif "citationsContent" in block:
            parts = block["citationsContent"].get("content", ())
            texts += [part["text"] for part in parts if "text" in part]
    return "".join(texts)


def _id(message: Mapping[str, Any]) -> object:
    return message.get("tracking_id")
