"""Serves applications over TLS, usually with a certificate that nobody trusts."""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import trustme
import uvicorn


def tls_contexts(host):
    """Return the contexts of a server with this name, and of clients that trust it."""
    authority = trustme.CA()
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(theirs)
    ours = ssl.create_default_context()
    authority.configure_trust(ours)
    return theirs, ours


@asynccontextmanager
async def running_with_tls(app, authority=None):
    """Run an application; yield its https URL.

    With an authority, which issues its certificate, it admits only clients with one of it (mTLS).
    """
    with TemporaryDirectory() as folder:
        certificate, key = Path(folder, "certificate.pem"), Path(folder, "key.pem")
        issued = (authority or trustme.CA()).issue_cert("127.0.0.1")
        issued.cert_chain_pems[0].write_to_path(certificate)
        issued.private_key_pem.write_to_path(key)
        files = {"ssl_certfile": certificate, "ssl_keyfile": key}
        if authority:
            clients = Path(folder, "clients.pem")
            authority.cert_pem.write_to_path(clients)
            files |= {"ssl_ca_certs": clients, "ssl_cert_reqs": ssl.CERT_REQUIRED}
        quiet = {"log_config": None, "lifespan": "on", "ws": "none"}
        config = uvicorn.Config(app, "127.0.0.1", 0, **quiet, **files)
        server = uvicorn.Server(config)
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup()
        try:
            [listening] = server.servers
            yield f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        finally:
            await server.shutdown()
