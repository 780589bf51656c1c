"""The checks that an agent has to pass wherever it is hosted, over plain HTTP."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import Any, Self

import httpx

V1 = {"A2A-Version": "1.0"}
CARD = ".well-known/agent-card.json"


def message(text: str, **fields: str) -> dict[str, Any]:
    """Return the parameters of a call that sends a text."""
    said = {"messageId": uuid.uuid4().hex, "role": "ROLE_USER", "parts": [{"text": text}]}
    return {"message": said | fields}


def call(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON-RPC call."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def text_of(task: dict[str, Any]) -> str:
    """Return the text of a task's artifacts."""
    return "".join(p["text"] for a in task.get("artifacts", []) for p in a["parts"])


@dataclass
class Place:
    """An agent of `tests.platforms.agent`, as a client of its platform reaches it.

    Attributes:
        url: The agent's address for a connection, which may differ from the public one.
        headers: The headers that the platform's front adds to each request.
    """

    url: str
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.url = self.url.rstrip("/")
        self.http = httpx.Client(timeout=60, headers=self.headers, follow_redirects=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.http.close()

    def rpc(self, method: str, params: dict[str, Any]) -> Any:
        """Return the result of a call."""
        answer = self.http.post(f"{self.url}/", headers=V1, json=call(method, params))
        assert answer.status_code == 200, answer.text
        assert "result" in answer.json(), answer.text
        return answer.json()["result"]

    def card(self) -> dict[str, Any]:
        """Return the agent's card."""
        answer = self.http.get(f"{self.url}/{CARD}")
        assert answer.status_code == 200, answer.text
        card: dict[str, Any] = answer.json()
        return card

    def stream(self, text: str) -> Stream:
        """Send a message and return the stream of its answer, to be read."""
        return Stream(self, text)

    def check_calls(self) -> None:
        """Send a message, read a stream, answer a question, and get a task."""
        task = self.rpc("SendMessage", message("hello"))["task"]
        assert text_of(task) == "hello"
        with self.stream("streamed") as stream:
            assert stream.rest() == "streamed"
        asked = self.rpc("SendMessage", message("ask"))["task"]
        assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        reply = message("Ann", taskId=asked["id"], contextId=asked["contextId"])
        assert text_of(self.rpc("SendMessage", reply)["task"]) == "Hello, Ann!"
        assert self.rpc("GetTask", {"id": task["id"]})["id"] == task["id"]
        self.check_old_call()

    def check_old_call(self) -> None:
        """Send a message of A2A 0.3, as most hosts' clients do."""
        said = {"kind": "message", "messageId": uuid.uuid4().hex, "role": "user"}
        params = {"message": said | {"parts": [{"kind": "text", "text": "hello"}]}}
        answer = self.http.post(f"{self.url}/", json=call("message/send", params))
        assert text_of(answer.json()["result"]) == "hello", answer.text


class Stream:
    """The stream of an answer."""

    def __init__(self, place: Place, text: str) -> None:
        body = call("SendStreamingMessage", message(text))
        self._opening = place.http.stream("POST", f"{place.url}/", headers=V1, json=body)
        self.text = ""
        self.state = ""

    def __enter__(self) -> Self:
        response = self._opening.__enter__()
        assert response.status_code == 200, response.read()
        self._lines = response.iter_lines()
        return self

    def __exit__(self, *error: object) -> None:
        self._opening.__exit__(*error)

    def until(self, text: str) -> None:
        """Read until the answer has got this far."""
        while self.text != text:
            self._read(next(self._lines))

    def rest(self) -> str:
        """Read to the end; return the whole text."""
        for line in self._lines:
            self._read(line)
        assert self.state == "TASK_STATE_COMPLETED"
        return self.text

    def _read(self, line: str) -> None:
        if not line.startswith("data:"):
            return
        event = json.loads(line[5:])["result"]
        update = event.get("artifactUpdate", {})
        self.text += "".join(
            part.get("text", "") for part in update.get("artifact", {}).get("parts", [])
        )
        status = event.get("statusUpdate") or event.get("task") or {}
        self.state = status.get("status", {}).get("state", self.state)
