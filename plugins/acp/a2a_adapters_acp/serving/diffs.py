"""Patches for the files that an agent changes."""

from __future__ import annotations

import difflib
import re
from itertools import takewhile
from typing import TYPE_CHECKING

from a2a_adapters_acp.serving.paths import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from acp.schema import FileEditToolCallContent

_MOST_CHARACTERS = 256 * 1024
_MOST_LINES = 1_000
_CONTEXT = 3
_FIRST_LINES = re.compile(r"(?<=[-+])\d+")


def patch_of(diff: FileEditToolCallContent, folder: Path) -> str:
    """Return a change as a unified diff; "" if nothing changes.

    A comparison takes cubic time at worst. If texts differ in many lines, everything between the
    first and the last difference is shown as replaced; very large texts are not shown at all.

    Args:
        diff: The change of a file or of a part of it.
        folder: The working folder, resolved.
    """
    before, after = diff.old_text or "", diff.new_text
    if before == after:
        return ""
    name = name_of(diff.path, folder)
    old = "/dev/null" if diff.old_text is None else f"a/{name}"
    head = f"--- {old}\n+++ b/{name}\n"
    if len(before) + len(after) > _MOST_CHARACTERS:
        return f"{head}(too large to show: {len(before)} characters become {len(after)})\n"
    removed, added = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return head + "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in _hunks(removed, added)
    )


def _hunks(removed: Sequence[str], added: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a diff; common lines at the start and the end are not compared."""
    start = max(_common(removed, added) - _CONTEXT, 0)
    removed, added = removed[start:], added[start:]
    end = max(_common(removed[:_CONTEXT:-1], added[:_CONTEXT:-1]) - _CONTEXT, 0)
    removed, added = removed[: len(removed) - end], added[: len(added) - end]
    if len(removed) + len(added) > _MOST_LINES:
        yield f"@@ -{start + 1},{len(removed)} +{start + 1},{len(added)} @@\n"
        yield from (f"-{line}" for line in removed)
        yield from (f"+{line}" for line in added)
        return
    for line in list(difflib.unified_diff(removed, added))[2:]:
        is_head = line.startswith("@@") and start
        yield _FIRST_LINES.sub(lambda found: str(int(found[0]) + start), line) if is_head else line


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of common lines at the start of two texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
