"""Runs the relay until interrupted."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

import uvicorn

from a2a_adapters.contract.limits import Limits
from a2a_adapters.net.listening import listen
from a2a_adapters.observability.logs import log_process
from a2a_adapters.serving.http import http_protocol
from a2a_adapters_console.pages import CONSOLE_PATH

if TYPE_CHECKING:
    from starlette.applications import Starlette

logger = logging.getLogger("uvicorn.error")

_CLOSING_SECONDS = 1


def run(app: Starlette, host: str, port: int) -> None:
    """Serve until interrupted.

    Raises:
        ListenError: The port is taken, or the host is not this machine's.
    """
    log_process("text")
    sockets = listen(host, port)
    config = uvicorn.Config(
        app,
        http=http_protocol(Limits()),
        ws="none",
        log_config=None,
        access_log=False,
        # Streams of tasks have no end of their own.
        timeout_graceful_shutdown=_CLOSING_SECONDS,
    )
    at, real_port = sockets[0].getsockname()[:2]
    logger.info(
        "console at http://%s:%s%s", f"[{at}]" if ":" in at else at, real_port, CONSOLE_PATH
    )
    with suppress(KeyboardInterrupt):  # uvicorn raises it once more when it has stopped
        uvicorn.Server(config).run(sockets)
