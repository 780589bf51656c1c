"""Provides the agent or team of each run: one shared object, or a new one."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractContextManager,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from typing import TYPE_CHECKING, Any, TypeAlias

from autogen_agentchat.base import ChatAgent, Team

from a2a_adapters import TargetError
from a2a_adapters.concurrency import Background, PerLoop
from a2a_adapters.plugin import Copies, Factory, MadeAnew, SavedAttributes
from a2a_adapters_autogen.serving.runners import (
    Runner,
    attached,
    close,
    own_attributes,
    prepare,
    replace_runtimes,
    reset,
    resources,
    restore,
    state_of,
    stateful_parts,
    with_attached,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from a2a_adapters_autogen.serving.memory import State

_SECONDS = 10.0
"""The time limit for closing a resource."""

_LATER = object()
"""Stands for an object that only an event loop can make."""

logger = logging.getLogger(__name__)


class BusyError(Exception):
    """The shared object waits for the answer of another caller."""


class Shared:
    """One object, which answers one request at a time.

    Its state is replaced before each run, so that runs do not see each other's.

    Attributes:
        example: The object, to describe.
        waits: Whether the run that uses it waits for its caller.
        changed: Set when this or `is_in_use` changes, and then replaced.
        loop: The event loop of its last run.
    """

    def __init__(
        self, runner: Runner, max_messages: int, input_type: type[BaseModel] | None
    ) -> None:
        self.example = runner
        _prepare_example(runner, max_messages, input_type)
        logger.warning(
            "one object serves all callers, so %s answers one request at a time; "
            "serve a function that returns a new one to answer in parallel",
            runner.name,
        )
        self._pristine: list[tuple[Runner, State]] = []
        self._attributes = SavedAttributes([])
        self._in_use = self.waits = self._was_cut_off = False
        self.changed = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        self._parts = with_attached(runner)

    @asynccontextmanager
    async def use(self, state: State | None) -> AsyncIterator[Runner]:
        """Wait until the object is free, and provide it in `state`, or in its initial state.

        Raises:
            BusyError: The object waits for another caller's answer.
            TargetError: It is served in another event loop, too.
        """
        self._enter_loop()
        while busy := next((each for each in self._users() if each.is_in_use), None):
            if busy.waits:
                raise BusyError
            await busy.changed.wait()
        with self.turn():
            with ExitStack() as turns:
                for other in self._users() - {self}:
                    turns.enter_context(other.turn())
                    await other.load(None)
                _users.update(dict.fromkeys(map(id, self._parts), self))
            await self.load(state)
            self._was_cut_off = True
            yield self.example
            self._was_cut_off = False

    @property
    def is_in_use(self) -> bool:
        """Whether a run of this event loop uses the object."""
        return self._in_use and self.loop is asyncio.get_running_loop()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep all others from the object."""
        self._enter_loop()
        self._in_use = True
        try:
            yield
        finally:
            self._in_use = False
            self._wake_all()

    def _users(self) -> set[Shared]:
        """Return itself, and what else was the last to use one of its parts."""
        return {self, *(_users.get(id(each), self) for each in self._parts)}

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Refuse other runs until the caller has answered."""
        self.waits = True
        self._wake_all()
        try:
            yield
        finally:
            self.waits = False

    async def aclose(self) -> None:
        """Do nothing: the object belongs to its creator."""

    def _enter_loop(self) -> None:
        """Replace everything that belongs to the event loop of an earlier start."""
        loop = asyncio.get_running_loop()
        for part in self._parts:
            _users.setdefault(id(part), self)
        others = (each.loop for each in self._users() if each.loop is not loop)
        if any(other is not None and other.is_running() for other in others):
            raise TargetError(
                f"{self.example.name}, or a part of it, is served in two event loops, which cannot "
                "take turns: serve a function that returns a new one"
            )
        if loop is not self.loop:
            self.loop, self._was_cut_off = loop, True
            self.changed = asyncio.Event()

    async def load(self, state: State | None) -> None:
        """Put the object into a state, or into its initial one."""
        if not self._pristine:
            runners = [self.example, *attached(self.example)]
            self._pristine = [(each, Copies().of(await state_of(each))) for each in runners]
            self._attributes = own_attributes(self.example)
        self._attributes.restore()
        for each, pristine in self._pristine:
            if self._was_cut_off:
                replace_runtimes(each)
            await reset(each)
            await restore(each, Copies().of(pristine))  # an agent may keep what it loads
        if state is not None:
            await restore(self.example, state)

    def _wake_all(self) -> None:
        """Wake all waiting runs, in the order of arrival."""
        self.changed.set()
        self.changed = asyncio.Event()


_users: dict[int, Shared] = {}
"""What was the last to use an agent or a team, which may be served alone, in a team, and again.

