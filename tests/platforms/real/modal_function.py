"""`modal`: the app that a function of Modal returns, started as Modal's containers do."""

from __future__ import annotations

import modal
from starlette.applications import Starlette
from starlette.testclient import TestClient

from a2a_adapters import ServerOptions, build_app
from tests.platforms.agent import answer
from tests.platforms.contract import V1, call, message, text_of

ADDRESS = "https://ann--agent-serve.modal.run"
function = modal.App("agent")


@function.function(serialized=True)
@modal.concurrent(max_inputs=100)
@modal.asgi_app()
def serve() -> Starlette:
    """Return the agent's app."""
    return build_app(answer, options=ServerOptions(allowed_hosts=["*"]))


def main() -> None:
    """Call the app at the address that Modal gives it."""
    with TestClient(serve.local(), base_url=ADDRESS) as http:
        assert http.get("/.well-known/agent-card.json").json()["url"] == f"{ADDRESS}/"
        sent = http.post("/", headers=V1, json=call("SendMessage", message("hello")))
        assert text_of(sent.json()["result"]["task"]) == "hello", sent.text
    print("ran: a function with asgi_app, called on this machine")


if __name__ == "__main__":
    main()
