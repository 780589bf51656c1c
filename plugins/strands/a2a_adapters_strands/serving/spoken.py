"""Follows the text of agents in a run: streamed, accepted and withdrawn text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a_adapters.plugin import CheckedSpeech
from a2a_adapters_strands.serving.guards import guards_of
from a2a_adapters_strands.serving.results import message_of, text_of, text_of_result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from strands.agent import AgentResult
    from strands.multiagent.base import MultiAgentResult

    from a2a_adapters import TextDelta
    from a2a_adapters.plugin import AnswerText


class Spoken:
    """Converts the text of agents in a run to events.

    A response whose model is called again, and the messages of an agent that is run again, or that
    delegates to another, are withdrawn. The last message of an agent is that of its result.

    Attributes:
        guards: What may change the text, as of the last call of a model.

    Args:
        target: The agent, graph or swarm that runs.
        is_held: Whether the server holds text back until it is accepted.
    """

    def __init__(self, target: object, *, is_held: bool) -> None:
        self._target = target
        self.guards = guards = guards_of(target)
        self._speech = CheckedSpeech[str](
            holds=guards.messages, until_end=guards.runs, streams=is_held or not guards
        )
        self._last: dict[str, tuple[object, str]] = {}
        """The id and the text of the last message of each agent."""
        self._accepted: dict[str, str] = {}
        """The text of the last result of each agent."""
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
                if self.guards and _id(message) is None:
                    text = ""  # hooks have seen another message: the run fails with that
                self._last[speaker] = _id(message), text
                yield from self._speech.accept(speaker, text)
            case {"event": {"messageStart": _}}:
                self._find_guards()
                yield from self._speech.accept(speaker, "")
            case {"init_event_loop": True} if self._last.pop(speaker, None):
                self._replaced.add(speaker)
                yield from self._speech.withdraw(speaker)
            case {"result": result}:
                yield from self._result(speaker, result)
                self._accepted[speaker] = text_of_result(result)
                self._last.pop(speaker, None)
                self._replaced.discard(speaker)

    def forget(self, speaker: str) -> Iterator[TextDelta | AnswerText]:
        """Withdraw the text of an agent before its result."""
        self._last.pop(speaker, None)
        yield from self._speech.withdraw(speaker)

    def say(self, text: str) -> Iterator[TextDelta | AnswerText]:
        """Yield a text that did not come from an agent."""
        yield from self._speech.accept("", text)

    def settle(self, speaker: str, result: object) -> Iterator[TextDelta | AnswerText]:
        """Yield the text of an agent's result at the end, if hooks have rewritten it since."""
        text = text_of_result(result)
        if self._accepted.get(speaker, text) != text:
            yield from self._speech.correct(speaker, text)

    def end(self) -> Iterator[TextDelta | AnswerText]:
        """Yield the rest of the text."""
        yield from self._speech.end()

    def _find_guards(self) -> None:
        """Find guards that hooks have registered during the run."""
        found = self.guards | guards_of(self._target)
        if found != self.guards:
            self.guards = found
            if found:
                self._speech.hold(until_end=found.runs)

    def _result(
        self, speaker: str, result: AgentResult | MultiAgentResult
    ) -> Iterator[TextDelta | AnswerText]:
        """Yield the message of a result, if it is another one or has been rewritten."""
        if (message := message_of(result)) is None:
            return
        text, (last_id, last) = text_of(message["content"]), self._last.get(speaker, (None, ""))
        is_same = speaker in self._last and _id(message) in (None, last_id)
        if self.guards.runs:  # only the message of the result was checked
            yield from self._speech.withdraw(speaker)
        if not (is_same or text == last) and result.interrupts:
            return  # the message before an interrupt may be of an earlier turn
        if self.guards.runs:
            yield from self._speech.accept(speaker, text)
        elif text == last:
            return
        elif is_same or speaker in self._replaced:
            yield from self._speech.correct(speaker, text)
        else:
            yield from self._speech.accept(speaker, text)


def _id(message: Mapping[str, Any]) -> object:
    return message.get("tracking_id")
