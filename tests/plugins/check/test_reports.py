"""Reports in every format, parsed by the tools of that format."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from a2a_adapters_check import FORMATS, Finding, Report, Severity, render
from a2a_adapters_check.runner import CHECKS
from junitparser import JUnitXml
from sarif_pydantic import Sarif

REQUIRED = Finding(
    id="card.required",
    severity=Severity.ERROR,
    message="description is required, and missing or empty",
    clause="A2A 1.0.1, 4.4.1 and 5.7",
    remedy="Fill the field.",
    where="/description",
)
ADVICE = Finding(
    id="caching.etag",
    severity=Severity.NOTE,
    message='the card of "<A & B>" has no ETag',
    clause="A2A 1.0.1, 8.6.1",
    remedy="Send an ETag.",
)
SENDING = [each.id for each in CHECKS if each.sends]
REPORT = Report(
    url="http://127.0.0.1:8000",
    agent="Poet",
    findings=(REQUIRED, ADVICE),
    passed=tuple(
        each.id for each in CHECKS if not each.sends and each.id not in {REQUIRED.id, ADVICE.id}
    ),
    skipped=dict.fromkeys(SENDING, "they send messages"),
    figures={"latency": 41.2},
    seconds=0.9,
)


def test_for_people():
    output = render(REPORT).splitlines()
    assert output[0] == "Poet at http://127.0.0.1:8000"
    assert output[1].startswith("1 error, 0 warnings, 1 note; ")
    assert output[1].endswith(
        f" checks passed, {len(SENDING)} not tested, in 0.9 s; request latency 41 ms"
    )
    assert output[3:6] == [
        "error    card.required: description is required, and missing or empty",
        "         /description  [A2A 1.0.1, 4.4.1 and 5.7]",
        "         Fill the field.",
    ]
    assert output[-1] == (
        f"{len(SENDING)} checks were skipped: they send messages (enable with --send)."
    )


@pytest.mark.parametrize(
    ("holds_text", "line"),
    [
        (True, "text is held back until the agent's guardrails have accepted it"),
        (
            False,
            "text is streamed before the agent's guardrails have checked it, and corrected later",
        ),
        (None, ""),
    ],
)
def test_the_report_says_whether_text_waits_for_guardrails(holds_text, line):
    report = replace(REPORT, holds_text=holds_text)
    assert render(report).splitlines()[2] == line
    assert json.loads(render(report, "json"))["holds_text"] is holds_text


def test_as_json():
    output = json.loads(render(REPORT, "json"))
    assert output["findings"][0] == {
        "id": "card.required",
        "severity": "error",
        "message": "description is required, and missing or empty",
        "clause": "A2A 1.0.1, 4.4.1 and 5.7",
        "remedy": "Fill the field.",
        "where": "/description",
    }
    assert output["figures"] == {"latency": 41.2}
    assert output["is_sound"] is False


def test_as_sarif():
    [run] = Sarif.model_validate_json(render(REPORT, "sarif")).runs
    assert [rule.id for rule in run.tool.driver.rules] == [each.id for each in CHECKS]
    first, second = run.results
    assert (first.rule_id, first.level, second.level) == ("card.required", "error", "note")
    assert first.message.text.startswith("description is required")
    [place] = first.locations
    assert place.physical_location.artifact_location.uri == ".well-known/agent-card.json"
    assert run.tool.driver.rules[first.rule_index].id == first.rule_id


def test_as_junit():
    suites = JUnitXml.fromstring(render(REPORT, "junit").encode())
    cases = [case for suite in suites for case in suite]
    assert len(cases) == len(CHECKS) == suites.tests
    failed = [case for case in cases if case.is_failure]
    assert [case.name.partition(":")[0] for case in failed] == ["card.required"]
    assert [case.name.partition(":")[0] for case in cases if case.is_skipped] == SENDING


def test_warnings_do_not_fail_junit():
    report = replace(REPORT, findings=(replace(REQUIRED, severity=Severity.WARNING),))
    suites = JUnitXml.fromstring(render(report, "junit").encode())
    [case] = [case for suite in suites for case in suite if case.name.startswith(REQUIRED.id)]
    assert suites.failures == 0
    assert not case.is_failure
    assert "description is required" in case.system_out


def test_a_report_of_an_agent_of_0_3_begins_with_the_checks_that_do_not_apply():
    report = replace(REPORT, skipped={"card.signed": "no HTTP interface supports A2A 1.0"})
    assert render(report).splitlines()[3].endswith("supports A2A 1.0: a check does not apply.")


@pytest.mark.parametrize(
    ("severity", "number"), [(Severity.ERROR, 1), (Severity.WARNING, 1), (Severity.NOTE, 2)]
)
def test_findings_by_severity(severity, number):
    assert len(REPORT.at_least(severity)) == number


def test_a_report_of_an_agent_without_a_card():
    report = Report(url="http://127.0.0.1:8000", skipped={each.id: "none" for each in CHECKS})
    for form in FORMATS:
        assert render(report, form)
