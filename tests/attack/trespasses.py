"""Unauthorised access attempts; each returns a finding, if any."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

import httpx

from tests.attack.forgery import forged, token
from tests.attack.target import ANN, BOB, Target
from tests.support.requests import old_say, rpc, say

Attempt = Callable[[Target], Awaitable[str]]


@dataclass(frozen=True)
class Trespass:
    """A class of attempts.

    Attributes:
        attempts: The attempts.
        is_guarded: Whether to use the server with authentication.
    """

    attempts: Sequence[Attempt]
    is_guarded: bool = True


SECRET = "ann alone knows"
_CHAT = {"model": "agent", "messages": [{"role": "user", "content": "x"}]}
_RESPONSE = {"model": "agent", "input": "x"}
_RUN = {
    "threadId": "CONTEXT",
    "runId": "r",
    "messages": [{"id": "m", "role": "user", "content": "x"}],
}
_ITEM = {"type": "item_reference", "id": "msg_resp_TASK_1"}
_BODIES = {
    "/": rpc("SendMessage", say("x")),
    "/v1/chat/completions": _CHAT,
    "/v1/responses": _RESPONSE,
    "/ag-ui": _RUN,
}
_CONFIG = {"id": "c", "url": "https://receiver.example/hook"}


async def _as_another_user(
    target: Target, kind: str, method: str, params: dict[str, object], *, who: str = BOB
) -> str:
    """Call a method with the id of ann's task, and search the answer for its content."""
    async with target.client(ANN) as http:
        asked = await http.post("/", json=rpc("SendMessage", say(f"?{SECRET}")))
        task = asked.json()["result"]["task"]
    filled = json.loads(
        json.dumps(params).replace("TASK", task["id"]).replace("CONTEXT", task["contextId"])
    )
    async with target.client(who) as http:
        if kind == "rpc":
            answer = await http.post("/", json=rpc(method, filled))
        elif kind == "old":
            del http.headers["A2A-Version"]
            answer = await http.post("/", json=rpc(method, filled))
        else:
            path = kind.replace("TASK", task["id"]).replace("CONTEXT", task["contextId"])
            if path.startswith("/v1"):
                del http.headers["A2A-Version"]
            answer = await http.request(method, path, json=filled or None)
    if SECRET in answer.text:
        return f"{kind} {method} shows another user's task"
    is_new = "contextId" in str(params) and "CONTEXT" in str(params)
    if answer.status_code >= 500 or (not is_new and '"result":' in answer.text):
        return f"{kind} {method} is answered by {answer.status_code}"
    async with target.client(ANN) as http:
        after = await http.post("/", json=rpc("GetTask", {"id": task["id"]}))
    if after.json()["result"]["status"]["state"] != "TASK_STATE_INPUT_REQUIRED":
        return f"{kind} {method} changes another user's task"
    return ""


_OWNERS = [
    partial(_as_another_user, kind=kind, method=method, params=params)
    for kind, method, params in (
        ("rpc", "GetTask", {"id": "TASK"}),
        ("rpc", "CancelTask", {"id": "TASK"}),
        ("rpc", "SubscribeToTask", {"id": "TASK"}),
        ("rpc", "SendMessage", say("x", taskId="TASK")),
        ("rpc", "SendStreamingMessage", say("x", taskId="TASK", contextId="CONTEXT")),
        ("rpc", "SendMessage", say("x", contextId="CONTEXT")),
        ("rpc", "ListTasks", {"contextId": "CONTEXT", "includeArtifacts": True}),
        ("rpc", "CreateTaskPushNotificationConfig", {"taskId": "TASK", **_CONFIG}),
        ("rpc", "GetTaskPushNotificationConfig", {"taskId": "TASK", "id": "c"}),
        ("rpc", "ListTaskPushNotificationConfigs", {"taskId": "TASK"}),
        ("rpc", "DeleteTaskPushNotificationConfig", {"taskId": "TASK", "id": "c"}),
        ("old", "tasks/get", {"id": "TASK"}),
        ("old", "tasks/cancel", {"id": "TASK"}),
        ("old", "tasks/resubscribe", {"id": "TASK"}),
        ("old", "message/send", old_say("x", taskId="TASK")),
        ("/tasks/TASK", "GET", {}),
        ("/tenant/tasks/TASK", "GET", {}),
        ("/tasks/TASK:cancel", "POST", {}),
        ("/tasks/TASK:subscribe", "GET", {}),
        ("/tasks/TASK/pushNotificationConfigs", "GET", {}),
        ("/tasks?contextId=CONTEXT&includeArtifacts=true", "GET", {}),
        ("/v1/tasks/TASK", "GET", {}),
        ("/v1/tasks/TASK:cancel", "POST", {}),
        ("/v1/responses/resp_TASK_1", "GET", {}),
        ("/v1/responses/resp_TASK_1?stream=true", "GET", {}),
        ("/v1/responses/resp_TASK_1", "DELETE", {}),
        ("/v1/responses/resp_TASK_1/cancel", "POST", {}),
        ("/v1/responses", "POST", {**_RESPONSE, "previous_response_id": "resp_TASK_1"}),
        ("/v1/responses", "POST", {**_RESPONSE, "previous_response_id": "resp_CONTEXT_reply"}),
        ("/v1/responses", "POST", {**_RESPONSE, "conversation": "CONTEXT"}),
        ("/ag-ui", "POST", _RUN),
        ("/ag-ui", "POST", {**_RUN, "resume": [{"interruptId": "TASK", "status": "resolved"}]}),
        ("/ag-ui", "POST", {**_RUN, "resume": [{"interruptId": "TASK", "status": "cancelled"}]}),
        ("/v1/responses", "POST", {**_RESPONSE, "input": [_ITEM, *_CHAT["messages"]]}),
    )
]


