"""An agent, and runners of commands."""

from __future__ import annotations

from tests.support.command_line import run, run_json, server, url

__all__ = ["run", "run_json", "server", "url"]
