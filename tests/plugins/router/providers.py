"""Local providers of OpenAI's chat completions, with configurable faults."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from a2a_adapters_router import Router, RouterConfig
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running

ANSWER = "the quick brown fox jumps over the lazy dog"
KEY = "key-of-provider"


@dataclass
class Provider:
    """A provider whose behaviour can be changed during calls.

    Attributes:
        answer: Its answer, streamed by words; None echoes the last message.
        status: HTTP status; an error if not 200.
        failures: Number of initial responses with status 500.
        retry_after: Value of Retry-After.
        breaks_after: Number of words before its stream breaks off; None for never.
        aborts: Whether it breaks off by closing the connection instead of a clean end.
        usage: Reported usage: True for the actual one, None for nothing.
        gate: Event that each answer waits for.
        gated_after: Number of words before it waits.
        delta: Extra delta at the end of the answer.
        finish_reason: Reported finish reason, if not the actual one.
        goes_on: Whether it continues the assistant's message instead of restarting.
        calls: Received bodies.
        bills: Input and output tokens of each call.
        asked: Set by the first call.
        left: Set when a client disconnects.
    """

    answer: str | None = ANSWER
    status: int = 200
    failures: int = 0
    retry_after: str | None = None
    breaks_after: int | None = None
    aborts: bool = False
    usage: bool | dict | None = True
    gate: asyncio.Event | None = None
    gated_after: int = 0
    delta: dict = field(default_factory=dict)
    finish_reason: str = ""
    goes_on: bool = True
    calls: list[dict] = field(default_factory=list)
    bills: list[tuple[int, int]] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def app(self):
        return Starlette(routes=[Route("/v1/chat/completions", self._complete, methods=["POST"])])

    async def _complete(self, request: Request) -> Response:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        body = await request.json()
        self.calls.append(body)
        self.asked.set()
        self.failures -= 1
        status = 500 if self.failures >= 0 else self.status
        if status != 200:
            headers = {"Retry-After": self.retry_after} if self.retry_after else {}
            error = {"message": f"hunter2 {KEY}", "type": "server_error"}
            return JSONResponse({"error": error}, status, headers=headers)
        return StreamingResponse(self._stream(body), media_type="text/event-stream")

    async def _stream(self, body):
        messages = body["messages"]
        sent = sum(len(str(message["content"]).split()) for message in messages)
        answer = messages[-1]["content"] if self.answer is None else self.answer
        said = "".join(m["content"] or "" for m in messages if m["role"] == "assistant")
        if self.goes_on and answer.startswith(said):
            answer = answer.removeprefix(said)
        words = re.findall(r"\S+\s*", answer)[: body.get("max_tokens")]
        made = 0
        try:
            if self.gate and not self.gated_after:
                await self.gate.wait()
            for word in words[: self.breaks_after]:
                if self.gate and self.gated_after == made:
                    await self.gate.wait()
                made += 1
                yield frame({"delta": {"content": word}, "index": 0, "finish_reason": None})
            if self.breaks_after is not None:
                if self.aborts:
                    raise ConnectionAbortedError
                return
            is_cut = made < len(re.findall(r"\S+\s*", answer))
            reason = self.finish_reason or ("length" if is_cut else "stop")
            yield frame({"delta": self.delta, "index": 0, "finish_reason": reason})
            if self.usage:
                tokens = {"prompt_tokens": sent, "completion_tokens": made}
                truth = {**tokens, "total_tokens": sent + made}
                yield frame(usage=truth if self.usage is True else self.usage)
            yield "data: [DONE]\n\n"
        except asyncio.CancelledError:
            self.left.set()
            raise
        finally:
            self.bills.append((sent, made))


def frame(*choices, usage=None):
    """Return a chunk of an answer as a stream event."""
    about = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunk = {**about, "choices": list(choices), **({"usage": usage} if usage else {})}
    return f"data: {json.dumps(chunk)}\n\n"


@asynccontextmanager
async def deployed(**providers: Provider | object) -> AsyncGenerator[list[dict]]:
    """Run providers, and targets as agents; yield their settings for a router."""
    async with AsyncExitStack() as stack:
        found = []
        for name, each in providers.items():
            app = each.app if isinstance(each, Provider) else build_app(each)
            url = await stack.enter_async_context(running(app))
            found.append(deployment(name, url, is_agent=not isinstance(each, Provider)))
        yield found


def deployment(name: str, url: str, *, is_agent: bool = False) -> dict:
    """Return the settings of a deployment."""
    if is_agent:
        return {"model_name": name, "agent": url}
    params = {
        "model": f"openai/{name}",
        "api_base": f"{url}/v1",
        "api_key": "os.environ/ROUTER_KEY",
    }
    return {"model_name": name, "litellm_params": params, "max_tokens": 100}


@asynccontextmanager
async def routed(
    providers: dict[str, Provider | object], options=None, **settings
) -> AsyncGenerator[RemoteAgent]:
    """Serve a router of these providers and yield a client; the default price is zero."""
    async with deployed(**providers) as deployments:
        prices = settings.pop("prices", {})
        free = {name: {"input": 0} for name in providers}
        settings = {"deployments": deployments, "prices": {**free, **prices}, **settings}
        async with served(options, **settings) as agent:
            yield agent


@asynccontextmanager
async def served(options=None, **settings) -> AsyncGenerator[RemoteAgent]:
    """Serve a router with these settings and yield a client."""
    app = build_app(Router(RouterConfig.model_validate(settings)), options=options)
    async with running(app) as url, RemoteAgent(url) as agent:
        yield agent


async def leave(agent: RemoteAgent, provider: Provider) -> None:
    """Send a message, and leave before the provider has answered."""
    stream = agent.stream("hello")
    begun = asyncio.ensure_future(anext(stream))
    await provider.asked.wait()
    begun.cancel()
    await asyncio.gather(begun, return_exceptions=True)
    await stream.aclose()
    async with asyncio.timeout(60):
        await provider.left.wait()
