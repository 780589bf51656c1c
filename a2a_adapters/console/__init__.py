"""The console: a web page that talks to the agents of a server, made of files without a build."""

from __future__ import annotations

from a2a_adapters.console.pages import ConsoleAgent, console_routes

__all__ = ["ConsoleAgent", "console_routes"]
