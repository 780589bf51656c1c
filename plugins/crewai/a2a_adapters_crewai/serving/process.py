"""Prevents the side effects of importing crewai.

On import, crewai replaces the handlers of SIGINT, SIGTERM and SIGHUP, starts a thread that sends
telemetry to telemetry.crewai.com, and creates folders under HOME.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from a2a_adapters import ConfigurationError

_TRACING = "CREWAI_TRACING_ENABLED"
_SWITCHES = {
    "CREWAI_DISABLE_TELEMETRY": "true",  # no reports, no thread, no signal handlers
    _TRACING: "false",  # no question about traces at the first run
}
_FOLDER = "~/.local/share/crewai"

logger = logging.getLogger(__name__)


def quiet() -> None:
    """Keep crewai's telemetry, tracing and signal handlers out of this process.

    Sets crewai's environment variables, except those that are set already. Call it before
    anything else imports crewai; importing a name of this package does the same.

    Raises:
        ConfigurationError: crewai was imported already, or could not start because HOME is not
            writable.
    """
    if "crewai" in sys.modules and any(name not in os.environ for name in _SWITCHES):
        raise ConfigurationError("quiet() must be called before crewai is imported")
    switch_off()
    if problem := _problem_with_home():
        raise ConfigurationError(problem)


def prepare() -> None:
    """Do the same as `quiet` for a process that may or may not use crewai."""
    switch_off()
    if find_spec("crewai") and (problem := _problem_with_home()):
        logger.warning(problem)


def tracing_of(target: Any) -> bool | None:
    """Return the `tracing` of a crew or flow; False if it is not set.

    Otherwise crewai asks on the terminal at the first run, and waits five seconds for an answer.
    """
    is_unset = target.tracing is None and _TRACING not in os.environ
    return False if is_unset else cast("bool | None", target.tracing)


def switch_off() -> None:
    """Set crewai's environment variables, except those that are set already."""
    for name, value in _SWITCHES.items():
        os.environ.setdefault(name, value)


def _problem_with_home() -> str:
    """Return the reason why crewai cannot store its files under HOME, or ""."""
    if sys.platform in {"win32", "darwin"}:
        return ""
    folder = Path(_FOLDER).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return (
            f"crewai stores files in {folder}, which cannot be written to ({error.strerror}); "
            "set HOME to a folder where it can"
        )
