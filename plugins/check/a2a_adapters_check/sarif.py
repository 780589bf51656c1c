"""Reports as SARIF 2.1.0, which GitHub shows as code scanning alerts."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from a2a_adapters.protocol.card import WELL_KNOWN_PATHS
from a2a_adapters_check.table import CHECKS

if TYPE_CHECKING:
    from a2a_adapters_check.model import Check
    from a2a_adapters_check.report import Finding, Report

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_FILE = WELL_KNOWN_PATHS[0].removeprefix("/")
"""Alerts belong to a file; this is the one that they are about, in whichever folder."""

_RANKS = {each.id: rank for rank, each in enumerate(CHECKS)}


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