async def _raw(target: Target, data: bytes) -> tuple[int, bytes]:
    """Send raw bytes; return the status and the answer."""
    reader, writer = await asyncio.open_connection(*target.address)
    try:
        writer.write(data)
        async with asyncio.timeout(60):
            answer = await reader.read()
    finally:
        writer.close()
    status = answer.partition(b" ")[2][:3]
    return int(status) if status.isdigit() else 0, answer


async def _path(target: Target, path: str, verb: str) -> str:
    """Access a protected path without credentials."""
    head = f"{verb} {path} HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n"
    head += "Connection: close\r\nContent-Length: 0\r\n\r\n"
    status, answer = await _raw(target, head.encode("latin-1"))
    if 200 <= status < 300 or status >= 500 or b"root:" in answer or b"Traceback" in answer:
        return f"{verb} {path!r} is answered by {status}"
    return ""


_PATHS = [
    partial(_path, path=path, verb=verb)
    for verb in ("GET", "POST")
    for path in (
        "/",
        "//",
        "/tasks",
        "//tasks",
        "/./tasks",
        "/%2e/tasks",
        "/healthz/../tasks",
        "/healthz/%2e%2e/tasks",
        "/healthz%2f..%2ftasks",
        "/.well-known/agent-card.json/../../tasks",
        "/.well-known/agent-card.json/tasks",
        "/.well-known/agent-card.json%00/tasks",
        "/tasks;.json",
        "/tasks%3b",
        "/tasks/",
        "/TASKS",
        "/tenant/tasks",
        "/%00/tasks",
        "/%ff%fe/tasks",
        "/..%2f..%2f..%2fetc%2fpasswd",
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%5c..%5cetc%5cpasswd",
        "/tasks/%2e%2e",
        "/tasks/..%2f..%2fetc%2fpasswd",
        "/v1/tasks",
        "/v1//tasks",
        "/v1/models",
        "/v1/models/..%2f..%2ftasks",
        "/v1/chat/completions",
        "/v1//chat/completions",
        "/v1/responses",
        "/v1/responses/resp_x_1",
        "/v1/responses/..%2f..%2ftasks",
        "/v1/conversations",
        "/ag-ui",
        "/ag-ui/agent",
        "/ag-ui/..%2f..%2ftasks",
        "/extendedAgentCard",
        "/metrics",
        "/docs",
        "/openapi.json",
        "http://localhost/tasks",
        "http://evil.example/tasks",
        "*",
        "/" + "a/" * 10_000,
    )
    if (verb, path) != ("GET", "/")  # the list of agents, as public as their cards
]


async def _page(target: Target, headers: dict[str, str]) -> str:
    """Send a request as a page in a user's browser to a server on the user's machine."""
    async with target.client(**headers) as http:
        for path, body in _BODIES.items():
            answer = await http.post(path, content=json.dumps(body).encode())
            if _is_harmed(answer):
                return f"a page with {headers} at {path} is answered by {answer.status_code}"
    return ""


def _is_harmed(answer: httpx.Response) -> bool:
    """Return whether the agent ran, or the server failed."""
    ran = ("artifacts", '"choices"', '"output"', "RUN_STARTED")
    return answer.status_code >= 500 or any(name in answer.text for name in ran)


_JSON = {"Content-Type": "application/json"}
_BROWSERS = [
    *(
        partial(_page, headers={**_JSON, **headers})
        for headers in (
            {"Origin": "https://evil.example"},
            {"Origin": "http://evil.example:80"},
            {"Origin": "null"},
            {"Origin": "http://localhost.evil.example"},
            {"Origin": "http://127.0.0.1.evil.example"},
            {"Origin": "http://127.0.0.1@evil.example"},
            {"Origin": "file://"},
            {"Host": "evil.example"},
            {"Host": "localhost.evil.example"},
            {"Host": "127.0.0.1.nip.io"},
            {"Host": "evil.example", "Origin": "http://evil.example"},
            {"Host": "evil.example", "X-Forwarded-Host": "localhost"},
        )
    ),
    *(
        partial(_page, headers={"Origin": "http://localhost", "Content-Type": kind})
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "")
    ),
]


