"""Valid requests of every binding and dialect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.types import GetTaskRequest, ListTasksRequest, Message, Part, Role, SendMessageRequest

from tests.support.requests import V1, old_say, proto_say, rpc, say

TASK = "<the id of a waiting task>"
JSON_HEADERS = {"Content-Type": "application/json"}


@dataclass(frozen=True, repr=False)
class Request:
    """An HTTP request; the body is JSON unless mutated."""

    verb: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None

    def __repr__(self):
        body = self.body if len(self.body or "") < 2000 else [len(self.body), self.body[:500]]
        return f"Request({self.verb!r}, {self.path!r}, {self.headers!r}, {body!r})"


@dataclass(frozen=True)
class Rpc:
    """A gRPC request."""

    method: str
    body: bytes
    metadata: tuple[tuple[str, str], ...] = ()
    streams: bool = False


@dataclass(frozen=True)
class Raw:
    """Bytes on a connection."""

    data: bytes


def _posts(path, bodies, headers):
    return [Request("POST", path, JSON_HEADERS | headers, body) for body in bodies]


_FILE = {"raw": "AAEC", "mediaType": "image/png", "filename": "a.png"}
_DATA = {"data": {"a": [1, None, {"b": True}]}, "metadata": {"x": 1.5}}
_RICH = {
    **say(
        "x",
        parts=[{"text": "x"}, _FILE, _DATA, {"url": "https://example.org/a"}],
        metadata={"a": {"b": [1, "c"]}},
        extensions=["https://example.org/extension"],
        referenceTaskIds=["t"],
        contextId="c",
    ),
    "configuration": {
        "acceptedOutputModes": ["text/plain"],
        "historyLength": 3,
        "returnImmediately": True,
    },
    "metadata": {"a": None},
    "tenant": "t",
}
_OLD_PARTS = [
    {"kind": "text", "text": "x"},
    {"kind": "data", "data": {"a": [1]}, "metadata": {"b": 2}},
    {"kind": "file", "file": {"bytes": "AAEC", "name": "a"}},
]
_SENT = [say("hello"), say("ask"), say("again", taskId=TASK), _RICH]
_OLD_SENT = [
    old_say("hello"),
    old_say("ask", parts=_OLD_PARTS, metadata={"a": 1}),
    old_say("a", taskId=TASK),
]
_PROTO_SENT = [
    proto_say("hello"),
    proto_say("", content=[{"data": {"data": {"a": 1}}}, {"file": {"fileWithBytes": "AAEC"}}]),
]
_PUSH = {"taskId": TASK, "id": "c", "url": "https://example.org/hook", "token": "t"}
_CALLS = [
    *[rpc(method, body) for method in ("SendMessage", "SendStreamingMessage") for body in _SENT],
    rpc("GetTask", {"id": TASK, "historyLength": 1}),
    rpc("ListTasks", {"pageSize": 5, "status": "TASK_STATE_COMPLETED", "contextId": "c"}),
    rpc("ListTasks", {"pageToken": "eyJ0cyI6MSwiaWQiOiJ4In0", "includeArtifacts": True}),
    rpc("CancelTask", {"id": "none", "metadata": {"a": 1}}),
    rpc("SubscribeToTask", {"id": TASK}),
    rpc("CreateTaskPushNotificationConfig", _PUSH),
    rpc("GetTaskPushNotificationConfig", {"taskId": TASK, "id": "c"}),
    rpc("ListTaskPushNotificationConfigs", {"taskId": TASK}),
    rpc("DeleteTaskPushNotificationConfig", {"taskId": TASK, "id": "c"}),
    rpc("GetExtendedAgentCard", {}),
]
_OLD_CALLS = [
    *[rpc(method, body) for method in ("message/send", "message/stream") for body in _OLD_SENT],
    rpc("tasks/get", {"id": TASK, "historyLength": 1}),
    rpc("tasks/cancel", {"id": "none"}),
    rpc("tasks/resubscribe", {"id": TASK}),
    rpc("tasks/pushNotificationConfig/set", {"taskId": TASK, "pushNotificationConfig": _PUSH}),
    rpc("tasks/pushNotificationConfig/get", {"id": TASK}),
    rpc("agent/getAuthenticatedExtendedCard", {}),
]
_CONVERSATION = "conv_" + "0" * 32
_SAID = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "hello"}]},
    {"role": "assistant", "content": "hello"},
    {"role": "user", "content": "ask", "name": "ann"},
]
_URL = {"url": "data:image/png;base64,AAEC"}
_CHATS = [
    {"model": "echo", "messages": _SAID[1:2], "user": "ann", "metadata": {"a": "b"}},
    {"model": "echo", "messages": _SAID, "stream": True, "stream_options": {"include_usage": True}},
    {
        "model": "echo",
        "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": _URL}]}],
        "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}},
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "n": 1,
    },
]
_OLDER = {"type": "item_reference", "id": f"msg_resp_{TASK}_1"}
_RESPONSES = [
    {"model": "echo", "input": "hello", "metadata": {"a": "b"}},
    {"model": "echo", "input": "ask", "stream": True, "instructions": "Be brief."},
    {"model": "echo", "input": [_OLDER, _SAID[3]], "conversation": {"id": _CONVERSATION}},
    {"model": "echo", "input": "again", "previous_response_id": f"resp_{TASK}_1"},
    {"model": "echo", "input": _SAID[1:], "background": True, "text": {"format": {"type": "text"}}},
    {"model": "echo", "input": [{"type": "function_call_output", "output": "x"}, _SAID[3]]},
]
_RUNS = [
    {"threadId": "t", "runId": "r", "messages": [{"id": "a", "role": "user", "content": "ask"}]},
    {
        "threadId": "t",
        "runId": "s",
        "protocolVersion": "1.0",
        "messages": [{"id": f"m{number}", **said} for number, said in enumerate(_SAID)],
        "state": {"a": [1]},
        "tools": [{"name": "f", "description": "A function.", "parameters": {}}],
        "context": [{"description": "page", "value": "cart"}],
        "forwardedProps": {"a": "b"},
        "resume": [{"interruptId": f"{TASK}:m", "status": "cancelled"}],
    },
]
_CONFIGS = f"/tasks/{TASK}/pushNotificationConfigs"
REQUESTS = [
    *_posts("/", _CALLS, V1),
    *_posts("/", _OLD_CALLS, {}),
    *_posts("/message:send", _SENT, V1),
    *_posts("/message:stream", _SENT, V1),
    *_posts("/v1/message:send", _PROTO_SENT, {}),
    *_posts("/v1/message:stream", _PROTO_SENT, {}),
    *_posts("/tasks/none:cancel", [{"metadata": {}}], V1),
    *_posts(_CONFIGS, [_PUSH], V1),
    Request("GET", f"/tasks/{TASK}?historyLength=2", V1),
    Request("GET", f"/tasks/{TASK}:subscribe", V1),
    Request("GET", "/tasks?pageSize=5&status=TASK_STATE_COMPLETED&contextId=c", V1),
    Request("DELETE", f"{_CONFIGS}/c", V1),
    Request("GET", "/extendedAgentCard", V1),
    Request("GET", f"/v1/tasks/{TASK}", {}),
    Request("GET", f"/v1/tasks/{TASK}:subscribe", {}),
    Request("GET", "/v1/card", {}),
    Request("GET", "/.well-known/agent-card.json", {}),
    *_posts("/v1/chat/completions", _CHATS, {}),
    *_posts("/v1/responses", _RESPONSES, {}),
    *_posts(f"/v1/responses/resp_{TASK}_9/cancel", [None], {}),
    *_posts("/ag-ui", _RUNS, {}),
    *_posts("/v1/conversations", [{"metadata": {"a": "b"}}], {}),
    Request("GET", "/v1/models", {}),
    Request("GET", "/v1/models/echo", {}),
    Request("GET", f"/v1/responses/resp_{TASK}_1", {}),
    Request("GET", f"/v1/responses/resp_{TASK}_1?stream=true&starting_after=3", {}),
    Request("DELETE", f"/v1/responses/resp_{TASK}_1", {}),
    Request("GET", f"/v1/conversations/{_CONVERSATION}", {}),
]
BODIES = [*_CALLS, *_OLD_CALLS, *_CHATS, *_RESPONSES]


_V1_METADATA = (("a2a-version", "1.0"),)
_MESSAGE = SendMessageRequest(
    message=Message(message_id="m", role=Role.ROLE_USER, parts=[Part(text="hello")])
)
_OLD_MESSAGE = old.SendMessageRequest(
    request=old.Message(message_id="m", role=old.Role.ROLE_USER, content=[old.Part(text="hello")])
)
_NEW, _OLD = "/lf.a2a.v1.A2AService", "/a2a.v1.A2AService"
RPCS = [
    Rpc(f"{_NEW}/SendMessage", _MESSAGE.SerializeToString(), _V1_METADATA),
    Rpc(f"{_NEW}/GetTask", GetTaskRequest(id="t").SerializeToString(), _V1_METADATA),
    Rpc(f"{_NEW}/ListTasks", ListTasksRequest(page_size=3).SerializeToString(), _V1_METADATA),
    Rpc(f"{_NEW}/CancelTask", b"", _V1_METADATA),
    Rpc(f"{_NEW}/SendStreamingMessage", _MESSAGE.SerializeToString(), _V1_METADATA, streams=True),
    Rpc(f"{_OLD}/SendMessage", _OLD_MESSAGE.SerializeToString()),
    Rpc(f"{_OLD}/SendStreamingMessage", _OLD_MESSAGE.SerializeToString(), streams=True),
    Rpc(f"{_OLD}/GetTask", old.GetTaskRequest(name="tasks/t").SerializeToString()),
    Rpc(f"{_OLD}/GetTaskPushNotificationConfig", b""),
]
