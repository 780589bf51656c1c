"""One run of an agent or team, in its own asyncio task.

A team works in tasks that a cancelled `run_stream` waits for instead of ending them, so the run
must be stopped from outside. And an agent that asks the caller blocks its run, while the
adapter's generator has to be left and entered again.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.base import TaskResult, Team
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, HandoffMessage, TextMessage
from autogen_agentchat.teams import GraphFlow, RoundRobinGroupChat, Swarm
from autogen_core import CancellationToken

from a2a_adapters import (
    AgentRequest,
    BlockedError,
    InvalidInputError,
    Part,
    RemoteAgentError,
    RemoteTaskError,
)
from a2a_adapters.plugin import model_failure
from a2a_adapters_autogen.serving.guards import runs_whole
from a2a_adapters_autogen.serving.input import answer_text
from a2a_adapters_autogen.serving.runners import (
    TURN_TAKING,
    Runner,
    Withdraw,
    current_ask,
    current_relay,
    graph_of,
    is_sequential,
    manager_state,
    participants,
    running_tasks,
    settled,
    state_of,
)

if TYPE_CHECKING:
    from a2a_adapters_autogen.serving.memory import Question, State
    from a2a_adapters_autogen.serving.source import Source


RunEvent: TypeAlias = BaseAgentEvent | BaseChatMessage | TaskResult
Task: TypeAlias = Sequence[BaseChatMessage]

_QUIET = "output_task_messages"
_AROUND = re.compile("(RuntimeError: |Failed to get user input: )*")
_REJECTED = "the agent rejected the task"
_STOP_SECONDS = 2.0
_STOP_STEP = 0.05

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class PendingQuestion:
    """The pending question of a user proxy, or one that a member relays from a remote agent.

    Attributes:
        asker: The agent that asks.
        prompt: The question.
        answer: The text of the reply; for a member, its parts.
        complaint: The fault of the last reply.
        parts: What else the question consists of.
        withdraw: Cancels the remote task that asks; None for user proxies.
        is_stored: Whether the question outlives its run.
    """

    asker: str
    prompt: str
    answer: asyncio.Future[Any] = field(default_factory=asyncio.Future)
    complaint: str = ""
    parts: Sequence[Part] = ()
    withdraw: Withdraw | None = None
    is_stored: bool = False

    def take(self, reply: AgentRequest | None) -> None:
        """Pass the caller's reply to the agent, if it is valid."""
        parts = reply.parts if reply else ()
        try:
            self.answer.set_result(parts if self.withdraw else answer_text(parts))
        except InvalidInputError as error:
            self.complaint = str(error)

    async def drop(self) -> None:
        """Withdraw the question of a stopped run, unless it was answered or stored."""
        is_answered = self.answer.done() and not self.answer.cancelled()
        if self.withdraw and not (is_answered or self.is_stored):
            await self.withdraw()


class _Token(CancellationToken):
    """A token that can be cancelled during a call of an MCP tool.

    `McpWorkbench` of autogen-ext 0.7 links a coroutine, which has no `cancel`.
    """

    def link_future(self, future: asyncio.Future[Any]) -> asyncio.Future[Any]:
        return super().link_future(future) if hasattr(future, "cancel") else future


class TeamRun:
    """Runs a task and gives its events one by one.

    Args:
        source: Provides the agent or team.
        state: The initial state; None for that of a new agent or team.
        task: Makes the task for the runner.

    Attributes:
        runner: The agent or team; None until it runs.
        state: The state after a run that has ended.
    """

    def __init__(
        self, source: Source, state: State | None, task: Callable[[Runner], Awaitable[Task]]
    ) -> None:
        self.runner: Runner | None = None
        self.state = state
        self._source = source
        self._make_task = task
        self._token = _Token()
        self._relayed: list[PendingQuestion] = []
        self._queue: asyncio.Queue[RunEvent | PendingQuestion | None] = asyncio.Queue()
        self._work = asyncio.create_task(self._run())
        self._work.add_done_callback(lambda _: self._queue.put_nowait(None))

    async def next(self) -> RunEvent | PendingQuestion | None:
        """Return the next event; None when the run has ended.

        Raises:
            Exception: The exception of the agent or team.
        """
        event = await self._queue.get()
        if event is None:
            if self._work.cancelled():
                raise RuntimeError("the run was cancelled by its own code")
            self._result()
        return event

    def _result(self) -> None:
        try:
            self._work.result()
        except RuntimeError as error:
            if known := _known_in(error):
                raise known from error
            raise

    async def stop(self) -> None:
        """Stop the run if it has not ended."""
        if not self._work.done():
            self._token.cancel()
        for _ in range(round(_STOP_SECONDS / _STOP_STEP)):
            if self._work.done():
                break
            self._cancel()
            await asyncio.wait({self._work}, timeout=_STOP_STEP)
        else:
            logger.warning("a cancelled run is still running: its code ignores the cancellation")
        if self._work.done() and not self._work.cancelled():
            self._work.exception()  # `next` has raised it already
        for pending in self._relayed:
            await pending.drop()

    def _cancel(self) -> None:
        tasks = running_tasks(self.runner) if self.runner else []
        for task in tasks:
            task.cancel()
        if not tasks or not isinstance(self.runner, Team):
            self._work.cancel()

    async def _run(self) -> None:
        current_ask.set(self._ask)
        current_relay.set(self._relay)
        async with self._source.use(self.state) as runner:
            self.runner = runner
            task = list(await self._make_task(runner))
            asked = {message.id for message in task}
            events = _events(runner, task=task, cancellation_token=self._token)
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, TaskResult) or event.id not in asked:
                        self._queue.put_nowait(event)
            self.state = await state_of(runner)

    async def _ask(self, asker: str, prompt: str) -> str:
        answer: str = await self._put(PendingQuestion(asker, prompt))
        return answer

    async def _relay(
        self, asker: str, prompt: str, parts: Sequence[Part], withdraw: Withdraw
    ) -> Sequence[Part]:
        pending = PendingQuestion(asker, prompt, parts=parts, withdraw=withdraw)
        self._relayed.append(pending)
        answer: Sequence[Part] = await self._put(pending)
        return answer

    async def _put(self, pending: PendingQuestion) -> Any:
        self._token.link_future(pending.answer)
        if self.runner is not None:
            await settled(self.runner)
        self._queue.put_nowait(pending)
        return await pending.answer


