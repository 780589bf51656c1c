"""The console: a web page that talks to the agents of a server, made of files without a build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import lazy_names

if TYPE_CHECKING:
    from a2a_adapters_console.pages import ConsoleAgent, console_routes

__all__ = ["ConsoleAgent", "console_routes"]

__getattr__ = lazy_names(__name__, dict.fromkeys(("ConsoleAgent", "console_routes"), "pages"))
