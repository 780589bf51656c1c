"""Conformance and security checks of A2A agents, and reports of their findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl, lazy_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters_check.formats import FORMATS, render
    from a2a_adapters_check.report import Finding, Report, Severity
    from a2a_adapters_check.runner import check

__all__ = ["FORMATS", "Finding", "Report", "Severity", "check", "render"]

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("FORMATS", "render"), "formats"),
        **dict.fromkeys(("Finding", "Report", "Severity"), "report"),
        "check": "runner",
    },
)


@hookimpl
def a2a_commands() -> Mapping[str, str]:
    """Return `check` and its former name."""
    module = "a2a_adapters_check.command"
    return {"check": f"{module}:check", "conformance": f"{module}:conformance"}
