"""An OmniRoute gateway as LangChain's own models."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import a2a_adapters_omniroute as omni
import pytest
from a2a_adapters_omniroute import OmniRouteA2A, OmniRouteChatModel
from langchain_core.caches import InMemoryCache
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from pydantic import ValidationError

from a2a_adapters import ConfigurationError
from a2a_adapters.testing import running
from tests.plugins.omniroute.gateways import COSTS, EXCHANGES, KEY, Described, replaying

MODELS = [OmniRouteA2A, OmniRouteChatModel]
TOLD = {**COSTS, "model_provider": "omniroute", "task_id": "t1"}


@asynccontextmanager
async def gateway(kind, **options):
    """Yield a documented gateway and a model of this class for it."""
    described = Described()
    async with running(described.app()) as url:
        model = kind(base_url=url, api_key=KEY, **options)
        yield described, model
        await model.agent.aclose()
        await asyncio.to_thread(model.agent.close)


def text_of(answer):
    return answer if isinstance(answer, str) else answer.text


@pytest.mark.parametrize("kind", MODELS)
async def test_a_pipeline_supports_all_call_styles(kind):
    async with gateway(kind, model="m") as (described, model):
        chain = PromptTemplate.from_template("Write {what}") | model | StrOutputParser()
        code = {"what": "code"}
        assert await asyncio.to_thread(chain.invoke, code) == "m: Write code"
        assert await chain.ainvoke(code) == "m: Write code"
        batches = await asyncio.gather(
            asyncio.to_thread(chain.batch, [{"what": str(n)} for n in range(5)]),
            chain.abatch([{"what": str(n)} for n in range(5)]),
        )
        assert batches == [[f"m: Write {n}" for n in range(5)]] * 2
        streamed = await asyncio.to_thread(lambda: list(chain.stream(code)))
        assert streamed[:3] == ["m: ", "Write ", "code"]
        assert [piece async for piece in chain.astream(code)] == streamed
    assert {call["params"]["skill"] for call in described.calls} == {"smart-routing"}


async def test_the_gateways_metadata_is_kept():
    async with gateway(OmniRouteA2A) as (_, llm):
        result = await llm.agenerate(["a"])
        assert result.generations[0][0].generation_info == TOLD
        result = await asyncio.to_thread(llm.generate, ["a"])
        assert result.generations[0][0].generation_info == TOLD
    async with gateway(OmniRouteChatModel) as (_, chat):
        assert (await chat.ainvoke("a")).response_metadata == TOLD
        assert (await asyncio.to_thread(chat.invoke, "a")).response_metadata == TOLD
        whole = None
        async for chunk in chat.astream("a b"):
            whole = chunk if whole is None else whole + chunk
        assert (whole.text, whole.response_metadata) == ("a b", TOLD)


async def test_stream_metadata_reaches_callbacks():
    from langchain_core.callbacks import AsyncCallbackHandler

    class Listening(AsyncCallbackHandler):
        async def on_llm_end(self, response, **kwargs):
            self.response = response

    listening = Listening()
    async with gateway(OmniRouteA2A) as (_, llm):
        assert [_ async for _ in llm.astream("a", {"callbacks": [listening]})]
    assert listening.response.generations[0][0].generation_info == TOLD


async def test_roles_are_sent_unchanged():
    async with gateway(OmniRouteChatModel) as (described, chat):
        prompt = ChatPromptTemplate.from_messages(
            [("system", "be brief"), ("user", "a"), ("assistant", "b"), ("user", "{c}")]
        )
        await (prompt | chat).ainvoke({"c": "d"})
        await chat.ainvoke([SystemMessage("s"), HumanMessage([{"type": "text", "text": "t"}])])
    sent = [[tuple(m.values()) for m in call["params"]["messages"]] for call in described.calls]
    assert sent == [
        [("system", "be brief"), ("user", "a"), ("assistant", "b"), ("user", "d")],
        [("system", "s"), ("user", "t")],
    ]


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage([{"type": "image", "url": "https://example.org/i.png"}]),
        ToolMessage("3", tool_call_id="c"),
        AIMessage("", tool_calls=[{"id": "c", "name": "add", "args": {}}]),
    ],
)
async def test_unsupported_messages_are_refused(message):
    with pytest.raises(ValueError, match="OmniRoute supports only"):
        await OmniRouteChatModel().ainvoke([HumanMessage("a"), message])


@pytest.mark.parametrize("kind", MODELS)
async def test_options_are_sent_and_overridden_per_call(kind):
    options = {"model": "m", "combo": "fast", "budget": 0.5, "role": "coding"}
    async with gateway(kind, **options) as (described, model):
        await model.ainvoke("a")
        own = model.bind(model="n", combo="slow", budget=1, role="review", skill="other")
        await own.ainvoke("a")
        await asyncio.to_thread(model.invoke, "a")
    sent = [call["params"] for call in described.calls]
    assert [params["metadata"] for params in sent] == [
        options,
        {"model": "n", "combo": "slow", "budget": 1, "role": "review"},
        options,
    ]
    assert [params["skill"] for params in sent] == ["smart-routing", "other", "smart-routing"]


@pytest.mark.parametrize("kind", MODELS)
async def test_timeout_and_headers_per_call(kind):
    async with gateway(kind) as (described, model):
        await model.ainvoke("a", timeout=60, headers={"X-Tenant": "t"})
        with pytest.raises(ConfigurationError, match="temperature"):
            await model.ainvoke("a", temperature=1)
        with pytest.raises(ConfigurationError, match="greater than 0"):
            await model.ainvoke("a", timeout=0)
    assert len(described.calls) == 1


async def test_a_combo_can_be_sent_as_the_model():
    async with gateway(OmniRouteA2A, combo="fast", combo_as_model=True) as (described, llm):
        assert await llm.ainvoke("a") == "fast: a"
    assert described.calls[0]["params"]["metadata"] == {"model": "fast", "combo": "fast"}


@pytest.mark.parametrize("kind", MODELS)
async def test_stop_sequences_end_the_text(kind):
    async with gateway(kind, model="m") as (_, model):
        assert text_of(await model.ainvoke("one STOP two", stop=["STOP"])) == "m: one "
        assert text_of(await asyncio.to_thread(model.invoke, "a XY b", stop=["XY"])) == "m: a "
        pieces = [text_of(p) async for p in model.astream("one STOP two", stop=["STOP"])]
        assert "".join(pieces) == "m: one "
        read = lambda: list(model.stream("one STOP two", stop=["OP t"]))  # noqa: E731
        assert "".join(map(text_of, await asyncio.to_thread(read))) == "m: one ST"


@pytest.mark.parametrize("kind", MODELS)
async def test_errors_are_typed(kind):
    async with gateway(kind) as (_, model):
        for text, error in (
            ("refuse the budget", omni.OmniRouteBudgetError),
            ("too expensive", omni.OmniRouteBudgetError),
            ("nobody there", omni.OmniRouteProviderError),
            ("say nothing", omni.OmniRouteAnswerError),
        ):
            with pytest.raises(error):
                await model.ainvoke(text)
            with pytest.raises(error):
                await asyncio.to_thread(model.invoke, text)
        results = await model.abatch(["nobody there", "a"], return_exceptions=True)
    assert isinstance(results[0], omni.OmniRouteProviderError)
    assert text_of(results[1]) == "a"


@pytest.mark.parametrize("kind", MODELS)
async def test_the_real_gateway_streams_one_piece(kind):
    names = list(EXCHANGES)
    async with running(replaying()) as url:
        model = kind(base_url=f"{url}/{names.index('stream')}")
        pieces = [text_of(piece) async for piece in model.astream("Explain")]
        failing = kind(base_url=f"{url}/{names.index('stream unknown model')}")
        with pytest.raises(omni.OmniRouteProviderError, match="No credentials"):
            assert [piece async for piece in failing.astream("x")]
        await model.agent.aclose()
        await failing.agent.aclose()
    assert "".join(pieces) == "mock reply to: Explain quantum computing"


@pytest.mark.parametrize("kind", MODELS)
def test_a_key_is_not_shown(kind):
    model = kind(api_key=KEY)
    assert KEY not in repr(model)
    assert KEY not in str(model._identifying_params)
    assert model._identifying_params["model"] == "auto"


@pytest.mark.parametrize("kind", MODELS)
async def test_answers_may_be_cached_like_any_models(kind):
    async with gateway(kind, cache=InMemoryCache()) as (described, model):
        answers = [text_of(await model.ainvoke(text)) for text in ("a", "a", "b")]
    assert answers == ["a", "a", "b"]
    assert len(described.calls) == 2


@pytest.mark.parametrize("kind", MODELS)
async def test_headers_and_retries_of_the_constructor(kind):
    async with gateway(kind, headers={"X-Team": "a"}, max_retries=1) as (described, model):
        described.unavailable = 1
        assert text_of(await model.ainvoke("a")) == "a"
    assert [headers["x-team"] for headers in described.headers] == ["a", "a"]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("wrong", [{"temperature": 0}, {"max_retries": -1}])
def test_unsupported_options_are_refused(kind, wrong):
    with pytest.raises((ValidationError, ConfigurationError)):
        kind(**wrong)
