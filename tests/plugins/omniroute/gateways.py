"""Test gateways: one replays recorded answers, one follows OmniRoute's documentation."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

EXCHANGES = {
    exchange["name"]: exchange
    for exchange in json.loads(Path(__file__).with_name("recorded.json").read_text())
}
KEY = "local-key"
CARD = EXCHANGES["agent card agent.json"]["body"]
COSTS = {
    "routing_explanation": 'Selected writer-1 via provider "north" (latency: 12ms, cost: $0.0020)',
    "cost_envelope": {"estimated": 0.006, "actual": 0.002, "currency": "USD"},
    "resilience_trace": [{"event": "primary_selected", "provider": "north", "timestamp": "now"}],
    "policy_verdict": {"allowed": True, "reason": "within budget"},
}


def recorded(name):
    """Return the real gateway's recorded answer in an exchange."""
    exchange = EXCHANGES[name]
    kind = exchange.get("headers", {}).get("content-type", "text/plain")
    headers = {k: v for k, v in exchange.get("headers", {}).items() if k == "location"}
    if "frames" in exchange:
        tails = [frame["tail"] for frame in exchange["frames"] if "tail" in frame]
        frames = [frame["frame"] + "\n\n" for frame in exchange["frames"] if "frame" in frame]
        body = "".join(tails or frames)
        if "headers" not in exchange:
            kind = "text/event-stream"
    elif "body" in exchange:
        body = json.dumps(exchange["body"])
    else:
        body = exchange["body_text"]
    return Response(body, exchange["status"], headers, media_type=kind)


def replaying():
    """Return many gateways: the one under `/<n>` repeats the n-th exchange for every call."""
    names = list(EXCHANGES)

    async def answer(request):
        return recorded(names[request.path_params["n"]])

    async def card(request):
        return JSONResponse({**CARD, "url": str(request.url.replace(path="/0/a2a"))})

    return Starlette(
        routes=[
            Route("/{n:int}/.well-known/agent.json", card),
            Route("/{n:int}/a2a", answer, methods=["POST"]),
        ]
    )


def answering(*bodies, status=200, media_type="application/json"):
    """Return a gateway that answers successive calls with these bodies."""
    left = list(bodies)

    async def answer(request):
        body = left.pop(0) if len(left) > 1 else left[0]
        text = body if isinstance(body, str) else json.dumps(body)
        return Response(text, status, media_type=media_type)

    return Starlette(routes=[Route("/a2a", answer, methods=["POST"]), card_route()])


def card_route():
    async def card(request):
        return JSONResponse(CARD)

    return Route("/.well-known/agent.json", card)


def event(state, task_id="t1", **params):
    """Return an event of a stream in the documented format."""
    params = {"task": {"id": task_id, "state": state}, **params}
    return {"jsonrpc": "2.0", "method": "message/stream", "params": params}


def chunk(text):
    return event("working", chunk={"type": "text", "content": text})


def sse(*events):
    """Return events and comments as the body of a stream."""
    lines = (e if isinstance(e, str) else f"data: {json.dumps(e)}\n\n" for e in events)
    return "".join(lines)


REFUSED = ("refuse the budget", "too expensive", "nobody there", "say nothing")


class Described:
    """A gateway with every documented code, a chunk per token, and a list of its calls."""

    def __init__(self):
        self.calls = []
        self.headers = []
        self.unavailable = 0
        """Number of first calls that it answers with HTTP 503."""
        self.tasks = {}
        self.is_cancelled = asyncio.Event()

    def app(self):
        return Starlette(routes=[Route("/a2a", self.answer, methods=["POST"]), card_route()])

    async def answer(self, request):
        call = await request.json()
        self.calls.append(call)
        self.headers.append(request.headers)
        if len(self.calls) <= self.unavailable:
            return Response(status_code=503)
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return self.error(call, -32003, "Unauthorized")
        params = call["params"]
        match call["method"]:
            case "tasks/get" | "tasks/cancel":
                return self.about_task(call, params["taskId"])
            case "message/send":
                return self.send(call, params)
            case _:
                if params["messages"][-1]["content"] in REFUSED:
                    return self.send(call, params)
                return StreamingResponse(self.stream(params), media_type="text/event-stream")

    def send(self, call, params):
        text, metadata = params["messages"][-1]["content"], params.get("metadata", {})
        match text:
            case "refuse the budget":
                return self.error(call, -32004, "Budget exceeded: 0.5 > 0.1")
            case "too expensive":
                verdict = {"allowed": False, "reason": "over budget"}
                return self.done(call, text, COSTS | {"policy_verdict": verdict})
            case "nobody there":
                return self.error(call, -32005, "No provider available")
            case "say nothing":
                return self.done(call, "", COSTS)
        return self.done(call, f"{metadata.get('model')}: {text}", COSTS)

    def done(self, call, text, metadata):
        artifacts = [{"type": "text", "content": text}]
        task = {"id": "t1", "state": "completed"}
        return self.result(call, {"task": task, "artifacts": artifacts, "metadata": metadata})

    def about_task(self, call, task_id):
        if task_id not in self.tasks:
            return self.error(call, -32001, "Task not found")
        if call["method"] == "tasks/cancel":
            if self.tasks[task_id][0] == "completed":
                return self.error(call, -32002, "Task already completed")
            self.tasks[task_id] = ["cancelled"]
            self.is_cancelled.set()
        states = self.tasks[task_id]
        task = {"id": task_id, "state": states.pop(0) if len(states) > 1 else states[0]}
        if task["state"] == "completed":
            task["artifacts"] = [{"type": "text", "content": "done"}]
        return self.result(call, {"task": task})

    async def stream(self, params):
        self.tasks["t1"] = ["working"]
        metadata, text = params.get("metadata", {}), params["messages"][-1]["content"]
        if (model := metadata.get("model", "auto")) != "auto":
            yield sse(chunk(f"{model}: "))
        *words, last = text.split(" ")
        for word in [*(f"{word} " for word in words), last]:
            yield sse(": heartbeat 2026-11-21T02:14:36.976Z\n\n", chunk(word))
            await asyncio.sleep(0)
        if params.get("metadata", {}).get("role") == "endless":
            await self.is_cancelled.wait()
        yield sse(event("completed", metadata=COSTS))

    @staticmethod
    def result(call, result):
        return JSONResponse({"jsonrpc": "2.0", "id": call["id"], "result": result})

    @staticmethod
    def error(call, code, message):
        error = {"code": code, "message": message}
        return JSONResponse({"jsonrpc": "2.0", "id": call["id"], "error": error})
