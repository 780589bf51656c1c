"""An agent, and how commands are run."""

from __future__ import annotations

from tests.support.command_line import run, run_json, server, url

__all__ = ["run", "run_json", "server", "url"]
