"""Rendering of reports as text, JSON, SARIF and JUnit."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from a2a_adapters.protocol.card import WELL_KNOWN_PATHS
from a2a_adapters_check.report import NEVER_SENT, ONLY_OLD, UNAUTHENTICATED, Severity
from a2a_adapters_check.runner import CHECKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_adapters_check.model import Check
    from a2a_adapters_check.report import Finding, Report

__all__ = ["FORMATS", "render"]

_INDENT = " " * 9

_HELD = "text is held back until the agent's guardrails have accepted it"
_UNCHECKED = "text is streamed before the agent's guardrails have checked it, and corrected later"

_REMEDIES = {
    NEVER_SENT: " (enable with --send)",
    UNAUTHENTICATED: " (pass them with --bearer or --header)",
}

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_FILE = WELL_KNOWN_PATHS[0].removeprefix("/")
"""SARIF needs a file for each alert: that of the card."""

_RANKS = {each.id: rank for rank, each in enumerate(CHECKS)}


def render(report: Report, form: str = "text") -> str:
    """Return a report as `text`, `json`, `sarif` (2.1.0) or `junit`.

    Raises:
        KeyError: The format is unknown.
    """
    return FORMATS[form](report)


def to_text(report: Report) -> str:
    """Return a report as plain text."""
    reasons = Counter(report.skipped.values())
    lines = [_headline(report)]
    if report.holds_text is not None:
        lines.append(_HELD if report.holds_text else _UNCHECKED)
    if old := reasons.pop(ONLY_OLD, 0):
        applies = f"{old} of {len(CHECKS)} checks do" if old > 1 else "a check does"
        lines += ["", f"{ONLY_OLD}: {applies} not apply."]
    for finding in report.findings:
        lines += ["", *_finding(finding)]
    for reason, count in reasons.items():
        remedy = _REMEDIES.get(reason, "")
        lines += [
            "",
            f"{count} {'check was' if count == 1 else 'checks were'} skipped: {reason}{remedy}.",
        ]
    return "\n".join(lines)


def to_json(report: Report) -> str:
    """Return a report as JSON, keyed by the attributes of `Report`."""
    found = {**asdict(report), "is_sound": report.is_sound}
    return json.dumps(found, indent=2, ensure_ascii=False)


def _headline(report: Report) -> str:
    counts = ", ".join(_count(report, each) for each in reversed(Severity))
    passed = "1 check" if len(report.passed) == 1 else f"{len(report.passed)} checks"
    figures = "".join(f"; {_FIGURES[name]} {ms:,.0f} ms" for name, ms in report.figures.items())
    skipped = f", {len(report.skipped)} not tested," if report.skipped else ""
    return (
        f"{report.agent or 'No agent'} at {report.url}\n"
        f"{counts}; {passed} passed{skipped} in {report.seconds:.1f} s{figures}"
    )


_FIGURES = {"latency": "request latency", "first_token": "time to first token"}


def _count(report: Report, severity: Severity) -> str:
    number = sum(each.severity is severity for each in report.findings)
    return f"{number} {severity}{'' if number == 1 else 's'}"


def _finding(finding: Finding) -> list[str]:
    lines = [f"{finding.severity:8} {finding.id}: {finding.message}"]
    where = f"{finding.where}  " if finding.where else ""
    lines.append(f"{_INDENT}{where}[{finding.clause}]")
    return [*lines, f"{_INDENT}{finding.remedy}"]


def to_junit(report: Report) -> str:
    """Return a report as JUnit XML: one test case per check, which fails by errors only."""
    failed = {each.id for each in report.at_least(Severity.ERROR)}
    counts = {
        "tests": str(len(CHECKS)),
        "failures": str(len(failed)),
        "errors": "0",
        "skipped": str(len(report.skipped)),
        "time": f"{report.seconds:.3f}",
    }
    suites = Element("testsuites", counts)
    suite = SubElement(suites, "testsuite", {"name": f"a2a-adapters check {report.url}", **counts})
    for check in CHECKS:
        _case(suite, check, report)
    indent(suites)
    return tostring(suites, encoding="unicode", xml_declaration=True)


def _case(suite: Element, check: Check, report: Report) -> None:
    name = f"{check.id}: {check.title}"
    case = SubElement(suite, "testcase", {"classname": "a2a-adapters.check", "name": name})
    found = [each for each in report.findings if each.id == check.id]
    details = "\n".join(f"{each.severity}: {each.message} {each.where}".rstrip() for each in found)
    if reason := report.skipped.get(check.id):
        SubElement(case, "skipped", {"message": reason})
    elif first := next((each for each in found if each.severity is Severity.ERROR), None):
        kind = str(Severity.ERROR)
        failure = SubElement(case, "failure", {"message": first.message, "type": kind})
        failure.text = f"{details}\n{check.remedy} ({check.clause})"
    elif found:
        SubElement(case, "system-out").text = details


def to_sarif(report: Report) -> str:
    """Return a report as SARIF 2.1.0."""
    driver = {
        "name": "a2a-adapters check",
        "semanticVersion": version("a2a-adapters"),
        "rules": [_rule(each) for each in CHECKS],
    }
    run = {
        "tool": {"driver": driver},
        "results": [_result(each) for each in report.findings],
        "properties": {"agent": report.agent, "url": report.url, "skipped": {**report.skipped}},
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(check: Check) -> dict[str, Any]:
    return {
        "id": check.id,
        "shortDescription": {"text": f"{check.title}."},
        "fullDescription": {"text": f"{check.title} ({check.clause})."},
        "help": {"text": f"{check.remedy} ({check.clause})"},
        "defaultConfiguration": {"level": str(check.severity)},
        "properties": {"tags": [check.id.partition(".")[0], "a2a"]},
    }


def _result(finding: Finding) -> dict[str, Any]:
    known = f"{finding.id}\n{finding.where}\n{finding.message}"
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _FILE},
            "region": {"startLine": 1},
        }
    }
    if finding.where:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.where}]
    return {
        "ruleId": finding.id,
        "ruleIndex": _RANKS[finding.id],
        "level": str(finding.severity),
        "message": {"text": f"{finding.message}. {finding.remedy} ({finding.clause})"},
        "locations": [location],
        "partialFingerprints": {
            "primaryLocationLineHash": hashlib.sha256(known.encode()).hexdigest()[:32]
        },
    }


FORMATS: dict[str, Callable[[Report], str]] = {
    "text": to_text,
    "json": to_json,
    "sarif": to_sarif,
    "junit": to_junit,
}
"""Renderers by format name."""
