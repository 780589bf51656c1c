"""Real agents with the official clients of A2A 1.0 and 0.3 in another process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest
from a2a.types import TaskState

from a2a_adapters.testing import answer_of, connect, send, stream, user_message
from tests.support.processes import serving

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]

HERE = Path(__file__).parent
BINDINGS = ["JSONRPC", "HTTP+JSON", "GRPC"]
QUESTION = "What is the capital of France?"


@pytest.fixture(
    scope="module", params=["chain", "graph", pytest.param("model", marks=pytest.mark.model)]
)
def agent(request):
    """Serve an agent; return its name and URL."""
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    with serving(f"agents:{request.param}", environment, "--grpc-port", "0") as url:
        yield request.param, url


def wish(name):
    return {"chain": "hello", "graph": "Rome", "model": QUESTION}[name]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_client_1_0(agent, binding):
    name, url = agent
    async with connect(url, binding=binding) as client:
        events = await stream(client, user_message(wish(name)))
        chunks = [e.artifact_update for e in events if e.HasField("artifact_update")]
        text = "".join(p.text for chunk in chunks for p in chunk.artifact.parts)
        if name == "graph":
            assert not text
            task = events[-1].status_update
            assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
            assert "flight to Rome" in task.status.message.parts[0].text
            done = await send(client, user_message("yes", task_id=task.task_id))
            assert answer_of(done) == "booked Rome: yes"
        else:
            assert len(chunks) > 3, "it streams token by token"
            assert ("Paris" if name == "model" else "good morning") in text
            assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED


@pytest.mark.parametrize("binding", BINDINGS)
async def test_client_0_3(agent, old_python, binding):
    name, url = agent

    async def call(*arguments):
        command = [HERE / "client_v03.py", url, *arguments, "--binding", binding]
        process = await asyncio.create_subprocess_exec(old_python, *command, stdout=subprocess.PIPE)
        output, _ = await process.communicate()
        assert process.returncode == 0, output
        return [json.loads(line) for line in output.splitlines()]

    events = await call("stream", wish(name))
    updates = [e["artifact-update"] for e in events if "artifact-update" in e]
    text = "".join(p.get("text", "") for u in updates for p in u["artifact"]["parts"])
    last = events[-1]["status-update"]
    if name == "graph":
        assert last["status"]["state"] == "input-required"
        [done] = await call("send", "yes", "--task", last["taskId"], "--context", last["contextId"])
        assert done["task"]["artifacts"][-1]["parts"][0]["text"] == "booked Rome: yes"
    else:
        assert len(updates) > 3, "it streams token by token"
        assert ("Paris" if name == "model" else "good morning") in text
        [stored] = await call("get", last["taskId"])
        assert stored["task"]["status"]["state"] == "completed"


def test_a_0_3_client_reads_the_card(agent, old_python):
    _, url = agent
    command = [old_python, HERE / "client_v03.py", url, "card"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    card = json.loads(done.stdout)["card"]
    assert card["url"] == f"{url}/"
    assert card["protocolVersion"] == "0.3"
