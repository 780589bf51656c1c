"""External programs needed by some tests."""

from __future__ import annotations

import os
import shutil
from collections import Counter

import pytest

_LACKING = "not installed: apt-get install "


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
