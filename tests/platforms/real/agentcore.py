"""`bedrock-agentcore`: its own A2A server is the reference for `serve --platform agentcore`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from bedrock_agentcore.runtime.a2a import build_a2a_app, build_runtime_url
from bedrock_agentcore.runtime.models import SESSION_HEADER, PingStatus

from a2a_adapters import as_executor
from tests.platforms.agent import answer
from tests.platforms.contract import V1, Place, message, text_of
from tests.platforms.real.processes import free_port, running, serving

ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/agent-abc123"
SESSION = "3f2c8a54-2f11-4b8e-9d53-6c1f0f7f4d2a"


def reference() -> Any:
    """Return the package's server with our executor."""
    return build_a2a_app(as_executor(answer))


def main() -> None:
    """Compare both servers, as the platform's front calls them."""
    url = build_runtime_url(ARN)
    headers = {SESSION_HEADER: SESSION}
    port = free_port()
    served = ("python", "-m", "tests.platforms.real.agentcore", str(port))
    with running(f"http://127.0.0.1:{port}/ping", *served, AGENTCORE_RUNTIME_URL=url):
        theirs = httpx.get(f"http://127.0.0.1:{port}/ping").json()
        with Place(f"http://127.0.0.1:{port}", headers) as place:
            their_card = place.card()
            assert text_of(place.rpc("SendMessage", message("hello"))["task"]) == "hello"
    with serving("--platform", "agentcore", AGENTCORE_RUNTIME_URL=url) as ours:
        ping = httpx.get(f"{ours}/ping").json()
        assert theirs.items() <= ping.items(), (theirs, ping)
        with Place(ours, headers) as place:
            assert _places(their_card) <= _places(place.card())
            place.check_calls()
            task = place.rpc("SendMessage", message("hello"))["task"]
            assert task["contextId"] == SESSION
            _check_busy(place)
    print("ran: its A2A server and ours, with the same answer to /ping and address in the card")


def _places(card: dict[str, Any]) -> set[tuple[str, str]]:
    """Return where a card says to call; a slash at the end does not matter to the front."""
    found = card["supportedInterfaces"]
    return {(each["protocolBinding"], each["url"].rstrip("/")) for each in found}


def _check_busy(place: Place) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder) / "go"
        os.mkfifo(pipe)
        body = message(f"wait {pipe}") | {"configuration": {"returnImmediately": True}}
        task = place.rpc("SendMessage", body)["task"]
        busy = place.http.get(f"{place.url}/ping", headers=V1).json()
        assert PingStatus(busy["status"]) is PingStatus.HEALTHY_BUSY, busy
        pipe.write_text("")
        while place.rpc("GetTask", {"id": task["id"]})["status"]["state"] != "TASK_STATE_COMPLETED":
            pass
        idle = place.http.get(f"{place.url}/ping").json()
        assert PingStatus(idle["status"]) is PingStatus.HEALTHY, idle


if __name__ == "__main__":
    import sys

    if len(sys.argv) > 1:
        uvicorn.run(reference(), port=int(sys.argv[1]), log_level="warning")
    else:
        main()