async def _forged(target: Target, what: str) -> str:
    async with target.client(forged()[what]) as http:
        for path, body in _BODIES.items():
            answer = await http.post(path, json=body)
            if answer.status_code not in (401, 431):
                return f"{what}, at {path}: {answer.status_code}"
    return ""


async def _good(target: Target) -> str:
    async with target.client(token()) as http:
        for path, body in _BODIES.items():
            answer = await http.post(path, json=body)
            if answer.status_code != 200 or _is_error(answer):
                return f"a good token, at {path}: {answer.status_code}"
    return ""


def _is_error(answer: httpx.Response) -> bool:
    if answer.headers["content-type"].startswith("text/event-stream"):
        return "RUN_ERROR" in answer.text
    return bool(answer.json().get("error"))


async def _address(target: Target, url: str) -> str:
    """Configure an internal address as a receiver of notifications."""
    config = {"taskPushNotificationConfig": {"url": url}}
    async with target.client(BOB) as http:
        call = rpc("SendMessage", {**say("x"), "configuration": config})
        answer = (await http.post("/", json=call)).json()
    return "" if answer.get("error", {}).get("code") == -32602 else f"{url} is taken"


_ADDRESSES = [
    partial(_address, url=url)
    for url in (
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://localhost/",
        "http://0.0.0.0/",
        "http://[::]/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[fe80::1]/",
        "http://[fd00::1]/",
        "http://10.0.0.1/",
        "http://172.16.0.1/",
        "http://192.168.0.1/",
        "http://100.64.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://user:password@agents.example/",
        "http://127.0.0.1#@agents.example/",
        "http://agents.example:0/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:25/",
        "ftp://agents.example/",
        "//127.0.0.1/",
        "http:///etc/passwd",
        "http://a..b/",
        "http://a b/",
        "http://\u2460\u2461\u2466.0.0.1/",
    )
]


async def _bomb(
    target: Target, content: bytes, headers: dict[str, str] | None = None, path: str = "/"
) -> str:
    """Send a small body that expands when parsed."""
    async with target.client(**_JSON, **(headers or {})) as http:
        answer = await http.post(path, content=content)
    if _is_harmed(answer):
        return f"{content[:20]!r}... at {path} is answered by {answer.status_code}"
    return ""


_MIB = 1024 * 1024
_WHOLE = json.dumps(rpc("SendMessage", say("x" * _MIB))).encode()


_HOLLOW = {
    "/": rpc("SendMessage", say("x", metadata="HERE")),
    "/v1/chat/completions": {**_CHAT, "metadata": "HERE"},
    "/v1/responses": {**_RESPONSE, "metadata": "HERE"},
}
_FILLINGS = [
    b"[" * 500 + b"]" * 500,
    b'{"a":' * 500 + b"1" + b"}" * 500,
    b'{"a":' + b"9" * 200_000 + b"}",
    b'{"a":1e' + b"9" * 1000 + b"}",
    b"{" + b'"a":1,' * 20_000 + b'"a":1}',
    b'{"a":"\\ud800"}',
]
_BOMBS = [
    partial(_bomb, content=content, headers=headers)
    for content, headers in (
        (gzip.compress(_WHOLE), {"Content-Encoding": "gzip"}),
        (gzip.compress(b"[" * 64 * _MIB), {"Content-Encoding": "gzip"}),
        (gzip.compress(gzip.compress(_WHOLE)), {"Content-Encoding": "gzip, gzip"}),
        (zlib.compress(_WHOLE), {"Content-Encoding": "deflate"}),
        (b"[" * 100_000, None),
        (b'{"a":' * 100_000, None),
        (b"[" * 5_000 + b"]" * 5_000, None),
        (b"\x00" * 1000, None),
        (b"\xff\xfe" + _WHOLE[:1000].decode().encode("utf-16-le"), None),
    )
]
_BOMBS += [
    partial(_bomb, content=json.dumps(body).encode().replace(b'"HERE"', filling), path=path)
    for path, body in _HOLLOW.items()
    for filling in _FILLINGS
]

TRESPASSES: dict[str, Trespass] = {
    "other users' tasks": Trespass(_OWNERS),
    "paths": Trespass(_PATHS),
    "web pages": Trespass(_BROWSERS, is_guarded=False),
    "forged tokens (JWT)": Trespass([_good, *(partial(_forged, what=w) for w in forged())]),
    "addresses inside (SSRF)": Trespass(_ADDRESSES),
    "bombs": Trespass(_BOMBS, is_guarded=False),
}
