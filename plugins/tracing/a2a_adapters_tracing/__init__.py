"""Traces requests, runs and calls, and adds up what agents and the agents they call have used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import hookimpl
from a2a_adapters_tracing.spending import BILL
from a2a_adapters_tracing.telemetry import TRACEPARENT, ProcessTelemetry

if TYPE_CHECKING:
    from a2a_adapters.contract.telemetry import Telemetry

__all__ = ["BILL", "TRACEPARENT"]


@hookimpl(trylast=True)
def a2a_telemetry() -> Telemetry:
    """Return the telemetry of this process."""
    return ProcessTelemetry()
