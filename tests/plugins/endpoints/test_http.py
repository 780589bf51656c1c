"""Webhooks and chat APIs as agents, on servers of the tests."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest
from a2a.types import Part, TaskState
from a2a_adapters_endpoints import ChatAgent, WebhookAgent
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, StreamingResponse
from starlette.routing import Route

from a2a_adapters import ConfigurationError, build_app
from a2a_adapters.plugin import installed_plugins
from a2a_adapters.testing import answer_of, connect, running, send, user_message


@asynccontextmanager
async def behind(respond, make):
    """Yield a client of the agent created for a server's URL, and the requests to the server."""
    seen = []

    async def receive(request):
        seen.append((dict(request.headers), await request.json()))
        return respond(seen[-1][1])

    app = Starlette(routes=[Route("/{path:path}", receive, methods=["POST"])])
    async with (
        running(app) as server,
        running(build_app(make(server))) as url,
        connect(url) as client,
    ):
        yield client, seen


def events(*values):
    texts = [each if isinstance(each, str) else json.dumps(each) for each in values]
    lines = [f"data: {text}\n\n" for text in texts]
    return StreamingResponse(iter(lines), media_type="text/event-stream")


def lines_of_json():
    chunks = ['{"text": "a"}\n{"te', "x", 't": "b"}\n\n']
    return StreamingResponse(iter(chunks), media_type="application/x-ndjson")


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (JSONResponse([{"output": "from n8n"}]), "from n8n"),
        (JSONResponse({"text": "plain"}), "plain"),
        (JSONResponse("only text"), "only text"),
        (PlainTextResponse("text"), "text"),
        (events({"delta": "one "}, "two", "[DONE]"), "one two"),
        (lines_of_json(), "ab"),
        (JSONResponse({}), ""),
    ],
)  # fmt: skip
async def test_answers_of_webhooks(response, said):
    async with behind(lambda _: response, WebhookAgent) as (client, seen):
        request = user_message("hello", context_id="one")
        task = await send(client, request)
    assert answer_of(task) == said
    headers, body = seen[0]
    assert headers["idempotency-key"] == request.message.message_id == body["message_id"]
    assert (body["text"], body["context_id"], body["task_id"]) == ("hello", "one", task.id)


async def test_an_agent_that_is_started_again():
    answer = Starlette(routes=[Route("/", lambda _: PlainTextResponse("text"), methods=["POST"])])
    async with running(answer) as server:
        app = build_app(WebhookAgent(server))
        for _ in range(2):
            async with running(app) as url, connect(url) as client:
                assert answer_of(await send(client, user_message("hello"))) == "text"


async def test_other_json_of_webhooks_is_data():
    async with behind(lambda _: JSONResponse({"n": 1}), WebhookAgent) as (client, _):
        task = await send(client, user_message("hello"))
    assert task.artifacts[0].parts[0].data.struct_value["n"] == 1


@pytest.mark.parametrize(
    "response",
    [
        JSONResponse({"detail": "hunter2"}, status_code=500),
        JSONResponse({"error": "hunter2"}),
        RedirectResponse("http://127.0.0.1:9/hunter2"),
    ],
)
async def test_failed_webhooks_are_not_retried_and_disclose_nothing(response):
    async with behind(lambda _: response, WebhookAgent) as (client, seen):
        task = await send(client, user_message("hello"))
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert "hunter2" not in str(task)
    assert len(seen) == 1


async def test_answers_are_bounded():
    def make(url):
        return WebhookAgent(url, answer_bytes=1000)

    async with behind(lambda _: PlainTextResponse("x" * 2000), make) as (client, _):
        task = await send(client, user_message("hello"))
    assert "too long" in task.status.message.parts[0].text


def chat(url):
    return installed_plugins().target(f"openai:--system 'Be brief.' {url}/v1#small")


def said(*pieces):
    chunks = [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
    usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    return events(*chunks, usage, "[DONE]")


async def test_a_model_gets_the_conversation_and_its_usage_is_kept(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    async with behind(lambda body: said("number ", str(len(body["messages"]))), chat) as (
        client,
        seen,
    ):
        await send(client, user_message("hello", context_id="one"))
        task = await send(client, user_message("again", context_id="one"))
        other = await send(client, user_message("hello", context_id="two"))
    assert answer_of(task) == "number 4"
    assert answer_of(other) == "number 2"
    headers, body = seen[1]
    assert headers["authorization"] == "Bearer key"
    assert [(each["role"], each["content"]) for each in body["messages"]] == [
        ("system", "Be brief."),
        ("user", "hello"),
        ("assistant", "number 2"),
        ("user", "again"),
    ]
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    assert MessageToDict(task.metadata)["usage"] == usage


async def test_images_are_sent_to_the_model():
    image = Part(raw=b"png", media_type="image/png")
    async with behind(lambda _: said("nice"), chat) as (client, seen):
        await send(client, user_message("look", image))
    content = seen[0][1]["messages"][-1]["content"]
    assert content[1]["image_url"]["url"] == "data:image/png;base64,cG5n"


@pytest.mark.parametrize(
    ("response", "category"),
    [
        (JSONResponse({"error": "hunter2"}, status_code=401), "model_refused"),
        (JSONResponse({"error": "hunter2"}, status_code=429), "model_unavailable"),
        (events({"error": {"message": "hunter2"}}), "model_unavailable"),
        (events("no json"), "model_unavailable"),
        (events({"choices": "hunter2"}), "model_unavailable"),
        (events({"choices": {"0": "hunter2"}}), "model_unavailable"),
        (events({"choices": ["hunter2"]}), "model_unavailable"),
        (events({"choices": [{"delta": "hunter2"}]}), "model_unavailable"),
    ],
)
async def test_failures_of_models_have_a_category(response, category):
    async with behind(lambda _: response, chat) as (client, _):
        task = await send(client, user_message("hello"))
    assert "hunter2" not in str(task)
    assert category in str(task)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("openai:http://localhost:1/v1", "name the model, as in openai:http"),
        ("openai:localhost#small", "is not a URL"),
        ("openai:--token-env UNSET_HERE http://localhost/v1#small", "UNSET_HERE"),
        ("webhook:", "are required: url"),
        ("webhook:ftp://example.com", "is not a URL"),
        ("webhook:--seconds 0 http://localhost", "greater than 0, not 0"),
        ("openai:--seconds inf http://localhost/v1#small", "seconds must be finite"),
        ("webhook:http://[::1", "is not a URL"),
        ("openai:http://localhost:port/v1#small", "is not a URL"),
    ],
)
def test_wrong_words_say_what_to_do(word, hint):
    with pytest.raises(ConfigurationError, match=hint):
        installed_plugins().target(word)


def test_agents_of_classes():
    assert ChatAgent("http://localhost/v1", "small", name="poet").describe().name == "poet"
