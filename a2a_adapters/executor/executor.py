"""Runs an adapter as an a2a-sdk `AgentExecutor`, on our runtime or on any a2a-sdk server."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.cluster.task_store import ConcurrentTaskModificationError
from a2a.utils.errors import InvalidParamsError

from a2a_adapters.concurrency import in_background
from a2a_adapters.concurrency.background import let_fail, runs_now
from a2a_adapters.concurrency.threads import (
    CURRENT_CALLS,
    LARGE_BYTES,
    AgentThreads,
    TaskCalls,
    computed,
)
from a2a_adapters.contract.adapter import Adapter, AgentRequest, CancelFlag
from a2a_adapters.contract.errors import BlockedError, InvalidInputError, block_in, failure_of
from a2a_adapters.contract.events import (
    PROGRESS_EXTENSION,
    AgentEvent,
    AnswerText,
    InputRequired,
    Output,
    Progress,
    ProgressEvent,
    Rejected,
    Reply,
    TaskMetadata,
    TextDelta,
    ToolCall,
    ToolResult,
)
from a2a_adapters.contract.limits import Limits
from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.executor.earlier import NO_LONGER_WAITING, CutOff, Earlier, cut_off, is_too_late
from a2a_adapters.executor.execution import AdapterEvents, Execution, ParkedRuns
from a2a_adapters.executor.files import FileFetcher, FileService
from a2a_adapters.executor.history import History, StoredHistory, corrected
from a2a_adapters.executor.turns import RunClock, RunClocks, TimeLimitError, Turn, Turns
from a2a_adapters.executor.writer import TaskWriter, TextQueue, closes_by_whole, question_parts
from a2a_adapters.observability.failures import log_failure
from a2a_adapters.protocol import states
from a2a_adapters.protocol.conversion import agent_request, is_durable_question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from a2a.server.events import EventQueue

    from a2a_adapters.contract.adapter import StateStorage
    from a2a_adapters.contract.events import HoldText
    from a2a_adapters.contract.parts import Part

__all__ = ["AdapterExecutor", "Redact"]

Redact: TypeAlias = "Callable[[ProgressEvent], ProgressEvent | None]"
"""Changes a progress event before it is sent; None drops it."""

_TEXT = (TextDelta, AnswerText)
_ANSWER = (*_TEXT, Output, Reply)

_STOP_SECONDS = 1.0
"""Time that a stopped agent has to end before its task ends without it."""

_CLOSE_SECONDS = 5.0
"""Time that an agent has to clean up after its task has ended."""

logger = logging.getLogger(__name__)


class AdapterExecutor(AgentExecutor):
    """Feeds requests to an adapter and its events to the task.

    Failures end the task with a fixed text and an error id; the details are in the log only.

    Args:
        adapter: Answers the requests.
        limits: Time limits and the bounds of the conversation memory.
        redact: Changes or drops progress events before they are sent.
        extensions: URIs of extensions in addition to those of the adapter.
        store: Stores large files.
        hold_text: Which text to hold back, as in `ServerOptions`.
    """

    def __init__(
        self,
        adapter: Adapter,
        limits: Limits | None = None,
        redact: Redact | None = None,
        extensions: Sequence[str] = (),
        store: FileService | None = None,
        *,
        hold_text: HoldText = "guarded",
    ) -> None:
        self.adapter = adapter
        self._holds_guarded = hold_text != "never"
        self._holds_all = hold_text == "always"
        self.name = ""  # unless the card has another one than the adapter
        self._extensions = extensions
        self._limits = limits or Limits()
        self._redact = redact
        self._turns = Turns(self._limits)
        self._history = History(self._limits)
        self._running: dict[str, Execution] = {}
        self._clocks = RunClocks(self._limits)
        self._parked = ParkedRuns(self._limits.input_seconds)
        self._files = FileFetcher(adapter.fetch, self._limits, store)

    async def open(self, storage: StateStorage) -> None:
        """Keep conversations in a storage from now on, if that is durable."""
        if storage.is_durable:
            self._history = StoredHistory(storage, self._limits)
        await self.adapter.open(storage)

    @cached_property
    def _offered(self) -> frozenset[str]:
        """The extensions of the agent."""
        extensions = self.adapter.describe().extensions
        return frozenset({PROGRESS_EXTENSION, *self._extensions, *(e.uri for e in extensions)})

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer one message.

        Raises:
            InvalidParamsError: The target cannot use the message; no task was created.
            ConcurrentTaskModificationError: Another process has the task.
        """
        run = await self._begin(context, event_queue)
        self._running[run.request.task_id] = run
        CURRENT_CALLS.set(run.calls)
        if self._files.store is not None:
            self._files.store.begin(run.request.owner, context.call_context.state.get("scope"))
        try:
            if run.writer.observed.is_active:
                with run.writer.observed:
                    await self._answer(run)
            else:
                await self._answer(run)
        except InvalidInputError as error:
            if not run.writer.has_written:
                raise InvalidParamsError(str(error)) from error
            await run.writer.finish(states.REJECTED, str(error))
        except ConcurrentTaskModificationError:
            run.leave()
            raise
        except BaseException as error:  # nothing may escape, nor sys.exit() end the server
            is_closed = not runs_now(run.task)  # the loop has closed this coroutine
            if is_closed or isinstance(error, asyncio.CancelledError):
                run.request.cancelled.set()
                raise
            if (block := block_in(error)) is not None:
                await self._reject(run, block)
            else:
                await self._fail(run, error)
        finally:
            await self._end(run)

    def leave(self, task_id: str) -> None:
        """Keep a run that is about to be stopped from changing its conversation."""
        if (run := self._running.get(task_id)) is not None:
            run.request.cancelled.left_behind = True

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop the work on a task and mark the task as cancelled."""
        task_id, context_id = context.task_id or "", context.context_id or ""
        writer = TaskWriter(event_queue, task_id, context_id)
        if (run := self._running.get(task_id)) is not None:
            self._stop(run)
            writer.observed = run.writer.observed
        abandoned = None
        if is_durable_question(context.current_task):  # before it ends
            abandoned = agent_request(context, context_id, CancelFlag(), self._offered)
        await writer.finish(states.CANCELED)
        # The user's code runs in the background: it cannot keep the task from ending.
        self._parked.drop(task_id)
        if abandoned:
            self._parked.in_background(self._abandon(abandoned))

    async def _abandon(self, request: AgentRequest) -> None:
        request.cancelled.set()
        async with Turn(self._turns, (request.owner, request.context_id)):
            await self.adapter.abandon(request)

    async def aclose(self) -> None:
        """Release parked runs and the adapter, each within `Limits.shutdown_seconds`."""
        seconds = self._limits.shutdown_seconds
        await self._parked.aclose(seconds)
        closing = asyncio.ensure_future(self.adapter.aclose())
        await asyncio.wait({closing}, timeout=seconds)
        if not closing.done():
            closing.cancel()
            logger.error("the agent did not close within %g s; abandoned", seconds)
        elif not closing.cancelled() and (error := closing.exception()) is not None:
            log_failure("the agent did not close as it should", error)

    async def _end(self, run: Execution) -> None:
        """Release the resources of a run that has ended."""
        if isinstance(run.calls.reserved, AgentThreads):
            run.calls.reserved.give_back(run.calls)
        if run.events is not None and not run.parked and runs_now(run.task):
            await self._close(run, run.events)
        if not run.parked:
            run.calls.request = run.calls.observed = None  # breaks reference cycles
        if self._running.get(run.request.task_id) is run:
            del self._running[run.request.task_id]
        if run.request.cancelled.is_set:
            run.calls.end()
        if run.outlives:
            run.calls.count(-1)

    async def _close(self, run: Execution, events: AdapterEvents) -> None:
        """Let the adapter clean up, for a limited time."""
        loop = asyncio.get_running_loop()
        watch = loop.call_later(_CLOSE_SECONDS + _STOP_SECONDS, self._look_after, run, "")
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await events.aclose()
        except TimeoutError:
            logger.warning("task %s: its agent did not clean up in time", run.request.task_id)
        finally:
            watch.cancel()

    async def _begin(self, context: RequestContext, queue: EventQueue) -> Execution:
        task, task_id = context.current_task, context.task_id or ""
        # a2a-sdk 1.3 makes up a context id for a follow-up that names only its task.
        context_id = task.context_id if task else context.context_id or ""
        is_unowned = self.adapter.resumes and is_durable_question(task)
        if task and is_unowned:
            self._parked.drop_outdated(task)
        parked = self._parked.take(task_id) if task else None
        cancelled = parked.cancelled if parked else CancelFlag()
        said = context, context_id, cancelled, self._offered
        is_large = (message := context.message) is not None and message.ByteSize() > LARGE_BYTES
        request = await computed(agent_request, *said) if is_large else agent_request(*said)
        calls = parked.calls if parked else TaskCalls(task_id, self)
        ours = queue if isinstance(queue, TextQueue) else None
        by_whole = closes_by_whole(context, is_ours=ours is not None)
        names, active = (task_id, context_id), request.extensions
        writer = TaskWriter(
            queue,
            *names,
            ours,
            by_whole=by_whole,
            active=active,
            remembers=self.adapter.uses_history,
        )
        calls.request = request
        calls.observed = installed_plugins().telemetry.run(self.adapter, calls, task, self.name)
        writer.observed = calls.observed
        run = Execution(request, writer, calls, ours, asyncio.current_task())
        run.holds = self._holds_all or (self._holds_guarded and self.adapter.holds_text)
        if task is not None:
            earlier = Earlier(context, request, self._files, self._history)
            run.request, run.number = replace(request, earlier=earlier), earlier.count
            writer.follow(task.artifacts)
            run.cut_off = cut_off(context, task)
        if parked:
            run.events, run.answers_parked, run.tool_calls = parked.events, True, parked.tool_calls
        elif task:
            run.is_too_late = is_too_late(context)
            run.is_unowned = is_unowned
        run.is_awaited_at_once = getattr(context.configuration, "return_immediately", False)
        return run

    async def _answer(self, run: Execution) -> None:
        request = run.request
        key = (request.owner, request.context_id)
        run.turn = turn = Turn(self._turns, key, run.calls if self.adapter.blocks else None)
        if turn.has_to_wait and not run.writer.announced:
            await run.writer.announce(request.message, states.SUBMITTED)
        async with turn:
            if run.queue is not None and run.is_unowned and turn.is_full:
                await run.writer.submitted()  # other processes must not let messages overtake it
            await turn.take_slot()
            if run.is_too_late:
                await run.writer.finish(states.FAILED, NO_LONGER_WAITING)
                return
            if self.adapter.uses_history:
                said = await self._history.recall(key)
                run.request = replace(run.request, history=tuple(said))
            if self._files.are_wanted:
                run.request = await self._files.fetched(run.request)
            run.calls.request = run.request
            if run.cut_off is not None:
                run.events = await self._resumed(run, run.cut_off)
            elif run.events is None:
                run.events = self.adapter.stream(run.request)
            if run.writer.announced:
                await run.writer.working()
            elif run.is_awaited_at_once or not self.adapter.may_reply:
                await run.writer.announce(request.message, states.WORKING)
            async with RunClock(self._clocks, partial(self._stop, run)) as clock:
                await self._pump(run, run.events, clock)

    async def _resumed(self, run: Execution, cut: CutOff) -> AdapterEvents:
        run.request = replace(run.request, said=cut.said)
        events = self.adapter.resume(run.request)
        assert run.queue is not None  # noqa: S101 - only our runtime resumes
        await run.queue.truncate(len(cut.artifacts))
        if await self.adapter.had_effect(run.request):
            await run.queue.count_attempt()
        run.writer.follow(cut.artifacts)
        return events

    async def _pump(self, run: Execution, events: AdapterEvents, clock: RunClock) -> None:
        """Write every event until the adapter asks, or ends and so completes the task."""
        writer, cancelled = run.writer, run.request.cancelled
        now = asyncio.get_running_loop().time
        if run.answers_parked:
            with suppress(StopAsyncIteration):
                if await self._write(run, await events.asend(run.request)):
                    return
        async for event in events:
            clock.last = now()
            if cancelled.is_set:
                return
            if type(event) is TextDelta and writer.announced and not run.holds:
                await writer.text(event.text)
            elif await self._write(run, event):
                return
        run.events = None  # it has ended: there is nothing to close
        if not cancelled.is_set:
            await self._complete(run)

    async def _complete(self, run: Execution) -> None:
        writer = run.writer
        if not writer.announced:
            await writer.announce(run.request.message, states.WORKING)
        if run.held:
            await self._release(run)
        if self.adapter.uses_history:
            await self._remember(run)
        await writer.finish(states.COMPLETED)

    async def _remember(
        self, run: Execution, said: Sequence[Part] = (), *, asks: bool = False
    ) -> None:
        """Add the turn to the history, before the caller learns that it has ended."""
        if not self.adapter.uses_history or run.request.cancelled:
            return
        if run.writer.announced:
            await run.writer.close_text()
        answer, number = (*run.writer.said, *said), run.number if asks else None
        request = run.request
        if run.writer.replaced:
            request = replace(request, history=corrected(request.history, run.writer.replaced))
        await self._history.remember(request, answer, run.queue, number=number)

    async def _write(self, run: Execution, event: AgentEvent) -> bool:
        """Write one event; return whether the run ends with it."""
        if isinstance(event, Reply) and not run.writer.announced:
            await self._remember(run, event.parts)
            await run.writer.reply(event)
            return True
        if not run.writer.announced:
            await run.writer.announce(run.request.message, states.WORKING)
        if isinstance(event, InputRequired):
            if self.adapter.holds_text:  # what it has not accepted waits no longer
                last = _last_accepted(run.held)
                run.held = [
                    each
                    for number, each in enumerate(run.held)
                    if number <= last or not isinstance(each, _TEXT)
                ]
            await self._release(run)
            await self._remember(run, question_parts(event), asks=event.durable)
            if event.waits or not event.durable:
                self._parked.park(run)
            await run.writer.ask(event)
            return True
        if isinstance(event, Rejected):
            await self._remember(run)
            await run.writer.finish(states.REJECTED, event.reason)
            return True
        if run.holds and isinstance(event, _ANSWER):
            await self._hold(run, event)
        else:
            await self._write_content(run, event)
        return False

    async def _hold(self, run: Execution, event: AgentEvent) -> None:
        """Hold back a part of the answer: until its text is accepted, or until the run ends."""
        run.held.append(event)
        if isinstance(event, AnswerText) and not self._holds_all:
            await self._release(run)

    async def _release(self, run: Execution) -> None:
        """Write the part of the answer that was held back."""
        held, run.held = run.held, []
        for event in _accepted(held, run.writer.sent):
            await self._write_content(run, event)

    async def _write_content(self, run: Execution, event: AgentEvent) -> None:
        match event:
            case TextDelta(text=text):
                await run.writer.text(text)
            case AnswerText(text=text, of_task=of_task):
                await run.writer.accept(text, of_task=of_task)
            case Output():
                sent = event if self._files.store is None else await self._files.store.sent(event)
                await run.writer.output(sent)
            case Reply(parts=parts, metadata=metadata, extensions=extensions):
                shown = run.writer.observed.note(metadata)
                output = Output(parts, metadata=shown, extensions=extensions)
                await self._write_content(run, output)
            case TaskMetadata(values=values):
                run.writer.add_metadata(dict(values))
            case Progress() | ToolCall() | ToolResult():
                await self._progress(run, event)
            case _:
                raise TypeError(f"an adapter yielded {type(event).__name__}, not an AgentEvent")

    async def _progress(self, run: Execution, event: ProgressEvent) -> None:
        if not run.request.wants_progress:
            return
        run.note(event)
        shown = self._redact(event) if self._redact else event
        if shown is not None:
            await run.writer.progress(shown)

    async def _reject(self, run: Execution, error: BlockedError) -> None:
        """End the task of a blocked run, without its text."""
        run.request.cancelled.set()  # its threads should stop, too
        late = " (its text was sent before: hold_text='always' would have held it)"
        known = late if run.writer.sent else ""
        logger.warning("task %s was rejected: %s%s", run.request.task_id, error, known)
        if not run.writer.announced:
            await run.writer.announce(run.request.message, states.WORKING)
        await run.fail_calls(self._progress)
        await run.writer.accept("")
        await run.writer.finish(states.REJECTED, str(error))

    def _stop(self, run: Execution, reason: str = "") -> None:
        """Ask a run to end; with a reason, its task fails if it does not."""
        run.request.cancelled.set()
        asyncio.get_running_loop().call_later(_STOP_SECONDS, self._look_after, run, reason)

    def _look_after(self, run: Execution, reason: str) -> None:
        if run.outlives or self._running.get(run.request.task_id) is not run:
            return
        run.outlives = True
        run.leave()
        if run.turn:
            run.turn.leave()
        run.calls.end()
        run.calls.count(1)
        what = "task %s was stopped, but its agent still runs; its events are dropped"
        logger.warning(what, run.request.task_id)
        if reason:
            failing = self._fail(run, TimeLimitError(reason))
            in_background(failing).add_done_callback(let_fail)

    async def _fail(self, run: Execution, error: BaseException) -> None:
        if run.has_failed:
            return
        run.has_failed = True
        if run.parked:
            self._parked.drop(run.request.task_id)
        run.request.cancelled.set()  # its threads should stop, too
        failure = failure_of(error)
        cause = failure.__cause__ if error is failure else None
        error_id = log_failure(f"task {run.request.task_id} failed", cause or error)
        if not run.writer.announced:
            await run.writer.announce(run.request.message, states.WORKING)
        await run.fail_calls(self._progress)
        run.writer.add_metadata({"error": {"category": failure.category, "id": error_id}})
        await run.writer.finish(states.FAILED, f"{failure} Error id: {error_id}")


def _accepted(held: Sequence[AgentEvent], sent: str) -> Iterator[AgentEvent]:
    """Yield the events of an answer, without texts that its last `AnswerText` does not have.

    Args:
        held: The events.
        sent: The text before them.
    """
    held = [*_without_replaced(held)]
    last = _last_accepted(held)
    for event in _joined(held[: last + 1]):
        whole = held[last]
        if not isinstance(event, _TEXT) or not isinstance(whole, AnswerText):
            yield event
            continue
        text = event.text if isinstance(event, AnswerText) else sent + event.text
        if text.startswith(sent) and whole.text.startswith(text):
            yield event
            sent = text
        else:
            yield whole
            sent = whole.text
    yield from _joined(held[last + 1 :])


def _last_accepted(held: Sequence[AgentEvent]) -> int:
    """Return the index of the last `AnswerText`; -1 if there is none."""
    return max((n for n, each in enumerate(held) if isinstance(each, AnswerText)), default=-1)


def _without_replaced(events: Sequence[AgentEvent]) -> Iterator[AgentEvent]:
    """Yield events without the texts that an `AnswerText` replaces before anything else follows."""
    for is_text, group in groupby(events, lambda event: isinstance(event, _TEXT)):
        found = [*group]
        whole = (n for n, each in enumerate(found) if is_text and isinstance(each, AnswerText))
        yield from found[max(whole, default=0) :]


def _joined(events: Sequence[AgentEvent]) -> Iterator[AgentEvent]:
    """Yield events, with the chunks of a text in one."""
    for kind, group in groupby(events, type):
        if kind is TextDelta:
            yield TextDelta("".join(each.text for each in group if isinstance(each, TextDelta)))
        else:
            yield from group
