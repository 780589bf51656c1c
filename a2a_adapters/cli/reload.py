"""`serve --reload`: the same command again and again."""

from __future__ import annotations

import logging
import shlex
import sys
from pathlib import Path

from a2a_adapters.contract.errors import MissingExtraError


def restart_on_change() -> None:
    """Run this command without `--reload`, again after each change to a file of this folder.

    Raises:
        MissingExtraError: watchfiles is not installed.
    """
    try:
        from watchfiles import Change, DefaultFilter, run_process  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("--reload", "reload") from error

    class Sources(DefaultFilter):
        """What an agent is written in; not what it writes."""

        def __call__(self, change: Change, path: str) -> bool:
            suffixes = (".py", ".toml", ".yaml", ".yml", ".json", ".env")
            return path.endswith(suffixes) and super().__call__(change, path)

    logging.getLogger("watchfiles").setLevel(logging.ERROR)  # it warns of Ctrl-C
    arguments = [each for each in sys.argv[1:] if each != "--reload"]
    command = shlex.join([sys.executable, "-m", "a2a_adapters", *arguments])
    run_process(Path.cwd(), target=command, target_type="command", watch_filter=Sources())
