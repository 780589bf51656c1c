"""`litellm[proxy]`: the agent behind LiteLLM's gateway, called by a `RemoteAgent` and by HTTP."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import httpx

from a2a_adapters import BearerAuth, RemoteAgent
from tests.platforms.contract import CARD, Place
from tests.platforms.real.processes import free_port, running, serving

KEY = "sk-only-for-this-run-5f0c2a9e71d84b63a1c7"


def main() -> None:
    """Register the card, and call through the gateway."""
    port = free_port()
    root = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder, serving() as ours:
        card = httpx.get(f"{ours}/{CARD}").json()
        # It rewrites only the first interface, and shows another one to clients of A2A 0.3; and it
        # takes only the version that a card pins.
        del card["supportedInterfaces"], card["protocolVersion"]
        file = Path(folder) / "config.yaml"  # JSON is YAML
        agents = [{"agent_name": "echo", "agent_card_params": card}]
        file.write_text(json.dumps({"agents": agents, "general_settings": {"master_key": KEY}}))
        command = ("litellm", "--config", str(file), "--host", "127.0.0.1", "--port", str(port))
        with running(f"{root}/health/liveliness", *command, LITELLM_LOCAL_MODEL_COST_MAP="True"):
            _call(f"{root}/a2a/echo")


def _call(url: str) -> None:
    with Place(url, {"Authorization": f"Bearer {KEY}"}) as place:
        card = place.card()
        places = [
            card.get("url", ""),
            *(each["url"] for each in card.get("supportedInterfaces", [])),
        ]
        assert url in {each.rstrip("/") for each in places}, card
        with place.stream("streamed") as stream:
            assert stream.rest() == "streamed"
        place.check_calls()
    agent = RemoteAgent(url, auth=BearerAuth(KEY))
    assert agent.send_sync("hello").text == "hello"
    print("ran: calls, a question, a stream and a RemoteAgent through the gateway")


if __name__ == "__main__":
    main()
