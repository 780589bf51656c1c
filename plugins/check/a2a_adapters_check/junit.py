"""Reports as JUnit's XML, which most CI servers show as tests."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from a2a_adapters_check.report import Severity
from a2a_adapters_check.table import CHECKS

if TYPE_CHECKING:
    from a2a_adapters_check.model import Check
    from a2a_adapters_check.report import Report


def to_junit(report: Report) -> str:
    """Return a report as JUnit's XML: a test case per check; notes let it pass, and are told."""
    failed = {each.id for each in report.at_least(Severity.WARNING)}
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
    told = "\n".join(f"{each.severity}: {each.message} {each.where}".rstrip() for each in found)
    if reason := report.skipped.get(check.id):
        SubElement(case, "skipped", {"message": reason})
    elif any(each.severity is not Severity.NOTE for each in found):
        kind = str(max(found, key=lambda each: each.severity.rank).severity)
        failure = SubElement(case, "failure", {"message": found[0].message, "type": kind})
        failure.text = f"{told}\n{check.remedy} ({check.clause})"
    elif found:
        SubElement(case, "system-out").text = told
