"""`google-cloud-aiplatform`: our executor in `A2aAgent`, as Vertex AI Agent Engine runs it."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Any

import cloudpickle
import httpx
import uvicorn
from a2a.types import AgentCapabilities, AgentCard, AgentInterface
from agentplatform.frameworks import A2aAgent
from starlette.applications import Starlette

from a2a_adapters import as_executor
from tests.platforms.agent import answer
from tests.platforms.contract import V1, message, text_of
from tests.platforms.real.processes import free_port, running


def agent() -> Any:
    """Return the agent as the platform starts it: cloned, pickled, and set up elsewhere."""
    place = AgentInterface(
        url="https://later.example", protocol_binding="HTTP+JSON", protocol_version="1.0"
    )
    card = AgentCard(
        name="agent",
        description="Repeats.",
        version="1",
        capabilities=AgentCapabilities(streaming=True),
        supported_interfaces=[place],
    )
    made = A2aAgent(agent_card=card, agent_executor_builder=partial(as_executor, answer))
    return cloudpickle.loads(cloudpickle.dumps(made.clone()))


def main() -> None:
    """Call the agent under the platform's paths."""
    port = free_port()
    root = f"http://127.0.0.1:{port}/a2a"
    served = ("python", "-m", "tests.platforms.real.vertex", str(port))
    with running(f"{root}/v1/card", *served), httpx.Client(timeout=60, headers=V1) as http:
        card = http.get(f"{root}/v1/card").json()
        assert "/reasoningEngines/" in card["supportedInterfaces"][0]["url"]
        send = partial(http.post, f"{root}/message:send")
        assert text_of(send(json=message("hello")).json()["task"]) == "hello"
        asked = send(json=message("ask")).json()["task"]
        assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        reply = message("Ann", taskId=asked["id"], contextId=asked["contextId"])
        assert text_of(send(json=reply).json()["task"]) == "Hello, Ann!"
        with http.stream("POST", f"{root}/message:stream", json=message("streamed")) as stream:
            assert "streamed" in "".join(stream.iter_lines())
    print("ran: calls, a question and a stream in A2aAgent, cloned and pickled")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        os.environ.setdefault("GOOGLE_CLOUD_PROJECT", "project")
        os.environ.setdefault("GOOGLE_CLOUD_LOCATION", "europe-west4")
        made = agent()
        made.set_up()
        uvicorn.run(Starlette(routes=made.rest_routes), port=int(sys.argv[1]), log_level="warning")
    else:
        main()
