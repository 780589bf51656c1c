"""Traces requests, runs and calls, and adds up the usage of agents and of the agents they call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters.contract.telemetry import Telemetry
    from a2a_adapters_tracing.spending import BILL
    from a2a_adapters_tracing.telemetry import TRACEPARENT

__all__ = ["BILL", "TRACEPARENT"]

__getattr__ = lazy_names(__name__, {"BILL": "spending", "TRACEPARENT": "telemetry"})


@hookimpl(trylast=True)
def a2a_telemetry() -> Telemetry:
    """Return the telemetry of this process."""
    from a2a_adapters_tracing.telemetry import ProcessTelemetry  # noqa: PLC0415 - a slow import

    return ProcessTelemetry()
