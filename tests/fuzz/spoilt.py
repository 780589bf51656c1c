"""Mutations of valid requests."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from functools import partial, reduce
from operator import getitem
from urllib.parse import quote

from hypothesis import strategies as st

from a2a_adapters import Limits
from tests.fuzz.requests import BODIES, REQUESTS, RPCS, Raw


def _keys(value):
    """Return every key in a JSON value."""
    if isinstance(value, dict):
        return [*value, *(key for item in value.values() for key in _keys(item))]
    return [key for item in value for key in _keys(item)] if isinstance(value, list) else []


_KEYS = st.sampled_from(sorted({key for body in BODIES for key in _keys(body)}))
_NUMBERS = st.one_of(st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False))
_LEAVES = st.none() | st.booleans() | _NUMBERS | st.text(max_size=20)
_JSON = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(_KEYS | st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=6,
)
_HEADERS = {
    "A2A-Version": st.sampled_from(["1.0", "0.3", "", "9.9", "1.0.0", "x" * 500]),
    "Content-Type": st.sampled_from(
        ["application/json", "text/plain", "application/a2a+json;x", "", "a/b;" * 99]
    ),
    "A2A-Extensions": st.text(st.characters(codec="latin-1", categories=["L", "N", "P"])),
    "Origin": st.just("https://evil.example"),
    "If-None-Match": st.sampled_from(["*", '"x"', "W/"]),
    "Host": st.sampled_from(["", "a:b:c", "[::1", "evil.example", "x" * 300, "a@b", "[]:99999"]),
    "Accept": st.just("text/html"),
}


# The last one exceeds the server's limit.
_SIZES = [5_000, 70_000, 700_000, 5_000, 70_000, 700_000, Limits().body_bytes]


def _places(value, path=()):
    """Return the paths of all values inside a JSON value."""
    found = [path]
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            found += _places(item, (*path, key))
    return found


def _at(value, path):
    """Return the value at a path inside a JSON value."""
    return reduce(getitem, path, value)


def _put(value, path, new):
    """Return a copy of a JSON value with another value at a path."""
    if not path:
        return new
    value = copy.deepcopy(value)
    _at(value, path[:-1])[path[-1]] = new
    return value


def _encoded(body):
    if isinstance(body, bytes):
        return body
    return b"" if body is None else json.dumps(body).encode("utf-8", "surrogatepass")


@st.composite
def _another_value(draw, request):
    place = draw(st.sampled_from(_places(request.body)))
    return replace(request, body=_put(request.body, place, draw(_JSON)))


@st.composite
def _another_key(draw, request):
    body = copy.deepcopy(request.body)
    places = [at for at in map(partial(_at, body), _places(body)) if isinstance(at, dict)]
    if places:
        draw(st.sampled_from(places))[draw(_KEYS | st.text(max_size=6))] = draw(_JSON)
    return replace(request, body=body)


@st.composite
def _missing(draw, request):
    places = [place for place in _places(request.body) if place]
    if not places:
        return request
    *outer, key = draw(st.sampled_from(places))
    body = copy.deepcopy(request.body)
    del _at(body, outer)[key]
    return replace(request, body=body)


@st.composite
def _nested(draw, request):
    depth = draw(st.sampled_from([20, 60, 95, 150, 400, 5000]))
    open_, close = draw(st.sampled_from([("[", "]"), ('{"a":', "}"), ('{"message":', "}")]))
    marker = "\u0001marker"
    place = draw(st.sampled_from(_places(request.body)))
    text = json.dumps(_put(request.body, place, marker))
    deep = open_ * depth + "1" + close * depth
    return replace(request, body=text.replace(json.dumps(marker), deep).encode())


@st.composite
def _large(draw, request):
    size = draw(st.sampled_from(_SIZES))
    many = [{"text": "x"} for _ in range(min(size, 700_000) // 50)]
    value = draw(st.sampled_from(["x" * size, many, "9" * size, 10**300]))
    place = draw(st.sampled_from(_places(request.body)))
    return replace(request, body=_put(request.body, place, value))


@st.composite
def _cut(draw, request):
    body = _encoded(request.body)
    return replace(request, body=body[: draw(st.integers(0, len(body)))])


@st.composite
def _garbled(draw, request):
    body = _encoded(request.body)
    at = draw(st.integers(0, len(body)))
    return replace(request, body=body[:at] + draw(st.binary(min_size=1, max_size=8)) + body[at:])


@st.composite
def _other_headers(draw, request):
    names = draw(st.sets(st.sampled_from(sorted(_HEADERS)), min_size=1, max_size=3))
    changed = {name: draw(_HEADERS[name]) for name in sorted(names)}
    return replace(request, headers=request.headers | changed)


@st.composite
def _other_path(draw, request):
    odd = draw(
        st.sampled_from(
            ["/", "//", "%00", "%FF", ":cancel", "?x=%zz", "/..", "%2f", "?A2A-Version=1.0"]
        )
    )
    at = draw(st.integers(1, len(request.path)))
    return replace(request, path=request.path[:at] + odd + request.path[at:])


@st.composite
def _other_query(draw, request):
    name = draw(
        st.sampled_from(
            ["pageSize", "historyLength", "status", "pageToken", "tenant", "starting_after"]
        )
    )
    value = draw(
        st.sampled_from(["-1", "0", "x", "99999999999999999999", "TASK_STATE_X", "%C3%28"])
    )
    return replace(request, path=f"{request.path.partition('?')[0]}?{name}={value}")


@st.composite
def _other_verb(draw, request):
    return replace(request, verb=draw(st.sampled_from(["GET", "PUT", "HEAD", "OPTIONS", "POST"])))


@st.composite
def _noise(draw, request):
    return replace(request, body=draw(st.binary(max_size=200)))


_SPOILERS = [
    *[_another_value, _another_key] * 2,
    *[_missing, _nested, _large, _cut, _garbled, _noise],
    *[_other_headers, _other_path, _other_query, _other_verb],
]


@st.composite
def _spoilt_http(draw):
    request = draw(st.sampled_from(REQUESTS))
    for _ in range(draw(st.integers(1, 2))):
        if not isinstance(request.body, bytes):
            request = draw(draw(st.sampled_from(_SPOILERS))(request))
    return replace(request, body=_encoded(request.body))


@st.composite
def _spoilt_rpc(draw):
    call = draw(st.sampled_from(RPCS))
    at = draw(st.integers(0, len(call.body)))
    tail = draw(st.sampled_from([call.body[at:], b""]))
    body = call.body[:at] + draw(st.binary(max_size=12)) + tail
    version = draw(st.sampled_from([*[call.metadata] * 4, (), (("a2a-version", "9.9"),)]))
    extensions = draw(st.sampled_from([(), (("a2a-extensions", "https://a, ,b,"),)]))
    return replace(call, body=body, metadata=version + extensions)


_LINES = st.sampled_from(
    [
        "POST / HTTP/1.1",
        "GET / HTTP/9.9",
        "GET  HTTP/1.1",
        "\x00\xff",
        "Host: a",
        "A2A-Version: 1.0",
        "Content-Length: 99",
        "Content-Length: -1",
        "Content-Length: 9, 9",
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
        "Expect: 100-continue",
        "zz",
        "{}",
        "",
        "x" * 9000,
    ]
)


@st.composite
def _broken_off(draw):
    """Return a truncated request, as of a disconnecting client."""
    request = draw(st.sampled_from(REQUESTS))
    body = _encoded(request.body)
    headers = request.headers | {"Host": "localhost", "Content-Length": str(len(body))}
    head = [f"{request.verb} {quote(request.path, safe='/:?=&')} HTTP/1.1"]
    head += [f"{name}: {value}" for name, value in headers.items()]
    data = "\r\n".join([*head, "", ""]).encode() + body
    return data[: draw(st.integers(1, len(data)))]


_RAW = st.one_of(
    st.lists(_LINES, max_size=8).map(lambda lines: "\r\n".join(lines).encode("latin-1")),
    st.binary(max_size=300),
    _broken_off(),
).map(Raw)


@st.composite
def spoilt(draw):
    """Return a request; most are valid HTTP, to reach deeper layers."""
    kinds = [_spoilt_http()] * 8 + [_spoilt_rpc()] * 2 + [_RAW]
    return draw(kinds[draw(st.integers(0, len(kinds) - 1))])
