"""Agents in a process that tests kill: `python -m tests.plugins.console.served STORAGE PORT`."""

from __future__ import annotations

import sys

from a2a_adapters import ServerOptions, serve
from tests.plugins.console.agents import endless

if __name__ == "__main__":
    storage, port = sys.argv[1:]
    serve(endless, port=int(port), options=ServerOptions(storage=storage, console=True))