The keys are ids, since such an object may be unhashable, and lives as long as what has used it.
"""


class Fresh:
    """A function that makes a new object for every run, which is closed after it.

    Model clients and workbenches that the function makes for each run are closed. Those that its
    results share are left open, because they belong to the function's owner.

    Attributes:
        example: An object to describe; None if one cannot be made without running code.
    """

    def __init__(
        self,
        build: Callable[[], Any],
        max_messages: int,
        input_type: type[BaseModel] | None,
    ) -> None:
        self._build = build.make if isinstance(build, Factory) else build
        self._max_messages = max_messages
        self._input_type = input_type
        kinds = "agents, teams, termination conditions and contexts"
        self._anew = MadeAnew(stateful_parts, kinds)
        self._closing = Background()  # no answer waits for it, and no cancel cuts it short
        self._example_lock = PerLoop(asyncio.Lock)
        self.example: Runner | None = None
        made = build.example if isinstance(build, Factory) else self._make_now()
        if made is not _LATER:
            self._set_example(made)
            if (another := self._make_now()) is not _LATER:
                self._checked(another)

    @asynccontextmanager
    async def use(self, state: State | None) -> AsyncIterator[Runner]:
        """Make an object in `state`, or in its initial state, and close its resources afterwards.

        Raises:
            TargetError: The function did not return a new agent or team.
        """
        async with self._example_lock():
            example = self.example or self._set_example(await self._make())
        runner = self._checked(await self._make())
        try:
            prepare(runner, self._max_messages, self._input_type)
            if state is not None:
                await restore(runner, state)
            yield runner
        finally:
            self._closing.begin(_close(runner, example))

    def waiting(self) -> AbstractContextManager[None]:
        """Do nothing: a run that waits for its caller does not hold up the others."""
        return nullcontext()

    async def aclose(self) -> None:
        """Wait until the resources of all runs are closed."""
        while await self._closing.wait():
            pass

    def _make_now(self) -> object:
        made = _LATER if inspect.iscoroutinefunction(self._build) else self._build()
        if inspect.iscoroutine(made):  # the function calls an async one
            made.close()
            return _LATER
        return made

    async def _make(self) -> object:
        made = self._build()
        return await made if inspect.isawaitable(made) else made

    def _set_example(self, made: object) -> Runner:
        example = self._checked(made)
        _prepare_example(example, self._max_messages, self._input_type)
        self.example = example
        return example

    def _checked(self, made: object) -> Runner:
        if not isinstance(made, ChatAgent | Team):
            raise TargetError(f"a factory returned {type(made).__name__}, not an agent or team")
        self._anew.check(made)
        return made


async def _close(runner: Runner, example: Runner) -> None:
    """Close the resources that only this run has. Failures are logged, so that all are closed."""
    shared = {id(resource) for resource in resources(example)}
    own = {id(resource): resource for resource in resources(runner) if id(resource) not in shared}
    for resource in own.values():
        try:
            async with asyncio.timeout(_SECONDS):
                await close(resource)
        except Exception:
            kind = type(resource).__name__
            logger.warning("a %s of a run could not be closed", kind, exc_info=True)


def _prepare_example(runner: Runner, max_messages: int, input_type: type[BaseModel] | None) -> None:
    for name in prepare(runner, max_messages, input_type):
        logger.warning(
            "the team %s has no termination condition, it stops after %d messages",
            name,
            max_messages,
        )


Source: TypeAlias = Shared | Fresh
"""Gives each run exclusive use of an agent or team."""


def source_of(target: object, max_messages: int, input_type: type[BaseModel] | None) -> Source:
    """Return the source of runners for a target.

    Raises:
        TargetError: The target is not an agent, a team or a function.
    """
    if isinstance(target, ChatAgent | Team):
        return Shared(target, max_messages, input_type)
    if callable(target):
        return Fresh(target, max_messages, input_type)
    raise TargetError(
        f"{type(target).__name__} is not an agent, a team or a function that makes one"
    )
