"""Converts the events of a run to adapter events."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel
from workflows.events import Event, InputRequiredEvent, StepState, StepStateChanged, StopEvent

from a2a_adapters import (
    AgentEvent,
    Data,
    File,
    Output,
    Part,
    Progress,
    TaskMetadata,
    Text,
    TextDelta,
    TokenUsage,
)
from a2a_adapters.plugin import AnswerText, ToolCalls, as_json, as_output
from a2a_adapters_llama_index.serving.questions import fields_of, text_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping

_FRAMEWORK = ("llama_index.", "workflows.")


class RunEvents:
    """Converts the events of one run.

    The answer is the result of the workflow. Text that steps write as events with a `delta` is
    streamed if no other step can follow, which might replace it; that of agents always is, except
    within a tool, and is withdrawn if a tool call or a question follows. Events are told apart by
    their fields, because importing the agents of LlamaIndex takes seconds.

    Attributes:
        tools: The names of the tools that were called, by the id of the call.

    Args:
        wants_progress: Whether the client follows the progress.
        streaming: The names of the steps whose text is streamed.
        reports_steps: Whether steps are reported.
        is_checked: Whether the workflow may change what its model says, calls and gets. Thoughts,
            and arguments and results of tools, are then not reported.
        tools: Those that an earlier run reported.
    """

    def __init__(
        self,
        *,
        wants_progress: bool,
        streaming: Collection[str],
        reports_steps: bool,
        is_checked: bool,
        tools: Mapping[str, str],
    ) -> None:
        self._wants_progress = wants_progress
        self._streaming = streaming
        self._reports_steps = wants_progress and reports_steps
        self._is_checked = is_checked
        self._calls = ToolCalls(tools)
        self.tools = dict(tools)
        self._working: set[tuple[str, str]] = set()
        self._text = ""
        self._usage = TokenUsage()

    def take(self, event: Event) -> Iterator[AgentEvent]:
        """Yield the adapter events for an event of the run."""
        match event:
            case StepStateChanged():
                yield from self._step(event)
            case InputRequiredEvent() | StopEvent():
                pass
            case Event(delta=str(text)):
                if self._is_speaking:
                    yield from self._delta(text)
                    yield from self._thought(getattr(event, "thinking_delta", None))
            case Event(tool_id=str(key), tool_name=str(name), tool_output=output):
                shown = None if self._is_checked else output.content
                yield from self._reported(
                    self._calls.finished(key, shown, name=name, is_error=output.is_error)
                )
            case Event(tool_id=str(key), tool_name=str(name), tool_kwargs=given):
                self.tools[key] = name
                shown = None if self._is_checked else given
                yield from self._reported(self._calls.started(key, name, shown))
            case Event(response=_, tool_calls=list(calls), raw=raw):
                self._usage += _usage(raw)
                if calls and self._text:
                    self._text = ""
                    yield AnswerText("")
            case _ if self._wants_progress and _is_own(event):
                yield Progress(text_of(fields_of(event)), fields_of(event))

    def pause(self) -> Iterator[AgentEvent]:
        """Withdraw the text of a run that waits, as its result may differ; yield the usage."""
        yield AnswerText("")
        yield from self._metadata()

    async def end(self, stop: StopEvent) -> AsyncGenerator[AgentEvent]:
        """Yield the result, in place of the text before it."""
        self._text = ""
        result = stop.result
        if inspect.isgenerator(result):  # of a model that blocks
            result = _joined(await asyncio.to_thread(list, result))
        outputs = []
        if (chunks := _chunks(result)) is None:
            outputs = list(self._outputs(result))
        else:
            async for chunk in chunks:
                for event in self._delta(chunk if isinstance(chunk, str) else chunk.delta):
                    yield event
        if type(stop) is not StopEvent and ((fields := fields_of(stop)) or result is None):
            outputs.append(Output([Data(fields, schema=_schema(stop))]))
        yield AnswerText(self._text)
        for event in (*outputs, *self._metadata()):
            yield event

    def _outputs(self, result: Any) -> Iterator[AgentEvent]:
        match result:
            case str():
                self._text = result
            case Event(response=message, structured_response=value):
                yield from self._message(message)
                if value is not None:
                    yield Output([Data(as_json(value))])
            case (  # of a model
                object(message=object(content=_, blocks=list()) as message, raw=_)
                | (object(role=_, content=_, blocks=list()) as message)
            ):
                yield from self._message(message)
            case object(text=str(), raw=_, logprobs=_):  # of a model that completes
                self._text = result.text
            case object(response=BaseModel() as value, source_nodes=list()):  # of a query engine
                yield from self._outputs(value)
            case object(response=str() | None, source_nodes=list()):  # of a query or chat engine
                self._text = str(result)
            case _ if output := as_output(result):
                yield output

    def _message(self, message: Any) -> Iterator[AgentEvent]:
        """Answer with the text and the files of a message, in order."""
        parts = list(_parts(message))
        is_file = [isinstance(part, File) for part in parts]
        if is_file == sorted(is_file):
            self._text = message.content or ""
            yield from (Output([part]) for part in parts if isinstance(part, File))
        else:
            self._text = ""
            yield Output(parts)

    def _metadata(self) -> Iterator[AgentEvent]:
        if self._usage.total_tokens:
            yield TaskMetadata(self._usage.as_metadata())

    def _step(self, event: StepStateChanged) -> Iterator[AgentEvent]:
        worker = event.name, event.worker_id
        if event.step_state is not StepState.RUNNING:
            self._working.discard(worker)
            return
        self._working.add(worker)
        if self._reports_steps:
            yield Progress(event.name, {"kind": "step"})

    @property
    def _is_speaking(self) -> bool:
        """Whether what is written now comes from steps whose text is streamed."""
        return all(name in self._streaming for name, _ in self._working)

    def _delta(self, text: str | None) -> Iterator[AgentEvent]:
        if text:
            self._text += text
            yield TextDelta(text)

    def _thought(self, text: str | None) -> Iterator[AgentEvent]:
        if text and self._wants_progress and not self._is_checked:
            yield Progress(text, {"kind": "thought"})

    def _reported(self, events: list[Any]) -> Iterator[AgentEvent]:
        if self._wants_progress:
            yield from events


def _is_own(event: Event) -> bool:
    """Whether an event is one of the workflow, rather than of its framework."""
    return type(event) is Event or not type(event).__module__.startswith(_FRAMEWORK)


def _usage(raw: Any) -> TokenUsage:
    """Return the tokens in a response of a model's provider."""
    match raw:
        case {"usage": {"prompt_tokens": int(given), "completion_tokens": int(made)}}:
            return TokenUsage(given, made, given + made)
        case {"usage": {"input_tokens": int(given), "output_tokens": int(made)}}:
            return TokenUsage(given, made, given + made)
    return TokenUsage()


