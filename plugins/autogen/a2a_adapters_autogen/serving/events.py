"""Converts the events of a run to adapter events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.base import TaskResult, Team
from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    HandoffMessage,
    ModelClientStreamingChunkEvent,
    SelectSpeakerEvent,
    StructuredMessage,
    ThoughtEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    UserInputRequestedEvent,
)

from a2a_adapters import (
    AgentEvent,
    InputRequired,
    Output,
    Progress,
    TaskMetadata,
    TextDelta,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from a2a_adapters.plugin import (
    JSON,
    AnswerText,
    ProgressEvent,
    ReasoningFilter,
    Speech,
    tool_arguments,
)
from a2a_adapters_autogen.serving.input import USER
from a2a_adapters_autogen.serving.output import TerminateFilter, mixed_output, output_of, text_of
from a2a_adapters_autogen.serving.runners import (
    Runner,
    inner_names,
    participants,
    returns_data,
    runners_in,
    voice_names,
    wrapped_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from a2a_adapters_autogen.serving.ending import Ending
    from a2a_adapters_autogen.serving.team_run import PendingQuestion, RunEvent


def progress_events(event: BaseAgentEvent, *, in_full: bool) -> Iterator[ProgressEvent]:
    """Yield the progress events for tool calls, their results and other steps.

    Args:
        event: An event of AutoGen.
        in_full: Whether to report what agents and tools say, in addition to their names.
    """
    match event:
        case ToolCallRequestEvent(content=calls):
            for call in calls:
                arguments = tool_arguments(call.arguments) if in_full else None
                yield ToolCall(call.id, call.name, arguments)
        case ToolCallExecutionEvent(content=results):
            for result in results:
                # The content of an error is the text of an exception.
                content = result.content if in_full and not result.is_error else None
                yield ToolResult(result.call_id, result.name, content, bool(result.is_error))
        case SelectSpeakerEvent(content=speakers):
            data: JSON = {**_source("speaker", event), "speakers": speakers}
            yield Progress(f"next: {', '.join(speakers)}", data)
        case _ if not in_full:
            pass
        case ThoughtEvent(content=thought):
            yield Progress(thought, _source("thought", event))
        case UserInputRequestedEvent():
            pass  # the question follows
        case _:
            yield Progress(event.to_text(), _source(type(event).__name__, event))


def message_progress(message: BaseChatMessage, *, in_full: bool) -> Progress:
    """Return the progress event for a message that is not the answer."""
    if isinstance(message, HandoffMessage):
        data: JSON = {**_source("handoff", message), "target": message.target}
        return Progress(message.content if in_full else "", data)
    if not in_full:
        return Progress(data=_source("message", message))
    if isinstance(message, StructuredMessage):
        content = cast("JSON", message.model_dump(mode="json")["content"])
        return Progress(data={**_source("message", message), "content": content})
    return Progress(text_of(message), _source("message", message))


def _source(kind: str, event: BaseAgentEvent | BaseChatMessage) -> dict[str, str]:
    return {"kind": kind, "source": event.source}


Final: TypeAlias = Literal["last", "all"] | Collection[str]
"""The messages of a team that are its answer: the last one, all, or those of the named agents."""


class Translator:
    """Converts the events of one run.

    The last message of an agent is the answer, sent token by token. The last message of a team is
    its answer, sent token by token if it is certain to be the last (see `Ending`) and otherwise
    when the team has ended. With `final="all"`, or the names of agents, their messages are the
    answer and sent as they are made. Everything else is progress.

    Args:
        runner: The agent or team.
        final: The messages of a team that are its answer.
        strip_terminate: Whether a trailing TERMINATE is left out.
        wants_progress: Whether the client follows the progress.
        is_checked: Whether something may change or block messages. Progress then has only the names
            of agents and tools, and the answer is corrected at the end of the run.
        ending: Predicts the last message of a team, if that is the answer.
        streams: Whether text is sent before its message is complete.
        usage: The tokens used by the task so far, input and output.
    """

    def __init__(
        self,
        runner: Runner,
        *,
        final: Final,
        strip_terminate: bool,
        wants_progress: bool,
        is_checked: bool = False,
        ending: Ending | None = None,
        streams: bool = True,
        usage: tuple[int, int] = (0, 0),
    ) -> None:
        self.usage = usage
        self.handoff: HandoffMessage | None = None
        self._members = {member.name for member in participants(runner)}
        self._inner = inner_names(runner)
        self._users = {m.name for m in runners_in(runner) if isinstance(m, UserProxyAgent)}
        self._wants_progress = wants_progress
        self._is_checked = is_checked
        self._ending = ending
        self._streams = streams
        is_team = isinstance(runner, Team)
        self._says_all = is_team and final == "all"
        self._named = _voices_of(final, runner) if is_team else set()
        self._is_single = not (self._says_all or self._named)
        names = Counter(voice_names(runner))
        self._not_answering = self._inner | ({USER} - names.keys())  # tasks of tools are a user's
        self._speakers = {
            member.name
            for member in runners_in(runner)
            if not returns_data(member) and names[member.name] == 1
        } - self._inner
        voices = ending.speakers() if ending else self._named or self._speakers
        self._voices = voices & self._speakers
        self._new_filter = TerminateFilter if strip_terminate else ReasoningFilter
        self._speech = Speech[str](
            labelled=self._says_all or len(self._named) > 1,
            new_filter=self._new_filter,
        )
        self._whole: str | None = None
        self._outputs: list[Output] = []
        self._counted: set[str] = set()
        self._last: BaseChatMessage | None = None
        self._source = ""
        self._stop_reason = ""

    def take(self, event: RunEvent) -> Iterator[AgentEvent]:
        """Yield the adapter events for an event of AutoGen."""
        if isinstance(event, TaskResult):
            self._stop_reason = event.stop_reason or ""
            self._result(event)
            return
        self._count(event)
        if isinstance(event, BaseChatMessage):
            yield from self._message(event)
            if self._ending:
                self._ending.count(event)
                self._voices = self._ending.speakers() & self._speakers
        else:
            yield from self._event(event)

    def catch_up(self, said: Iterable[BaseAgentEvent | BaseChatMessage]) -> None:
        """Process the messages from before the run was suspended, without sending them again."""
        usage, ending = self.usage, self._ending
        self._ending = None  # it has counted them
        for event in said:
            if event.source != USER:
                for _ in self.take(event):
                    pass
        self.usage, self._ending = usage, ending
        self._speech.begin_anew()

    def question(self, pending: PendingQuestion) -> InputRequired:
        """Return an agent's question, with the message before it; the answer is another text."""
        self._speech.begin_anew()
        if pending.withdraw is not None:  # a remote agent's question is complete
            return InputRequired(pending.prompt, pending.parts)
        said = text_of(self._last) if self._last else ""
        output = output_of(self._last) if self._last else None
        prompt = "\n\n".join(filter(None, (pending.complaint, said, pending.prompt.strip())))
        return InputRequired(prompt, output.parts if output else ())

    def handoff_to_user(self) -> HandoffMessage | None:
        """Return the handoff that ended the run, if its target is outside the team."""
        if self.handoff is None or self.handoff.target in self._members:
            return None
        return self.handoff

    def end(self) -> Iterator[AgentEvent]:
        """Yield the rest of the answer and the run's metadata."""
        last = self._last or (None if self._source else self.handoff)
        if last is not None:
            is_answer = not (self._named and self._source)
            yield from self._answer(last) if is_answer else self._progress(last)
        if self._whole is not None and self._is_single:
            yield AnswerText(self._whole)
        elif self._is_checked:
            yield from self.accepted()
        yield from self._sent_outputs()
        yield from self.metadata()

    def accepted(self) -> Iterator[AgentEvent]:
        """Yield the messages that answer, of a run that has ended or asks."""
        if self._is_checked:  # only complete ones are checked
            yield AnswerText("" if self._is_single else self._speech.completed)
        elif not self._is_single:  # the server may hold text of a target that it did not know
            yield AnswerText(self._speech.completed + self._speech.begun)

    def metadata(self) -> Iterator[AgentEvent]:
        """Yield the token usage, the stop reason and the last speaker."""
        given, made = self.usage
        usage = TokenUsage(given, made, given + made)
        values: dict[str, JSON] = {
            **(usage.as_metadata() if usage.total_tokens else {}),
            **({"stop_reason": self._stop_reason} if self._stop_reason else {}),
            **({"source": self._source} if self._source else {}),
        }
        if values:
            yield TaskMetadata(values)

    def _event(self, event: BaseAgentEvent) -> Iterator[AgentEvent]:
        if isinstance(event, ModelClientStreamingChunkEvent):
            if self._streams and event.source in self._voices:
                yield from _delta(self._speech.add(event.source, event.content))
            return
        if isinstance(event, ToolCallRequestEvent):
            yield from self._before_call(event.source)
        if self._wants_progress:
            yield from progress_events(event, in_full=not self._is_checked)

    def _before_call(self, source: str) -> Iterator[AgentEvent]:
        """End the text before a tool call; it is not part of a single message."""
        is_withdrawn = self._is_single and self._speech.is_speaking(source)
        said = self._speech.end(source)
        if is_withdrawn:
            self._speech.begin_anew()
            yield AnswerText("")
        else:
            yield from _delta(said)

    def _message(self, message: BaseChatMessage) -> Iterator[AgentEvent]:
        self.handoff = None
        if message.source in self._users:  # the caller's own message
            return
        if isinstance(message, HandoffMessage):
            if message.target in self._members:
                yield from self._progress(message)
            self.handoff = message
            return
        if self._last is not None:
            yield from self._progress(self._last)
        self._last = None
        is_answer = self._says_all and message.source not in self._not_answering
        is_answer = is_answer or message.source in self._named
        if is_answer or self._speech.is_speaking(message.source):
            yield from self._answer(message)
        else:
            self._last = message

    def _result(self, result: TaskResult) -> None:
        """Answer with the last message of the result, which a custom `run_stream` may change."""
        last = result.messages[-1] if result.messages else None
        if not isinstance(last, BaseChatMessage) or isinstance(last, HandoffMessage):
            return
        is_said = self._last is None and self._filtered(text_of(last)) == self._whole
        if not is_said and last.source not in self._users:
            self._last, self.handoff = last, None

    def _answer(self, message: BaseChatMessage) -> Iterator[AgentEvent]:
        mixed = mixed_output(message) if self._is_single else None
        text = "" if mixed else text_of(message)
        self._source, self._whole = message.source, self._filtered(text)
        if self._is_single:  # `end` corrects it
            yield from _delta(self._speech.end(message.source, text))
            self._outputs = []
        elif (said := self._speech.settle(message.source, text)) is not None:
            yield from _delta(said if self._streams else "")
        elif not self._is_checked:  # a later check may still block it
            yield AnswerText(self._speech.completed + self._speech.begun)
        if output := mixed or output_of(message):
            self._outputs.append(output)
        if not (self._is_single or self._is_checked):
            yield from self._sent_outputs()

    def _sent_outputs(self) -> Iterator[Output]:
        outputs, self._outputs = self._outputs, []
        yield from outputs

    def _filtered(self, text: str) -> str:
        ended = self._new_filter()
        return ended.add(text) + ended.rest()

    def _progress(self, message: BaseChatMessage) -> Iterator[AgentEvent]:
        if self._wants_progress:
            yield message_progress(message, in_full=not self._is_checked)

    def _count(self, event: BaseAgentEvent | BaseChatMessage) -> None:
        if event.models_usage and event.id not in self._counted:
            self._counted.add(event.id)
            given, made = self.usage
            self.usage = (
                given + event.models_usage.prompt_tokens,
                made + event.models_usage.completion_tokens,
            )


def _voices_of(final: Final, runner: Runner) -> set[str]:
    """Return the names under which agents that are named as the answer speak."""
    named = () if isinstance(final, str) else set(final)
    members = [member for member in runners_in(runner) if member.name in named]
    return {each.name for member in members for each in (wrapped_in(member) or [member])}


def _delta(text: str) -> Iterator[TextDelta]:
    if text:
        yield TextDelta(text)
