"""External programs and frameworks that an environment may lack."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from importlib.util import find_spec

import pytest

_LACKING = "not installed: apt-get install "

SEPARATE = {
    "agent_framework": "agent_framework",
    "claude_agent": "claude_agent_sdk",
    "crewai": "crewai",
    "deepagents": "deepagents",
    "google_adk": "google.adk",
    "strands": "strands",
}
"""The frameworks that the main environment lacks, by the names of their plugins and pages, and the
modules of these."""


def needed(package, *names):
    """Return the path of a program; without it, skip the test, or fail if `CI` is set.

    Args:
        package: Debian's package with the program.
        *names: Names of the program. Default: that of the package.
    """
    folders = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin"  # for daemons
    for name in names or (package,):
        if path := shutil.which(name, path=folders):
            return path
    reason = f"{_LACKING}{package}"
    return pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


def lacking(skipped):
    """Yield a line for each missing program in reports of skipped tests."""
    reasons = (report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple))
    counts = Counter(reason.partition(_LACKING)[2] for reason in reasons if _LACKING in reason)
    for package, count in sorted(counts.items()):
        yield f"{count} tests were left out; to include them: apt-get install {package}"


def has(module: str) -> bool:
    """Whether the environment has the module."""
    return find_spec(module) is not None
