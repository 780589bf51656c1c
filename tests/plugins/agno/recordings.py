"""Recorded answers of Agno 3.1.10 and 2.9.0 (Python) and Agno-Go."""

from __future__ import annotations

import json
from pathlib import Path

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_FOLDER = Path(__file__).parent


def _read(name):
    exchanges = json.loads((_FOLDER / name).read_text())
    return {exchange["name"]: exchange for exchange in exchanges}


V3 = _read("agno-3.json")
V2 = _read("agno-2.json")
GO = _read("agno-go.json")
AGENT = "/a2a/agents/my-agent"
CARD = V3[f"GET {AGENT}/.well-known/agent-card.json"]["body"]


def recorded(exchange):
    """Return the response of an exchange."""
    kind = exchange.get("headers", {}).get("content-type", "text/event-stream")
    if "frames" in exchange:
        frames = exchange["frames"]
        body = "".join(f.get("tail", "") or f["frame"] + "\n\n" for f in frames)
    else:
        body = json.dumps(exchange["body"]) if "body" in exchange else exchange["body_text"]
    return Response(body, exchange["status"], media_type=kind)


def replaying(answers):
    """Return a server that replays exchanges by path and records its requests."""
    sent = []

    async def card(request):
        return JSONResponse({**CARD, "url": f"{request.base_url}{AGENT[1:]}/v1/message:stream"})

    def answering(exchange):
        async def answer(request):
            sent.append(await request.json())
            return recorded(exchange)

        return answer

    routes = [Route(p, answering(exchange), methods=["POST"]) for p, exchange in answers.items()]
    app = Starlette(routes=[Route(f"{AGENT}/.well-known/agent-card.json", card), *routes])
    app.state.sent = sent
    return app
