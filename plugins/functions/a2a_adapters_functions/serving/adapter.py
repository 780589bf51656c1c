"""A function as an adapter."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, suppress
from functools import partial
from types import AsyncGeneratorType, GeneratorType
from typing import Any, TypeAlias

from a2a_adapters import AgentEvent, AgentRequest, InvalidInputError, Skill
from a2a_adapters.plugin import Adapter, AgentDescription, check_arguments, run_in_thread
from a2a_adapters_functions.serving.durable import asking, rerun
from a2a_adapters_functions.serving.results import Results, event_of, returned_events
from a2a_adapters_functions.serving.signature import Kind, read_signature

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]

_END = object()

_DATA, _TEXT = "application/json", "text/plain"

_GENERATED = (AsyncGeneratorType, GeneratorType)
_GENERATORS = frozenset({Kind.ASYNC_GENERATOR, Kind.GENERATOR})


class FunctionAdapter(Adapter):
    """Serves `def` and `async def` functions and generators.

    The function receives the text of the message, or the whole `AgentRequest` if its parameter
    has that annotation or is named `request`. Parameters of other types, or several parameters,
    are read from a data part or from JSON text, and validated; those with a default are optional.
    The function returns or yields `str`, agent events, parts, bytes or any JSON value. In a
    generator, `yield InputRequired(...)` returns the reply of the caller. A function annotated to
    return a `Reply` can send a bare message. Functions that are not `async` run in threads.

    Args:
        function: The function.
        name: The agent's name; by default the function's.
        description: The agent's description; by default the first paragraph of the docstring.
        durable: Whether a server with durable storage may run the function again from its
            beginning if the process dies during a task. A generator then receives the earlier
            replies again, and its events before the last of them are dropped; if it asks other
            questions than before, the task fails. All other effects of the function are repeated.

    Raises:
        TargetError: A message cannot set the function's arguments, or JSON cannot express one.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        durable: bool = False,
    ) -> None:
        self._signature = read_signature(function)
        check_arguments(FunctionAdapter, locals())
        self.resumes = durable
        self._function = function
        self._name = name
        self._description = description
        self.may_reply = self._signature.may_reply
        self.uses_history = bool(self._signature.request)
        self.blocks = self._signature.kind in {Kind.PLAIN, Kind.GENERATOR}

    def describe(self) -> AgentDescription:
        """Describe the function by its name and docstring."""
        name = self._name or getattr(self._function, "__name__", "function").strip("<>")
        documentation = (inspect.getdoc(self._function) or "").split("\n\n")[0]
        description = self._description or documentation or f"The function {name}."
        takes, returns = self._signature.arguments, self._signature.results.schema
        skill = Skill(
            id="answer",
            name=name,
            description=description,
            input_schema=takes.schema if takes else None,
            output_schema=returns,
        )
        modes = (_DATA, _TEXT) if takes else (_TEXT,)
        return AgentDescription(
            name=name,
            description=description,
            skills=[skill] if takes or returns else (),
            input_modes=("*/*",) if self._signature.request else modes,
            output_modes=(_DATA, _TEXT) if returns else (_TEXT, _DATA),
        )

    def stream(self, request: AgentRequest) -> _Events:
        """Call the function; rerun a durable generator whose process died."""
        if not self.resumes or self._signature.kind not in _GENERATORS:
            return self._called(request)
        if request.resuming:
            return rerun(self._called, request)
        return asking(self._called(request))

    def resume(self, request: AgentRequest) -> _Events:
        """Call the function again from its beginning."""
        return self.stream(request)

    def _called(self, request: AgentRequest) -> _Events:
        call = self.bind(request)
        match self._signature.kind:
            case Kind.ASYNC_GENERATOR:
                return _from_async_generator(call())
            case Kind.GENERATOR:
                return _from_generator(call(), request)
            case Kind.COROUTINE:
                return _from_coroutine(call, self._signature.results, request)
            case Kind.PLAIN:
                return _from_call(call, self._signature.results, request)

    def bind(self, request: AgentRequest) -> partial[Any]:
        """Bind the function to the arguments in a request.

        Raises:
            InvalidInputError: An argument is invalid, missing or unknown.
        """
        signature = self._signature
        if signature.arguments is None and not signature.caller:
            return partial(self._function, request if signature.request else _text(request))
        if signature.arguments is not None:
            values = signature.arguments.read(request)
        else:
            values = {signature.text: _text(request)} if signature.text else {}
        if signature.request:
            values[signature.request] = request
        if signature.caller:
            values[signature.caller] = request.caller
        bound = signature.bind(values)
        return partial(self._function, *bound.args, **bound.kwargs)


def _text(request: AgentRequest) -> str:
    if not (text := request.text):
        raise InvalidInputError("this agent takes text; the message has no text part")
    return text


async def _from_coroutine(
    function: Callable[[], Any], results: Results, request: AgentRequest
) -> _Events:
    result = await function()
    if not isinstance(result, _GENERATED):
        for event in returned_events(result, results):
            yield event
        return
    answer: AgentRequest | None = None
    async with aclosing(_generated(result, request)) as events:
        with suppress(StopAsyncIteration):
            while True:
                answer = yield await events.asend(answer)


def _generated(
    values: AsyncGenerator[Any, Any] | Generator[Any, Any, Any], request: AgentRequest
) -> _Events:
    """Return the events of a generator that a wrapper around a generator function returns."""
    if isinstance(values, Generator):
        return _from_generator(values, request)
    return _from_async_generator(values)


def _from_call(function: Callable[[], Any], results: Results, request: AgentRequest) -> _Events:
    def call() -> object:
        # The task may have been cancelled while it waited for a thread.
        return None if request.cancelled else function()

    async def called() -> object:
        result = await run_in_thread(call, request.task_id)
        return await result if inspect.isawaitable(result) else result  # a wrapper, too

    return _from_coroutine(called, results, request)


async def _from_async_generator(values: AsyncGenerator[Any, Any]) -> _Events:
    answer: AgentRequest | None = None
    try:
        while True:
            value = await values.asend(answer)
            answer = yield event_of(value)
    except StopAsyncIteration:
        return
    finally:
        await values.aclose()


async def _from_generator(values: Generator[Any, Any, Any], request: AgentRequest) -> _Events:
    """Run each step of a blocking generator in a thread, one at a time."""

    def step(answer: AgentRequest | None) -> object:
        if request.cancelled:
            return _END
        try:
            return values.send(answer)
        except StopIteration:
            return _END
        finally:
            if request.cancelled:  # only this thread can close it while it runs
                values.close()

    answer: AgentRequest | None = None
    try:
        while (value := await run_in_thread(partial(step, answer), request.task_id)) is not _END:
            answer = yield event_of(value)
    finally:
        if inspect.getgeneratorstate(values) != inspect.GEN_RUNNING:
            await run_in_thread(values.close, request.task_id)
