"""The end of a streamed text, as common clients read it.

Each reader here takes a stream's events as one client does (docs/protocol.md says which); all of
them have to end up with the text, once.
"""

from __future__ import annotations

import asyncio
import json
from itertools import count

import httpx
import pytest
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from starlette.applications import Starlette

from a2a_adapters import as_executor, build_app
from a2a_adapters.protocol.card import build_card
from a2a_adapters.testing import running, user_message
from tests.support.requests import V1, call, rpc

TEXT = "good morning to you"


async def talk(text: str):
    """Talk in words."""
    for n, word in enumerate(text.split()):
        yield word if n == 0 else f" {word}"


async def echo(text: str) -> str:
    """Repeat the text."""
    return text


def ours(target):
    return build_app(target)


def of_the_sdk(target):
    """Serve a target with a2a-sdk's own server."""
    executor = as_executor(target)
    card = build_card(executor.adapter.describe(), "http://127.0.0.1")
    handler = DefaultRequestHandler(
        agent_executor=executor, task_store=InMemoryTaskStore(), agent_card=card
    )
    rpc = create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True)
    return Starlette(routes=[*rpc, *create_agent_card_routes(card)])


def joined(updates):
    """Join all chunks, as ag2, a2akit's `stream_text` and many quickstarts do."""
    return "".join(part["text"] for update in updates for part in update["artifact"]["parts"])


def unseen(updates):
    """Join chunks up to the last one of their artifact, as ag2 does."""
    text, over = "", set()
    for update in updates:
        artifact = update["artifact"]
        if artifact["artifactId"] not in over:
            text += "".join(part["text"] for part in artifact["parts"])
        if update.get("lastChunk"):
            over.add(artifact["artifactId"])
    return text


def folded(updates):
    """Append or replace, as a2a-sdk's clients, strands and agent-framework do."""
    artifacts = {}
    for update in updates:
        artifact = update["artifact"]
        before = artifacts.get(artifact["artifactId"], []) if update.get("append") else []
        texts = [part["text"] for part in artifact["parts"]]
        artifacts[artifact["artifactId"]] = before + texts
    return "".join(text for texts in artifacts.values() for text in texts)


def in_words(updates):
    """Join chunks with spaces, as crewai's client does: correct except for the spaces."""
    texts = [part["text"] for update in updates for part in update["artifact"]["parts"]]
    return " ".join(" ".join(texts).split())


def whole_at_last(updates):
    """Return the last chunk as the whole text, as google-adk's `RemoteA2aAgent` does."""
    [last] = [update for update in updates if update.get("lastChunk")]
    return "".join(part["text"] for part in last["artifact"]["parts"])


async def updates_of(url, method, message):
    """Return the artifact updates of a stream, in the format of 0.3."""
    headers = V1 if method == "SendStreamingMessage" else {}
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:
        answer = await http.post("/", json=rpc(method, {"message": message}), headers=headers)
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    results = [json.loads(line)["result"] for line in lines]
    found = [result.get("artifactUpdate", result) for result in results]
    return [update for update in found if "artifact" in update]


NEW = ("SendStreamingMessage", {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": TEXT}]})
OLD_PARTS = [{"kind": "text", "text": TEXT}]
OLD = ("message/stream", {"kind": "message", "messageId": "m", "role": "user", "parts": OLD_PARTS})


@pytest.mark.parametrize("read", [joined, unseen, folded, in_words])
@pytest.mark.parametrize("call", [NEW, OLD])
@pytest.mark.parametrize("target", [talk, echo])
@pytest.mark.parametrize("server", [ours, of_the_sdk])
async def test_readers_get_the_text_once(server, target, call, read):
    async with running(server(target)) as url:
        updates = await updates_of(url, *call)
    assert read(updates) == TEXT
    assert updates[-1]["lastChunk"] is True


MARK = {"is_user_input": True}
ADK = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": TEXT, "metadata": MARK}]}
OLD_ADK = {**OLD[1], "parts": [{**OLD_PARTS[0], "metadata": MARK}]}


@pytest.mark.parametrize("read", [whole_at_last, folded])
@pytest.mark.parametrize("call", [("SendStreamingMessage", ADK), ("message/stream", OLD_ADK)])
@pytest.mark.parametrize("target", [talk, echo])
@pytest.mark.parametrize("server", [ours, of_the_sdk])
async def test_google_adk_gets_the_whole_text_in_the_last_chunk(server, target, call, read):
    async with running(server(target)) as url:
        updates = await updates_of(url, *call)
    assert read(updates) == TEXT
    if target is talk:
        assert joined(updates[:-1]) == TEXT, "the chunks come as they are made all the same"


async def test_a_chunk_is_sent_before_the_next_one_arrives():
    seen, news = [], asyncio.Event()

    async def slow(text: str):
        for n in count():
            yield f"{n} "
            while len(seen) <= n:  # the next is made once this one has been read
                await news.wait()
                news.clear()
            if n == 3:
                return

    async with running(build_app(slow)) as url, httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http)).create(card)
        async for event in client.send_message(user_message(TEXT)):
            if event.HasField("artifact_update"):
                seen.append(event.artifact_update.artifact.parts[0].text)
                news.set()
    assert "".join(seen) == "0 1 2 3 "


@pytest.mark.parametrize("server", [ours, of_the_sdk])
async def test_blocking_callers_get_one_text_part(server):
    async with running(server(talk)) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        task = (await call(http, "SendMessage", {"message": NEW[1]}))["result"]["task"]
        got = (await call(http, "GetTask", {"id": task["id"]}))["result"]
    for shown in (task, got):
        assert [part["text"] for part in shown["artifacts"][0]["parts"]] == [TEXT]
