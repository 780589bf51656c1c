"""`serve --reload`: restarts the command when a source file changes."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from a2a_adapters.cli.terminal import note
from a2a_adapters.contract.errors import MissingExtraError

if TYPE_CHECKING:
    from watchfiles import Change

_SUFFIXES = (".py", ".toml", ".yaml", ".yml", ".json", ".env")


def restart_on_change() -> None:
    """Run this command without `--reload`, and restart it when a file of this folder changes.

    Raises:
        MissingExtraError: watchfiles is not installed.
    """
    try:
        from watchfiles import DefaultFilter, run_process  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("--reload", "reload") from error

    class Sources(DefaultFilter):
        """Watches source and configuration files, but not the files that an agent writes."""

        def __call__(self, change: Change, path: str) -> bool:
            return path.endswith(_SUFFIXES) and super().__call__(change, path)

    logging.getLogger("watchfiles").setLevel(logging.ERROR)  # it warns about Ctrl-C
    arguments = [each for each in sys.argv[1:] if each != "--reload"]
    command = shlex.join([sys.executable, "-m", "a2a_adapters", *arguments])
    run_process(
        Path.cwd(),
        target=command,
        target_type="command",
        watch_filter=Sources(),
        callback=_show_changes,
    )


def is_restart() -> bool:
    """Return whether this process has been restarted because a file changed.

    See https://watchfiles.helpmanual.io/api/run_process/
    """
    return os.environ.get("WATCHFILES_CHANGES", "[]") != "[]"


def _show_changes(changes: set[tuple[Change, str]]) -> None:
    here = Path.cwd()
    files = sorted({os.path.relpath(path, here) for _, path in changes})
    note(f"restarting: {', '.join(files)} changed")
