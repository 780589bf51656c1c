"""Programs that some tests need, and a newcomer's machine may lack."""

from __future__ import annotations

import os
import shutil
from collections import Counter

import pytest

_LACKING = "not installed: apt-get install "


def needed(package, *names):
    """Return where a program is; without it, skip the test, or fail it where `CI` is set.

    Args:
        package: Debian's package with the program.
        *names: What the program may be called, by default as the package.
    """
    folders = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin"  # of daemons
    for name in names or (package,):
        if path := shutil.which(name, path=folders):
            return path
    reason = f"{_LACKING}{package}"
    return pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


def lacking(skipped):
    """Yield a line for each program that reports of skipped tests lack."""
    reasons = (report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple))
    counts = Counter(reason.partition(_LACKING)[2] for reason in reasons if _LACKING in reason)
    for package, count in sorted(counts.items()):
        yield f"{count} tests were left out; to include them: apt-get install {package}"
