"""The telemetry of a process: traces, if it uses OpenTelemetry, and the bills of tasks."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from a2a.types import Task, TaskState

from a2a_adapters.concurrency.threads import CURRENT_CALLS
from a2a_adapters.contract.telemetry import (
    ObservedAgent,
    ObservedCall,
    ObservedRequest,
    ObservedRun,
    Telemetry,
)
from a2a_adapters.contract.text import clipped, quote
from a2a_adapters.protocol.conversion import struct_to_dict
from a2a_adapters_tracing.bill import (
    Delegates,
    Earlier,
    bill_of,
    delegate_of,
    earlier_of,
    without_agents,
)
from a2a_adapters_tracing.spending import BILL, account_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from a2a.types import AgentCard

    from a2a_adapters import AgentReply, ReplyState
    from a2a_adapters.concurrency.threads import TaskCalls
    from a2a_adapters.observability.requests import RequestRecord
    from a2a_adapters.plugin import JSON, Adapter
    from a2a_adapters_tracing.spans import OpenSpan, Traces

TRACEPARENT = "a2a_adapters.traceparent"
"""Key in a task's metadata: the span of its last run, as in the header of this name."""

_REPORTED = ("usage", "cost_envelope", "context_window", "model", BILL)
"""Keys of the metadata that report the usage of a task."""

_HEADERS = frozenset({"traceparent", "baggage"})
_INVOKES = frozenset({"SendMessage", "SendStreamingMessage", "SubscribeToTask"})
_RPC = {"JSONRPC": "jsonrpc", "GRPC": "grpc"}
_PORTS = {"https": 443, "http": 80}
_NAME_LENGTH = 100
_AGENTS = 1_000
_BILLS = 256
"""Number of tasks whose bills are kept in full for their next message."""


class RunDelegates:
    """The delegates of the running tasks."""

    def __init__(self) -> None:
        self._by_run: WeakKeyDictionary[TaskCalls, Delegates] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def get(self, run: TaskCalls) -> Delegates | None:
        """Return the delegates of a run, if they are collected."""
        return self._by_run.get(run)

    def of(self, run: TaskCalls) -> Delegates:
        """Return the delegates of a run, and collect them from now on."""
        with self._lock:
            return self._by_run.setdefault(run, Delegates())


class ProcessTelemetry(Telemetry):
    """Traces requests, runs and calls, and collects their usage."""

    def __init__(self) -> None:
        self._traces: Traces | None = None
        self._delegates = RunDelegates()
        self._bills: dict[str, JSON] = {}
        self._agents: dict[tuple[int, str], ServedAgent] = {}

    def traces(self, *, is_needed: bool = False) -> Traces | None:
        """Return the traces if OpenTelemetry is installed and used by this process.

        Args:
            is_needed: Whether to use it from now on, because a request belongs to a trace.
        """
        if self._traces is None and (
            is_needed
            or "opentelemetry.trace" in sys.modules
            or "OTEL_PYTHON_TRACER_PROVIDER" in os.environ
        ):
            try:
                from a2a_adapters_tracing.spans import Traces  # noqa: PLC0415 - slow
            except ImportError:
                return None
            self._traces = Traces()
        return self._traces

    def is_needed(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request is traced, or has a trace context."""
        is_traced = not _HEADERS.isdisjoint(headers)
        traces = self.traces(is_needed=is_traced)
        return traces is not None and (is_traced or traces.tracer is not None)

    def request(
        self, verb: str, path: str, headers: Mapping[str, str], record: RequestRecord
    ) -> ObservedRequest:
        """Process a request in its trace."""
        if (traces := self.traces()) is None:
            return ObservedRequest()
        from a2a_adapters_tracing.spans import TracedRequest  # noqa: PLC0415 - slow

        return TracedRequest(traces, verb, path, headers, record)

    def run(self, adapter: Adapter, calls: TaskCalls, task: Task | None, name: str) -> ObservedRun:
        """Observe the answer to a message."""
        key = id(adapter), name  # an adapter may be neither hashable nor weakly referable
        agent = self._agents.get(key)
        if agent is None or agent.adapter is not adapter:
            if len(self._agents) >= _AGENTS:
                self._agents.clear()
            agent = self._agents[key] = ServedAgent(adapter, name)
        return ServedRun(self, self._delegates, agent, calls, task)

    def agent(self, url: str, binding: str = "", card: AgentCard | None = None) -> ObservedAgent:
        """Observe calls to an agent's interface, or to the address of its card."""
        return CalledAgent(self, self._delegates, url, binding, card)

    def bill(self, task_id: str) -> JSON:
        """Return the bill of a task that was shown without its agents; None if it is unknown."""
        return self._bills.get(task_id)

    def keep_bill(self, task_id: str, bill: JSON) -> None:
        """Keep a bill that is shown without its agents, so that these are not counted twice."""
        self._bills.pop(task_id, None)
        if len(self._bills) >= _BILLS:
            del self._bills[next(iter(self._bills))]
        self._bills[task_id] = bill

    def headers(self) -> dict[str, str]:
        """Return the headers that continue the current trace."""
        return traces.headers() if (traces := self.traces()) else {}

    def trace_id(self) -> str:
        """Return the id of the current trace, or ""."""
        return traces.trace_id() if (traces := self.traces()) else ""

    def traceparent(self) -> str:
        """Return the current trace and span, or ""."""
        return traces.traceparent() if (traces := self.traces()) else ""


class ServedAgent:
    """An agent of this process.

    Attributes:
        adapter: Its adapter.
        packages: The packages of its adapters, whose frameworks count tokens.
        name: The name of its runs.
        attributes: The attributes of its runs.
    """

    def __init__(self, adapter: Adapter, name: str) -> None:
        described = adapter.describe()
        name = quote(name or described.name, _NAME_LENGTH)
        self.adapter = adapter
        kinds = [type(each) for each in (adapter, *getattr(adapter, "inner", ()))]
        self.packages = [
            each.__module__.partition(".")[0] for kind in kinds for each in kind.__mro__
        ]
        self.name = f"invoke_agent {name}"
        self.attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": "a2a",
            "gen_ai.agent.name": name,
            "gen_ai.agent.version": described.version,
        }


