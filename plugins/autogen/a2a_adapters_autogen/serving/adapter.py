"""An AutoGen agent or team as an adapter."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, get_args, get_type_hints

from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.base import ChatAgent, Team
from autogen_agentchat.teams import Swarm
from pydantic import BaseModel  # noqa: TC002 - checked

from a2a_adapters import (
    AgentEvent,
    AgentRequest,
    InputRequired,
    InvalidInputError,
    Limits,
    Rejected,
    Skill,
    TargetError,
)
from a2a_adapters.plugin import (
    ANOTHER_TASK_WAITS,
    ANY_MODES,
    QUESTION_CLOSED,
    Adapter,
    AgentDescription,
    Factory,
    check_arguments,
)
from a2a_adapters_autogen.calling.agent import A2AAgent
from a2a_adapters_autogen.serving.ending import Ending
from a2a_adapters_autogen.serving.events import Final, Translator
from a2a_adapters_autogen.serving.guards import (
    changes_messages,
    sees_messages,
    sees_whole_run,
)
from a2a_adapters_autogen.serving.input import USER, answer_text, check_images, hand_back, read_task
from a2a_adapters_autogen.serving.memory import (
    Memory,
    MemoryStateStore,
    Question,
    Remembered,
    ServerStateStore,
    StateKey,
    StateStore,
)
from a2a_adapters_autogen.serving.runners import (
    Runner,
    accepts_images,
    messages_since,
    participants,
    replay_to_termination,
    runners_in,
    tools,
)
from a2a_adapters_autogen.serving.source import BusyError, source_of
from a2a_adapters_autogen.serving.team_run import (
    PendingQuestion,
    Task,
    TeamRun,
    proxy_message,
    relaying_state,
    suspended_state,
)

if TYPE_CHECKING:
    from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, HandoffMessage

    from a2a_adapters import OutboundPolicy
    from a2a_adapters.plugin import StateStorage

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]

DEFAULT_MAX_MESSAGES = 50
_UNSPECIFIC = (None, Any, object)
_BUSY = Rejected("This agent waits for the answer of another caller; please try again later.")

_MODES = ("text/plain", "application/json")
_DEFAULT_TEAM = "A team of agents."


@dataclass
class _Turn:
    """A request, its stored conversation and new messages, and the translator of events."""

    request: AgentRequest
    known: Remembered
    messages: Sequence[BaseChatMessage]
    translator: Translator = field(init=False)


class AutoGenAdapter(Adapter):
    """Serves agents and teams of `autogen-agentchat`.

    A function that makes them is called for every run. A single object answers one request at
    a time, with its state replaced before each. Either way the state is kept per caller and
    conversation; a failed or cancelled run leaves it unchanged.

    Args:
        target: An agent, a team, or a function without arguments, sync or async, that returns
            a new one.
        final: The messages of a team that answer: the `"last"` one, `"all"` of them, or those of
            the agents with these names. If several agents answer, each message begins with the
            agent's name.
        strip_terminate: Whether a trailing TERMINATE is left out of the answer.
        input_type: The type of data parts, which become a `StructuredMessage[input_type]`.
            Without it they become JSON text.
        max_messages: The message limit of a team without a termination condition and `max_turns`.
        store: Holds the states; by default the server's storage, or memory if it has none.
        limits: Bounds the in-memory states.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.

    Raises:
        TargetError: The target cannot be served.
    """

    def __init__(
        self,
        target: Runner | Callable[[], Any],
        *,
        final: Final = "last",
        strip_terminate: bool = True,
        input_type: type[BaseModel] | None = None,
        max_messages: int = DEFAULT_MAX_MESSAGES,
        store: StateStore | None = None,
        limits: Limits | None = None,
        fetch: OutboundPolicy | None = None,
    ) -> None:
        options = dict(locals())
        del options["target"]  # which has an error of its own
        check_arguments(AutoGenAdapter, options, {"max_messages"})
        self.fetch = fetch
        self._source = source_of(target, max_messages, input_type)
        _check_names(final, self._source.example)
        self._target = target
        self._final = final
        self._strip_terminate = strip_terminate
        self._input_type = input_type
        self._memory = Memory(store or MemoryStateStore(limits))
        self._has_own_store = store is not None
        self._suspends = False
        self._parked: set[StateKey] = set()

    @property
    def holds_text(self) -> bool:  # type: ignore[override]  # a function may make it later
        """Whether something may change or block streamed text, or is not known yet."""
        example = self._source.example
        return example is None or self._is_checked(example)

    def _is_checked(self, runner: Runner) -> bool:
        sends_before_end = isinstance(runner, Team) and self._final != "last"
        return changes_messages(runner) or (sends_before_end and sees_messages(runner))

    def describe(self) -> AgentDescription:
        """Describe the agent or team by its name, description, tools and participants.

        For an async factory, only the function's name and docstring are known.
        """
        if self._source.example is not None:
            return describe_runner(self._source.example)
        name = getattr(self._target, "__name__", "agent").strip("<>")
        documentation = (inspect.getdoc(self._target) or "").partition("\n\n")[0]
        description = documentation or f"The agent {name}."
        return AgentDescription(name=name, description=description, input_modes=("*/*",))

    async def open(self, storage: StateStorage) -> None:
        """Keep states, and questions of user proxies, in the server's storage."""
        if storage.is_durable and not self._has_own_store:
            self._memory = Memory(ServerStateStore(storage))
            self._suspends = True

    def stream(self, request: AgentRequest) -> _Events:
        """Run the agent or team, or continue after its question.

        Raises:
            InvalidInputError: The agent does not accept the message.
        """
        messages = read_task(request, self._input_type)
        if self._source.example is not None:
            check_images(messages, self._source.example)
        return self._answer(request, messages)

    async def abandon(self, request: AgentRequest) -> None:
        """Restore the state from before the task of the question."""
        key = _key(request)
        known = await self._memory.recall(key)
        question = known.question
        if question and question.task_id == request.task_id:
            await self._memory.keep(key, known.state)
            if question.is_relayed:
                await self._withdraw(question)

    async def _withdraw(self, question: Question) -> None:
        """Cancel the remote task that waits for the answer."""
        async with self._source.use(question.state) as runner:
            for member in runners_in(runner):
                if isinstance(member, A2AAgent) and member.name == question.asker:
                    await member.withdraw()

    async def aclose(self) -> None:
        """Wait until the resources of all runs are closed."""
        await self._source.aclose()

    async def _answer(self, request: AgentRequest, messages: Sequence[BaseChatMessage]) -> _Events:
        turn = await self._prepare(request, messages)
        if not isinstance(turn, _Turn):
            yield turn
            return
        run = TeamRun(self._source, turn.known.start_state, partial(self._begin, turn))
        try:
            while (event := await run.next()) is not None:
                if not isinstance(event, PendingQuestion):
                    for output in turn.translator.take(event):
                        yield output
                    continue
                for output in turn.translator.accepted():
                    yield output
                while not event.answer.done():
                    if durable := await self._suspend(turn, run, event):
                        yield durable
                        return
                    with self._parking(_key(request)):
                        reply = yield turn.translator.question(event)
                    event.take(reply)
        except BusyError:
            yield _BUSY
            return
        finally:
            await run.stop()
        async for output in self._finish(turn, run):
            yield output

    async def _prepare(
        self, request: AgentRequest, messages: Sequence[BaseChatMessage]
    ) -> _Turn | Rejected | InputRequired:
        """Return the turn, or the event of the answer if there is nothing to run."""
        key = _key(request)
        known = await self._memory.recall(key)
        if not request.resuming:
            if known.question and not await request.others_wait():
                known = Remembered(known.state)  # the task of the question no longer exists
            waits = known.question is not None or key in self._parked
            return ANOTHER_TASK_WAITS if waits else _Turn(request, known, messages)
        question = known.question
        if question is None or question.task_id != request.task_id:
            return QUESTION_CLOSED
        if question.is_of_proxy:
            try:
                messages = [proxy_message(question, answer_text(request.parts))]
            except InvalidInputError as complaint:
                return InputRequired(f"{complaint}\n\n{question.prompt}", durable=True)
        await self._memory.keep(key, known.state)  # the question is closed, even if this run fails
        return _Turn(request, known, messages)

    async def _finish(self, turn: _Turn, run: TeamRun) -> _Events:
        """Yield the rest of the answer and keep the state, or yield the run's question."""
        if handoff := turn.translator.handoff_to_user():
            for output in (*turn.translator.accepted(), *turn.translator.metadata()):
                yield output
            yield await self._ask(turn, run, handoff)
            return
        for output in turn.translator.end():
            yield output
        await self._memory.keep(_key(turn.request), run.state)

    async def _begin(self, turn: _Turn, runner: Runner) -> Task:
        """Prepare a runner, and the translation of its events; return the messages of its task."""
        known, messages, question = turn.known, turn.messages, turn.known.question
        check_images(messages, runner)
        said: Sequence[BaseAgentEvent | BaseChatMessage] = ()
        if question and question.prompt and isinstance(runner, Team):  # it was suspended
            said = messages_since(runner, known.state, question.state)
        await replay_to_termination(runner, said)
        ending = None
        if self._final == "last" and isinstance(runner, Team):
            ending = Ending(runner, known.start_state, seen=(*said, *messages))
        is_checked = self._is_checked(runner)
        turn.translator = Translator(
            runner,
            final=self._final,
            strip_terminate=self._strip_terminate,
            wants_progress=turn.request.wants_progress,
            ending=ending,
            is_checked=is_checked,
            streams=not is_checked or self.holds_text,
            usage=question.usage if question else (0, 0),
        )
        turn.translator.catch_up(said)
        if question and not question.is_of_proxy and isinstance(runner, Swarm):
            return hand_back(messages, question)
        return messages

    async def _ask(self, turn: _Turn, run: TeamRun, handoff: HandoffMessage) -> InputRequired:
        """Store the ended run, and return its question."""
        asker, addressee, usage = handoff.source, handoff.target, turn.translator.usage
        question = Question(turn.request.task_id, asker, addressee, run.state or {}, usage)
        await self._memory.ask(_key(turn.request), question)
        metadata = {"source": asker, "target": addressee}
        return InputRequired(handoff.content, metadata=metadata, durable=True)

    async def _suspend(
        self, turn: _Turn, run: TeamRun, pending: PendingQuestion
    ) -> InputRequired | None:
        """Store a run that waits for its caller, and return the question; None if it cannot."""
        assert run.runner is not None  # noqa: S101 - it asks
        if sees_whole_run(run.runner):  # it may not have passed on all messages yet
            return None
        asker, addressee, state = pending.asker, USER, None
        is_relayed = pending.withdraw is not None
        if is_relayed:
            state = await relaying_state(run.runner, asker)
        elif self._suspends and (found := await suspended_state(run.runner, asker)):
            addressee = asker
            state, asker = found
        if state is None:
            return None
        event, usage = turn.translator.question(pending), turn.translator.usage
        question = Question(
            turn.request.task_id, asker, addressee, state, usage, event.prompt, is_relayed
        )
        await self._memory.ask(_key(turn.request), question)
        pending.is_stored = True
        return replace(event, durable=True)

    @contextmanager
    def _parking(self, key: StateKey) -> Iterator[None]:
        """Mark the conversation as waiting for its caller in this process."""
        self._parked.add(key)
        try:
            with self._source.waiting():
                yield
        finally:
            self._parked.discard(key)


