"""Reports as text for people, and as JSON, SARIF and JUnit for programs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from a2a_adapters_check.junit import to_junit
from a2a_adapters_check.report import NEVER_SENT, UNAUTHENTICATED, Severity
from a2a_adapters_check.sarif import to_sarif

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_adapters_check.report import Finding, Report

__all__ = ["FORMATS", "render"]

_INDENT = " " * 9
_REMEDIES = {
    NEVER_SENT: " (--send allows it)",
    UNAUTHENTICATED: " (--header sends them)",
}


def render(report: Report, form: str = "text") -> str:
    """Return a report as `text`, `json`, `sarif` (2.1.0) or `junit`.

    Raises:
        KeyError: There is no such format.
    """
    return FORMATS[form](report)


def to_text(report: Report) -> str:
    """Return a report for people."""
    lines = [_headline(report)]
    for finding in report.findings:
        lines += ["", *_finding(finding)]
    for reason, count in Counter(report.skipped.values()).items():
        remedy = _REMEDIES.get(reason, "")
        lines += [
            "",
            f"{count} {'check was' if count == 1 else 'checks were'} left out: {reason}{remedy}.",
        ]
    return "\n".join(lines)


def to_json(report: Report) -> str:
    """Return a report as JSON, with the names of its attributes."""
    found = {**asdict(report), "is_sound": report.is_sound}
    return json.dumps(found, indent=2, ensure_ascii=False)


def _headline(report: Report) -> str:
    counts = ", ".join(_count(report, each) for each in reversed(Severity))
    passed = "1 check" if len(report.passed) == 1 else f"{len(report.passed)} checks"
    figures = "".join(f"; {_FIGURES[name]} {ms:,.0f} ms" for name, ms in report.figures.items())
    return (
        f"{report.agent or 'No agent'} at {report.url}\n"
        f"{counts}; {passed} passed in {report.seconds:.1f} s{figures}"
    )


_FIGURES = {"latency": "a small request takes", "first_token": "the first text came after"}


def _count(report: Report, severity: Severity) -> str:
    number = sum(each.severity is severity for each in report.findings)
    return f"{number} {severity}{'' if number == 1 else 's'}"


def _finding(finding: Finding) -> list[str]:
    lines = [f"{finding.severity:8} {finding.id}: {finding.message}"]
    where = f"{finding.where}  " if finding.where else ""
    lines.append(f"{_INDENT}{where}[{finding.clause}]")
    return [*lines, f"{_INDENT}{finding.remedy}"]


FORMATS: dict[str, Callable[[Report], str]] = {
    "text": to_text,
    "json": to_json,
    "sarif": to_sarif,
    "junit": to_junit,
}
"""What reports can be rendered as."""
