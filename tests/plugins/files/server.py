"""Serves an agent that copies files, on a folder: `python server.py FOLDER`."""

from __future__ import annotations

import sys

from a2a_adapters_files import FileStore

from a2a_adapters import AgentRequest, Output, ServerOptions, serve

store = FileStore(sys.argv[1], secret="0123456789abcdef" * 2)


async def copies(request: AgentRequest):
    """Send back a file."""
    [file] = request.parts
    yield Output([await store.add(store.read(file), filename=file.filename)])


if __name__ == "__main__":
    serve(copies, port=0, options=ServerOptions(files=store))
