"""Whether an agent is a good citizen: checks, their findings, and reports of them."""

from __future__ import annotations

from a2a_adapters.checks.render import FORMATS, render
from a2a_adapters.checks.report import Finding, Report, Severity
from a2a_adapters.checks.run import check

__all__ = ["FORMATS", "Finding", "Report", "Severity", "check", "render"]
