"""Serves a target to this process only."""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from a2a_adapters.cli.targets import load_target
from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.net.addresses import listen
from a2a_adapters.observability.logs import log_process
from a2a_adapters.serving.app import build_app
from a2a_adapters.serving.options import ServerOptions
from a2a_adapters.serving.server import Server

if TYPE_CHECKING:
    from collections.abc import Generator


_LOOK_SECONDS = 0.01


@contextmanager
def served(path: str) -> Generator[str]:
    """Serve `module:attribute` in a thread on a free port and yield its URL.

    Raises:
        ConfigurationError: The target cannot be imported or served.
    """
    options = ServerOptions(storage="memory:")
    target = load_target(path)
    log_process("text")
    server = Server(build_app(target, options=options), "127.0.0.1", 0, options)
    for logger in ("uvicorn.error", "a2a_adapters", *installed_plugins().packages()):
        logging.getLogger(logger).setLevel(logging.WARNING)
    sockets = listen("127.0.0.1", 0)
    host, port = sockets[0].getsockname()[:2]
    # In a thread, the server does not capture Ctrl-C.
    with ThreadPoolExecutor(1) as thread:
        serving = thread.submit(asyncio.run, server.serve(sockets))
        while not (server.started or serving.done()):
            time.sleep(_LOOK_SECONDS)
        if serving.done():
            serving.result()  # raises the server's error
        try:
            yield f"http://{host}:{port}"
        finally:
            server.should_exit = True
