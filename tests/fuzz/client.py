"""Sends malformed requests and checks the responses."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from urllib.parse import quote

import grpc

from tests.fuzz.requests import TASK, Raw, Request, Rpc

SECONDS = 60
_ALLOWED = {
    grpc.StatusCode.OK,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
}


class Client:
    """Sends requests and counts the responses."""

    def __init__(self, port: int, grpc_port: int):
        self._port = port
        self._channel = grpc.insecure_channel(f"127.0.0.1:{grpc_port}")
        self._waiting = ""
        self.counts: dict[str, int] = {}

    def close(self):
        self._channel.close()

    def remember(self, task_id: str):
        """Set the task id that replaces placeholders in requests."""
        self._waiting = task_id

    def send(self, request):
        """Send a request.

        Raises:
            AssertionError: The response is not allowed for any request.
        """
        match request:
            case Request():
                outcome = self._http(request)
            case Rpc():
                outcome = self._grpc(request)
            case Raw():
                outcome = self._raw(request.data)
        self.counts[outcome] = self.counts.get(outcome, 0) + 1

    def _http(self, request):
        path = quote(request.path.replace(TASK, self._waiting), safe="/:%?&=.~")
        body = request.body.replace(TASK.encode(), self._waiting.encode())
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=SECONDS)
        try:
            connection.putrequest(request.verb, path, skip_host="Host" in request.headers)
            for name, value in request.headers.items():
                connection.putheader(name, value.encode("latin-1", "replace"))
            if body:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            response = connection.getresponse()
            return self._judge(request, response)
        finally:
            connection.close()

    def _judge(self, request, response):
        kind = (response.getheader("Content-Type") or "").partition(";")[0]
        assert response.status < 500, response.read()
        if kind == "text/event-stream":
            self._read_stream(response)
            return "HTTP stream"
        text = response.read().decode()
        _check_text(text)
        if kind.endswith("json") and request.verb != "HEAD":
            answer = json.loads(text)
            is_call = request.verb == "POST" and request.path.partition("?")[0] == "/"
            if response.status == 200 and is_call:
                _check_rpc(answer)
        return f"HTTP {response.status}"

    def _read_stream(self, response):
        """Read to the end; a stream of an interrupted task has none."""
        while line := response.readline().decode():
            _check_text(line)
            if not line.startswith("data: ") or line == "data: [DONE]\n":
                continue
            event = json.loads(line[6:])
            assert "-32603" not in line
            if _is_waiting(event):
                return

    def _grpc(self, call):
        options = {"metadata": call.metadata, "timeout": SECONDS}
        if call.streams:
            done = self._channel.unary_stream(call.method)(call.body, **options)
            with contextlib.suppress(grpc.RpcError):
                list(done)
        else:
            done = self._channel.unary_unary(call.method).future(call.body, **options)
        _check_text(done.details() or "")
        assert done.code() in _ALLOWED, (done.code(), done.details())
        return f"gRPC {done.code().name}"

    def _raw(self, data):
        with socket.create_connection(("127.0.0.1", self._port), timeout=SECONDS) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            try:
                while received := connection.recv(65536):
                    answer += received
            except ConnectionResetError:
                pass
        assert not answer.startswith(b"HTTP/1.1 5"), answer
        _check_text(answer.decode("latin-1"))
        return "raw bytes"


def _is_waiting(event):
    """Return whether a stream starts with an interrupted task."""
    result = event.get("result", event)
    task = result if result.get("kind") == "task" else result.get("task", {})
    state = task.get("status", {}).get("state")
    return state in ("TASK_STATE_INPUT_REQUIRED", "input-required")


def _check_text(text):
    assert "Traceback" not in text
    assert 'File "' not in text


def _check_rpc(answer):
    assert answer["jsonrpc"] == "2.0"
    assert ("result" in answer) != ("error" in answer)
    if "error" in answer:
        assert answer["error"]["code"] != -32603, answer
        assert isinstance(answer["error"]["message"], str)