async def _events(runner: Runner, **options: Any) -> AsyncGenerator[RunEvent]:
    """Run a runner by the method that its class checks, and yield its events."""
    is_whole = runs_whole(runner)
    call = runner.run if is_whole else runner.run_stream
    # A method of a custom class may be older than this option, and yields the task, too.
    parameters = inspect.signature(call).parameters.values()
    if any(each.name == _QUIET or each.kind is each.VAR_KEYWORD for each in parameters):
        options[_QUIET] = False
    if is_whole:
        result = await runner.run(**options)
        for event in (*result.messages, result):
            yield event
    else:
        async with aclosing(runner.run_stream(**options)) as events:
            async for event in events:
                yield event


def _known_in(error: RuntimeError) -> Exception | None:
    """Return the rejection, or the failure of a model, that an error of a run stands for.

    A team raises only the text of the original exception, which begins with its class, after those
    of the teams around it. A user proxy puts words before the text of what its function raises.
    """
    text = _AROUND.sub("", str(error), count=1).partition("\nTraceback:")[0]
    kind, _, reason = text.partition(": ")
    if failure := model_failure(kind):
        return failure
    raised = "".join(traceback.format_exception(error))
    for name in _names(BlockedError):
        if kind == name or f"{name}: {text}\n" in raised:
            return BlockedError((reason if kind == name else text).strip())
    if kind == RemoteTaskError.__name__ and reason.startswith(_REJECTED):
        rejection = RemoteAgentError(reason)
        rejection.is_rejection = True
        return rejection
    return None


def _names(kind: type[Exception]) -> Iterator[str]:
    """Yield the names of a class and of those derived from it."""
    yield kind.__name__
    for derived in kind.__subclasses__():
        yield from _names(derived)


async def relaying_state(runner: Runner, asker: str) -> State | None:
    """Return the state of a runner that waits for the reply to a remote agent's question.

    With the reply as its next message, the member that asked takes its turn again.

    Returns:
        The state; None if the runner cannot continue with this member.
    """
    state = await state_of(runner)
    if runner.name == asker:
        return state
    names = [member.name for member in participants(runner)]
    manager = manager_state(state)
    if asker not in names:
        return None
    match runner:
        case RoundRobinGroupChat():
            manager["next_speaker_index"] = names.index(asker)
        case Swarm():
            manager["current_speaker"] = asker
        case GraphFlow() if is_sequential(graph_of(runner)):
            manager["ready"] = [asker]
        case _:
            return None
    state["state"]["agent_states"][asker]["message_buffer"] = []  # the remote agent has them
    return state


async def suspended_state(runner: Runner, proxy: str) -> tuple[State, str] | None:
    """Return the state of a team that waits for a user proxy, and the agent that handed over.

    The proxy blocks its run, which ends with the process. But if all others are idle, the state is
    complete except for the proxy's own turn.

    Returns:
        The state and the agent's name, "" without a handoff; None if the team cannot continue
        in another process.
    """
    members = {member.name: member for member in participants(runner)}
    is_proxy = isinstance(members.get(proxy), UserProxyAgent)
    if not isinstance(runner, TURN_TAKING) or not is_proxy:
        return None
    state = await state_of(runner)
    own = state["state"]["agent_states"][proxy]
    unread, own["message_buffer"] = own["message_buffer"], []
    handoff = unread[-1] if unread and unread[-1]["type"] == HandoffMessage.__name__ else {}
    manager_state(state)["current_turn"] += 1  # the proxy's turn is over with the answer
    return state, handoff.get("source", "")


def proxy_message(question: Question, text: str) -> BaseChatMessage:
    """Return the message of a user proxy for the caller's answer."""
    if question.asker:
        return HandoffMessage(content=text, target=question.asker, source=question.addressee)
    return TextMessage(content=text, source=question.addressee)
