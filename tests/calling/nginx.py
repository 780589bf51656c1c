"""A real nginx in front of a test server."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import asynccontextmanager

from tests.support.programs import needed

SETTINGS = """
daemon off;
pid {folder}/pid;
error_log stderr error;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port}{http2};
        location / {{
            {kind}_pass {scheme}://127.0.0.1:{upstream};
            {kind}_read_timeout {silence};
        }}
    }}
}}
"""


class Proxy:
    """A running nginx.

    Attributes:
        port: Where it listens.
    """

    def __init__(self, process, port):
        self._process = process
        self.port = port

    async def cut(self):
        """Wait until it has cut the stream of an agent that was silent for too long."""
        while b"upstream timed out" not in (line := await self._process.stderr.readline()):
            assert line, "nginx has ended"


@asynccontextmanager
async def nginx(folder, upstream, silence, *, is_grpc):
    """Yield an nginx in front of a port that cuts streams after a period of silence."""
    binary = needed("nginx-light", "nginx")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        settings = folder / "nginx.conf"
        settings.write_text(
            SETTINGS.format(
                folder=folder,
                port=port,
                upstream=upstream,
                silence=silence,
                http2=" http2" if is_grpc else "",
                kind="grpc" if is_grpc else "proxy",
                scheme="grpc" if is_grpc else "http",
            )
        )
        process = await asyncio.create_subprocess_exec(
            *(binary, "-c", settings, "-p", folder, "-e", "stderr"),
            stderr=asyncio.subprocess.PIPE,
            pass_fds=[listening.fileno()],
            env={**os.environ, "NGINX": f"{listening.fileno()};"},  # the socket is inherited
        )
    try:
        yield Proxy(process, port)
    finally:
        process.terminate()
        await process.communicate()