def _chunks(result: Any) -> AsyncIterator[Any] | None:
    """Return the stream of a model, a query engine or a chat engine; None for other results."""
    if inspect.isasyncgen(result):
        return result
    if getattr(result, "chat_stream", None) is not None:  # of `stream_chat`
        return _in_thread(result.response_gen)
    if hasattr(result, "is_dummy_stream"):  # a whole answer
        return None
    if hasattr(result, "async_response_gen"):
        return cast("AsyncIterator[Any]", result.async_response_gen())
    if isinstance(getattr(result, "response_gen", None), Iterator):
        return _in_thread(result.response_gen)
    return None


def _joined(chunks: list[Any]) -> Any:
    """Return the text of the chunks of a model; other values as they are."""
    texts = [getattr(each, "delta", each) for each in chunks]
    if all(isinstance(each, str | None) for each in texts):
        return "".join(each or "" for each in texts)
    return chunks


async def _in_thread(chunks: Iterator[Any]) -> AsyncIterator[Any]:
    for chunk in await asyncio.to_thread(list, chunks):
        yield chunk


def _parts(message: Any) -> Iterator[Part]:
    for block in message.blocks:
        if block.block_type == "text" and block.text:
            yield Text(block.text)
        elif file := _file(block):
            yield file


def _file(block: Any) -> File | None:
    """Return the file of a block; None if it has none, or one of the server's disk."""
    match block.block_type:
        case "image":
            content, read, media_type = block.image, block.resolve_image, block.image_mimetype
        case "audio":
            content, read = block.audio, block.resolve_audio
            media_type = block.format and f"audio/{block.format}"
        case "video":
            content, read, media_type = block.video, block.resolve_video, block.video_mimetype
        case "document":
            content, read, media_type = block.data, block.resolve_document, block.document_mimetype
        case _:
            return None
    url = str(block.url or "")
    if content or url.startswith("data:"):
        return File(content=read().read(), media_type=media_type or "")
    is_remote = url.startswith(("http:", "https:"))
    return File(url=url, media_type=media_type or "") if is_remote else None


def _schema(stop: StopEvent) -> Any:
    return type(stop).model_json_schema() if type(stop).model_fields else None