class ServedRun(ObservedRun):
    """The answer to one message, by an agent of this process.

    Only operators see the agents that this one has called: their names and tasks would let callers
    attack them.
    """

    def __init__(
        self,
        telemetry: ProcessTelemetry,
        delegates: RunDelegates,
        agent: ServedAgent,
        calls: TaskCalls,
        task: Task | None,
    ) -> None:
        self._telemetry = telemetry
        self._delegates = delegates
        self._agent = agent
        self._calls = calls
        self._span: OpenSpan | None = None
        traces = telemetry.traces()
        is_traced = traces is not None and _are_used(traces)
        telemetry.is_tracing |= is_traced
        self._traceparent = telemetry.traceparent() if is_traced else ""
        self._told = ""
        self._reported: dict[str, JSON] = {}
        stored = struct_to_dict(task.metadata) if task and task.HasField("metadata") else {}
        self._before = str(stored.get(TRACEPARENT, ""))
        self._task_id = calls.request.task_id
        self._shows_agents = calls.request.caller.is_operator
        self._earlier = Earlier()
        if BILL in stored:
            bill = telemetry.bill(self._task_id) or stored[BILL]
            self._earlier = earlier_of(bill, agent.packages[0])
            known = delegates.of(calls)
            if not known.values():  # otherwise the run has waited in this process
                for key, delegate in self._earlier.delegates.items():
                    known.add(key, delegate, is_new=True)
        self.is_active = is_traced or delegates.get(calls) is not None

    def __enter__(self) -> None:
        traces = self._telemetry.traces()
        if traces is None:
            return
        request = self._calls.request
        attributes = {
            **self._agent.attributes,
            "gen_ai.conversation.id": request.context_id,
            "a2a.task_id": request.task_id,
        }
        self._span = traces.start_run(self._agent.name, attributes, self._before)
        if self._span is not None:
            self._span.__enter__()
            self._traceparent = self._span.traceparent

    def __exit__(self, *error: object) -> None:
        if self._span is None:
            return
        self._span.__exit__(*error)
        self._span.end(error[1] if isinstance(error[1], BaseException) else None)

    def note(self, values: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Record the usage of the agent's own models, and hide the agents in a bill."""
        self._reported |= {name: values[name] for name in _REPORTED if name in values}
        if BILL not in values or self._shows_agents:
            return values
        self.is_active = True
        return {**values, BILL: without_agents(values[BILL])}

    def metadata(self) -> Mapping[str, JSON]:
        """Return the trace and, if the agent has delegates, the bill."""
        metadata: dict[str, JSON] = {}
        if self._traceparent != self._told:
            metadata[TRACEPARENT] = self._told = self._traceparent
        known = self._delegates.get(self._calls)
        if known is not None and (delegates := known.values()):
            own = account_of(self._reported)
            if own.total.usage is None and own.total.usd is None:
                own = self._earlier.own
            metadata |= bill_of(own, self._reported, delegates, self._agent.packages)
            if not self._shows_agents:
                self._telemetry.keep_bill(self._task_id, metadata[BILL])
        elif BILL in self._reported:
            metadata[BILL] = self._reported[BILL]
        if BILL in metadata and not self._shows_agents:
            metadata[BILL] = without_agents(metadata[BILL])
        if self._span is not None:
            total = account_of({**self._reported, **metadata}).total
            self._span.count(total.usage)
        return metadata


class CalledAgent(ObservedAgent):
    """A remote agent."""

    def __init__(
        self,
        telemetry: ProcessTelemetry,
        delegates: RunDelegates,
        url: str,
        binding: str,
        card: AgentCard | None,
    ) -> None:
        self._telemetry = telemetry
        self._delegates = delegates
        self.name = quote(card.name, _NAME_LENGTH) if card is not None else ""
        self._attributes = _address(url)
        if card is not None:
            self._attributes |= {
                "gen_ai.provider.name": "a2a",
                "gen_ai.agent.name": self.name,
                "gen_ai.agent.version": quote(card.version, _NAME_LENGTH),
            }
        if system := _RPC.get(binding):
            self._attributes["rpc.system.name"] = system

    def call(self, operation: str, context_id: str = "", task_id: str = "") -> ObservedCall:
        """Begin a call."""
        run = CURRENT_CALLS.get()
        traces = self._telemetry.traces()
        span: OpenSpan | None = None
        is_invoking = operation in _INVOKES
        if traces is not None and traces.tracer is not None:
            attributes = {**self._attributes, "rpc.method": operation}
            if is_invoking:
                attributes["gen_ai.operation.name"] = "invoke_agent"
            attributes |= _ids(context_id, task_id)
            name = f"invoke_agent {self.name}" if is_invoking else operation
            span = traces.start_call(name, attributes)
        if span is None and run is None:
            return ObservedCall()
        return RemoteCall(self.name, self._delegates, run, span, is_invoking=is_invoking)


class RemoteCall(ObservedCall):
    """A call to a remote agent, in a trace or in an agent's run."""

    def __init__(
        self,
        agent: str,
        delegates: RunDelegates,
        run: TaskCalls | None,
        span: OpenSpan | None,
        *,
        is_invoking: bool,
    ) -> None:
        self._agent = agent
        self._delegates = delegates
        self._run = run
        self._span = span
        self._is_invoking = is_invoking
        self._has_ended = False

    def __enter__(self) -> None:
        if self._span is not None:
            self._span.__enter__()

    def __exit__(self, *error: object) -> None:
        if self._span is not None:
            self._span.__exit__(*error)

    def note(self, result: object) -> None:
        """Note the reply, or the task that another operation returned."""
        if isinstance(result, Task):
            state = _state(result.status.state)
            metadata = struct_to_dict(result.metadata)
            self._note(result.context_id, result.id, state, metadata, ())
        elif (counted_by := getattr(result, "counted_by", None)) is not None:
            reply: AgentReply = result  # type: ignore[assignment]
            self._note(reply.context_id, reply.task_id, reply.state, reply.metadata, counted_by)

    def _note(
        self,
        context_id: str,
        task_id: str,
        state: str,
        metadata: Mapping[str, Any],
        counted_by: Collection[str],
    ) -> None:
        delegate = delegate_of(self._agent, task_id, state, metadata, counted_by)
        if self._run is not None:
            key = (self._agent, task_id) if task_id else object()
            self._delegates.of(self._run).add(key, delegate, is_new=self._is_invoking)
            if (observed := self._run.observed) is not None:  # otherwise the run has ended
                observed.is_active = True
        if self._span is not None and not self._has_ended:
            self._span.describe(_ids(context_id, task_id) | {"a2a.task_state": state})
            self._span.count(delegate.account.total.usage)
            self._span.link(str(metadata.get(TRACEPARENT, "")))

    def end(self, error: BaseException | None = None) -> None:
        """End the call."""
        if self._span is not None and not self._has_ended:
            self._has_ended = True
            self._span.end(error)


def _are_used(traces: Traces) -> bool:
    """Return whether the process makes spans, or works in a trace."""
    makes_spans = traces.provider() is not traces.ignored and traces.tracer is not None
    return makes_spans or traces.current().get_span_context().is_valid


def _state(state: TaskState) -> ReplyState:
    name = TaskState.Name(state).removeprefix("TASK_STATE_").lower().replace("_", "-")
    return "unknown" if name == "unspecified" else name  # type: ignore[return-value]


def _ids(context_id: str, task_id: str) -> dict[str, str]:
    found = {
        "gen_ai.conversation.id": clipped(context_id),
        "a2a.context_id": clipped(context_id),
        "a2a.task_id": clipped(task_id),
    }
    return {name: value for name, value in found.items() if value}


def _address(url: str) -> dict[str, str | int]:
    """Return the attributes for an address, which a card may have named."""
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return {}
    found = {"server.address": host and clipped(host), "server.port": port}
    return {name: value for name, value in found.items() if value}
