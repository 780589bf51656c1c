"""Parts in the forms that clients of 0.3 send."""

from __future__ import annotations

import base64

import pytest

from a2a_adapters import File
from tests.support.requests import V1, call, old_call, old_say, proto_say, refused, say

PICTURE = b"\x89PNG\xff\xfe\x3e\x3f"  # differs between the two base64 alphabets


ENCODED = base64.b64encode(PICTURE).decode()


WAYS = [
    ENCODED,
    ENCODED.rstrip("="),
    base64.urlsafe_b64encode(PICTURE).decode(),
    base64.urlsafe_b64encode(PICTURE).decode().rstrip("="),
]


NOT_BASE64 = ["@@@@", "data:image/png;base64,iVBORw0KGgo=", "A", "QQ=", "QQ==QQ==", "é"]


@pytest.mark.parametrize("encoded", WAYS)
async def test_base64_of_either_alphabet_padded_or_not(http, agent, encoded):
    part = {"raw": encoded, "mediaType": "image/png"}
    assert "result" in await call(http, "SendMessage", say("", parts=[part]))
    assert (await http.post("/message:send", json=say("", parts=[part]), headers=V1)).is_success
    file = {"bytes": encoded, "mimeType": "image/png"}
    old = old_say("", parts=[{"kind": "file", "file": file}])
    assert "result" in await old_call(http, "message/send", old)
    content = [{"file": {"fileWithBytes": encoded, "mimeType": "image/png"}}]
    assert (await http.post("/v1/message:send", json=proto_say("", content=content))).is_success
    sent = [request.parts for request in agent.seen]
    assert sent == [(File(content=PICTURE, media_type="image/png"),)] * 4


@pytest.mark.parametrize("encoded", NOT_BASE64)
async def test_invalid_base64_is_refused(http, agent, encoded):
    for method, path in (
        ("SendMessage", "/message:send"),
        ("SendStreamingMessage", "/message:stream"),
    ):
        params = say("", parts=[{"text": "see:"}, {"raw": encoded}])
        error = (await call(http, method, params))["error"]
        assert (error["code"], error["message"]) == (-32602, "raw is not base64")
        rest = await http.post(path, json=params, headers=V1)
        refused(rest, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")
    old = old_say("", parts=[{"kind": "file", "file": {"bytes": encoded}}])
    assert (await old_call(http, "message/send", old))["error"]["code"] == -32602
    content = [{"file": {"fileWithBytes": encoded}}]
    rest = await http.post("/v1/message:send", json=proto_say("", content=content))
    refused(rest, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")
    assert agent.seen == []


@pytest.mark.parametrize(
    "part",
    [
        {"text": "x"},
        {"type": "text", "text": "x"},
        {"text": "x", "metadata": {"a": 1}},
        {"data": {"a": 1}},
        {"type": "data", "data": {"a": 1}},
        {"file": {"bytes": ENCODED, "mimeType": "image/png"}},
        {"type": "file", "file": {"uri": "https://x.example/y"}},
    ],
)
async def test_parts_of_0_3_without_a_kind(http, agent, part):
    kind = next(kind for kind in ("text", "data", "file") if kind in part)
    renamed = {key: value for key, value in part.items() if key != "type"} | {"kind": kind}
    for parts in ([renamed], [part]):
        assert "result" in await old_call(http, "message/send", old_say("", parts=parts))
    assert agent.seen[0].parts == agent.seen[1].parts
