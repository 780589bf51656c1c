"""Runs many malformed requests, with valid ones before and after.

`python -m tests.fuzz.run [COUNT]` prints the results.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request

from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz.client import Client
from tests.fuzz.requests import REQUESTS, RPCS
from tests.fuzz.served import Served
from tests.fuzz.spoilt import spoilt
from tests.support.requests import V1, rpc, say

_SETTLE_SECONDS = 60


def fuzz(examples: int) -> dict[str, object]:
    """Send `examples` malformed requests; return the counts.

    Raises:
        AssertionError: A response or the server's state is wrong.
    """
    with Served() as served:
        client = Client(served.port, served.grpc_port)
        try:
            return _fuzz(served, client, examples)
        finally:
            client.close()


def _fuzz(served, client, examples):
    client.remember(_ask(served))
    _warm_up(client)
    before = _settled(served, {})
    client.counts.clear()
    begun = time.monotonic()

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(spoilt())
    def spoil(request):
        client.send(request)
        assert not served.errors.seen, served.errors.seen

    spoil()
    seconds = time.monotonic() - begun
    figures = dict(sorted(client.counts.items()))
    asked = _waiting(served)
    for task_id in asked:
        _call(served, "CancelTask", {"id": task_id})
    client.remember(_ask(served))
    _warm_up(client)
    after = _settled(served, before)
    assert all(after[name] <= before[name] for name in before), (before, after)
    assert not served.errors.seen, served.errors.seen
    return {"seconds": round(seconds, 1), "answers": figures, "before": before, "after": after}


def _warm_up(client):
    """Send every valid request, and check the answers."""
    for request in REQUESTS:
        body = request.body
        encoded = b"" if body is None else json.dumps(body).encode()
        client.send(type(request)(request.verb, request.path, request.headers, encoded))
    for call in RPCS:
        client.send(call)


def _call(served, method, params):
    body = json.dumps(rpc(method, params)).encode()
    headers = {"Content-Type": "application/json", **V1}
    request = urllib.request.Request(f"http://127.0.0.1:{served.port}/", body, headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def _ask(served):
    """Return the id of an interrupted task."""
    return _call(served, "SendMessage", say("ask"))["result"]["task"]["id"]


def _waiting(served):
    """Return the ids of all interrupted tasks."""
    params = {"status": "TASK_STATE_INPUT_REQUIRED", "pageSize": 100}
    found = []
    while True:
        page = _call(served, "ListTasks", params)["result"]
        found += [task["id"] for task in page["tasks"]]
        if not page["nextPageToken"]:
            return found
        params["pageToken"] = page["nextPageToken"]


def _settled(served, wanted):
    """Return the server's resources once closed connections are cleaned up."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    held = served.holds()
    while time.monotonic() < deadline:
        time.sleep(0.2)
        held, last = served.holds(), held
        if held == last and all(held[name] <= wanted.get(name, held[name]) for name in held):
            break
    return held


if __name__ == "__main__":
    print(json.dumps(fuzz(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000), indent=2))
