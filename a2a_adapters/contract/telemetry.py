"""Telemetry of requests, of agents' runs and of calls to other agents (hook `a2a_telemetry`).

These classes do nothing: an implementation overrides what it needs.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from a2a.types import AgentCard, Task

    from a2a_adapters.concurrency.threads import TaskCalls
    from a2a_adapters.contract.adapter import Adapter
    from a2a_adapters.contract.parts import JSON


class Observed:
    """Work in progress, used as a context manager."""

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


class ObservedRequest(Observed):
    """A request to this process."""

    def decide(self, *, is_trusted: bool) -> None:
        """Continue the trace that the request's headers name, or begin another one.

        Called inside `with`, once it is known whether the caller is trusted. Later calls do
        nothing.
        """


class ObservedRun(Observed):
    """The answer to one message.

    Attributes:
        is_active: Whether there is anything to observe or to add; otherwise only `note` is called.
    """

    is_active = False

    def note(self, values: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Note metadata that the adapter reports, and return the part for the caller."""
        return values

    def metadata(self) -> Mapping[str, JSON]:
        """Return the metadata to add to the task, now or at the end of the run."""
        return {}


class ObservedCall(Observed):
    """A call to a remote agent; it may be entered several times."""

    def note(self, result: object) -> None:
        """Note the result: an `AgentReply` or a message of the protocol."""

    def end(self, error: BaseException | None = None) -> None:
        """End the call."""

    @contextmanager
    def whole(self) -> Iterator[Self]:
        """Make the call, and end it."""
        try:
            with self:
                yield self
        except BaseException as error:
            self.end(error)
            raise
        self.end()


class ObservedAgent:
    """A remote agent."""

    def call(self, operation: str, context_id: str = "", task_id: str = "") -> ObservedCall:
        """Begin a call, named after the operation in A2A 1.0."""
        return ObservedCall()


class Telemetry:
    """Observes a process.

    Attributes:
        is_tracing: Whether the process has been part of a trace, so that `trace_id` may return one.
    """

    is_tracing = False

    def is_needed(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request with these headers is observed."""
        return False

    def request(
        self, verb: str, path: str, headers: Mapping[str, str], record: Any
    ) -> ObservedRequest:
        """Observe a request, whose `RequestRecord` is complete at the end."""
        return ObservedRequest()

    def run(self, adapter: Adapter, calls: TaskCalls, task: Task | None, name: str) -> ObservedRun:
        """Observe the answer to a message; `name` is "" if the agent's name is the adapter's."""
        return ObservedRun()

    def agent(self, url: str, binding: str = "", card: AgentCard | None = None) -> ObservedAgent:
        """Observe calls to an agent's interface, or to the address of its card."""
        return ObservedAgent()

    def headers(self) -> dict[str, str]:
        """Return the headers of outgoing requests."""
        return {}

    def trace_id(self) -> str:
        """Return the id of the current trace, or ""."""
        return ""