def _key(request: AgentRequest) -> StateKey:
    return StateKey(request.owner, request.context_id)


def _check_names(final: Final, example: Runner | None) -> None:
    if isinstance(final, str) or not isinstance(example, Team):
        return
    known = [member.name for member in runners_in(example) if isinstance(member, ChatAgent)]
    if unknown := [name for name in final if name not in known]:
        raise TargetError(f"final: the team has no agents {unknown}, but {known}")


adapt = AutoGenAdapter
"""Wraps an agent, a team or a function that makes one, with options."""


def adapt_if_ours(target: object) -> Adapter | None:
    """Wrap an agent, a team or a function that makes one; pass on anything else."""
    if isinstance(target, ChatAgent | Team) or _makes_them_later(target):
        return AutoGenAdapter(target)
    if isinstance(target, Factory) and isinstance(target.example, ChatAgent | Team):
        return AutoGenAdapter(target)
    return None


def _makes_them_later(target: object) -> TypeGuard[Callable[[], Any]]:
    """Whether an async function returns agents or teams, or has no specific annotation."""
    if not inspect.iscoroutinefunction(target) or inspect.signature(target).parameters:
        return False
    try:
        hint = get_type_hints(target).get("return")
    except Exception:  # only a type checker can resolve the annotation
        return True
    return hint in _UNSPECIFIC or any(
        inspect.isclass(kind) and issubclass(kind, ChatAgent | Team)
        for kind in (hint, *get_args(hint))
    )


def describe_runner(runner: Runner) -> AgentDescription:
    """Describe an agent by its tools, a team by its participants."""
    if isinstance(runner, ChatAgent):
        description = runner.description
        skills = [Skill.of(tool.name, tool.description) for tool in tools(runner)]
    else:
        members = [m for m in participants(runner) if not isinstance(m, UserProxyAgent)]
        names = ", ".join(member.name for member in members)
        is_default = runner.description == _DEFAULT_TEAM
        description = f"A team of {names}." if is_default and names else runner.description
        skills = [Skill.of(member.name, member.description, "agent") for member in members]
    return AgentDescription(
        name=runner.name,
        description=description or f"The agent {runner.name}.",
        skills=skills,
        input_modes=ANY_MODES if accepts_images(runner) else _MODES,
        output_modes=ANY_MODES,
    )
