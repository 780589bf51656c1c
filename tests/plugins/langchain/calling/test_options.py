"""Options of models, tools and runnables."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_langchain import A2ALLM, A2AChatModel, A2ARunnable, A2ATool, A2AToolkit
from pydantic import ValidationError

from a2a_adapters import ConfigurationError, RemoteAgent, RemoteTimeoutError, build_app
from tests.plugins.langchain.calling.support import words
from tests.support.servers.front import Recording

NOWHERE = "http://127.0.0.1:9"


async def silent(text: str) -> str:
    await asyncio.Event().wait()
    return text


@pytest.mark.parametrize("kind", [A2AChatModel, A2ALLM])
async def test_models_and_calls_have_options(kind, serve_app):
    quick, slow = Recording(build_app(words)), Recording(build_app(silent))
    model = kind(agent=serve_app(quick), max_retries=0, headers={"X-Key": "k"}, api_key="s3cret")
    await model.ainvoke("hello", timeout=60, headers={"X-Tenant": "a"})
    assert set(quick.header_values("x-key")) == {"k"}
    assert set(quick.header_values("authorization")) == {"Bearer s3cret"}
    assert "s3cret" not in repr(model)
    assert "a" in quick.header_values("x-tenant")
    url = serve_app(slow)
    with pytest.raises(RemoteTimeoutError):
        await kind(agent=url, timeout=0.2).ainvoke("hello")
    with pytest.raises(RemoteTimeoutError):
        await kind(agent=url).ainvoke("hello", timeout=0.2)
    with pytest.raises(RemoteTimeoutError):
        await asyncio.to_thread(lambda: list(kind(agent=url).stream("hello", timeout=0.2)))


@pytest.mark.parametrize("kind", [A2AChatModel, A2ALLM])
async def test_models_have_the_standard_parameters_of_langchain(kind, serve_app, caplog):
    url = serve_app(build_app(words))
    model = kind(agent=url, temperature=0, max_tokens=9, stop=["two"], timeout=60, max_retries=2)
    assert "max_tokens, temperature: no effect" in caplog.text
    chunks = [chunk async for chunk in model.astream("one two three")]
    answers = [
        await model.ainvoke("one two three"),
        await asyncio.to_thread(model.invoke, "one two three", max_tokens=3),
        await model.ainvoke("one two three", stop=["three"]),
    ]
    said = [getattr(answer, "content", answer) for answer in answers]
    assert said == ["one ", "one ", "one two "]
    assert "".join(getattr(chunk, "content", chunk) for chunk in chunks) == "one "


@pytest.mark.parametrize(
    "made",
    [
        A2ARunnable,
        A2ATool.from_agent,
        lambda url, **options: A2ATool.per_skill(url, **options)[0],
    ],
)
async def test_tools_and_runnables_have_options(made, serve_app):
    quick = Recording(build_app(words))
    called = await asyncio.to_thread(made, serve_app(quick), timeout=60, headers={"X-Key": "k"})
    await called.ainvoke("hello")
    assert set(quick.header_values("x-key")) == {"k"}


def test_tools_are_made_with_the_time_to_wait(serve_app):
    url = serve_app(build_app(words))
    made = [A2ATool.from_agent(url, wait=9), *A2ATool.per_skill(url, wait=9)]
    made += A2AToolkit({"words": {"url": url, "wait": 9}}).get_tools()
    assert [tool.wait for tool in made] == [9] * 3


@pytest.mark.parametrize("kind", [A2AChatModel, A2ALLM])
async def test_unsupported_options_are_refused(kind):
    with pytest.raises(ValidationError, match="top_p"):
        kind(agent=NOWHERE, top_p=1)
    with pytest.raises(ConfigurationError, match="max_retries"):
        kind(agent=RemoteAgent(NOWHERE), max_retries=1)
    with pytest.raises(ConfigurationError, match="no top_p"):
        await kind(agent=NOWHERE).ainvoke("hello", top_p=1)
    with pytest.raises(ConfigurationError, match="no top_p"):
        await kind(agent=NOWHERE).bind(top_p=1).ainvoke("hello")
