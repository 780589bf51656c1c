"""Patches of the files that an agent changes."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from a2a_adapters_acp.serving.paths import name_of

if TYPE_CHECKING:
    from pathlib import Path

    from acp.schema import FileEditToolCallContent

_MOST_CHARACTERS = 256 * 1024
_MOST_LINES = 4_000


def patch_of(diff: FileEditToolCallContent, folder: Path) -> str:
    """Return a change as a unified diff; "" if nothing changes.

    Comparing takes quadratic time, so that large texts are shown as replaced as a whole, and very
    large ones not at all.

    Args:
        diff: The change, of a whole file or of a piece of it.
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
    if len(removed) + len(added) > _MOST_LINES:
        lines = [f"@@ -1,{len(removed)} +1,{len(added)} @@\n"]
        lines += [f"-{line}" for line in removed] + [f"+{line}" for line in added]
    else:
        lines = list(difflib.unified_diff(removed, added))[2:]
    return head + "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
