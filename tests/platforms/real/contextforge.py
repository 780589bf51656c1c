"""`mcp-contextforge-gateway`: the agent registered at IBM's ContextForge, and called through it."""

from __future__ import annotations

import secrets
import sys
import tempfile
from pathlib import Path

import httpx

from tests.platforms.contract import message
from tests.platforms.real.processes import free_port, running

VARIABLES = {
    "AUTH_REQUIRED": "false",
    "ALLOW_UNAUTHENTICATED_ADMIN": "true",
    "MCPGATEWAY_A2A_ENABLED": "true",
    "MCPGATEWAY_UI_ENABLED": "false",
    "MCPGATEWAY_ADMIN_API_ENABLED": "false",
    "JWT_SECRET_KEY": secrets.token_urlsafe(48),
    "AUTH_ENCRYPTION_SECRET": secrets.token_urlsafe(48),
    "SSRF_ALLOW_LOCALHOST": "true",
    "SSRF_ALLOW_PRIVATE_NETWORKS": "true",
    "CACHE_TYPE": "memory",
    "PLUGINS_ENABLED": "false",
}


def main(ours: str) -> None:
    """Register the agent in both versions of A2A, and send a message through each."""
    port = free_port()
    root = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{Path(folder) / 'gateway.db'}"
        command = ("mcpgateway", "--host", "127.0.0.1", "--port", str(port))
        with (
            running(f"{root}/health", *command, **VARIABLES, DATABASE_URL=database),
            httpx.Client(base_url=root, timeout=60) as http,
        ):
            for version in ("1.0", "0.3.0"):
                _call(http, ours, version)
    print("ran: messages of A2A 1.0 and 0.3 through the gateway")


def _call(http: httpx.Client, ours: str, version: str) -> None:
    name = f"echo-{version.replace('.', '-')}"
    agent = {
        "name": name,
        "endpoint_url": f"{ours}/",
        "agent_type": "jsonrpc",
        "protocol_version": version,
    }
    made = http.post("/a2a", json={"agent": agent, "visibility": "public"})
    assert made.status_code == 201, made.text
    if version == "1.0":
        parameters = {"method": "SendMessage", "params": message("hello")}
    else:
        said = message("hello")["message"] | {"kind": "message", "role": "user"}
        said["parts"] = [{"kind": "text", "text": "hello"}]
        parameters = {"method": "message/send", "params": {"message": said}}
    answer = http.post(f"/a2a/{name}/invoke", json={"parameters": parameters})
    assert answer.status_code == 200, answer.text
    assert '"hello"' in answer.text, answer.text


if __name__ == "__main__":
    main(sys.argv[1])
