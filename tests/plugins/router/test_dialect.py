"""Clients of a router through dialects: OmniRoute's with their described uses, and OpenAI's."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from a2a_adapters_omniroute import (
    OmniRouteBudgetError,
    OmniRouteClient,
    OmniRouteDialect,
    OmniRouteProviderError,
    Routing,
)
from a2a_adapters_omniroute.langchain import OmniRouteA2A
from a2a_adapters_router import Router, RouterConfig
from openai import AsyncOpenAI, UnprocessableEntityError

from a2a_adapters import build_app
from a2a_adapters.testing import running
from tests.plugins.router.providers import ANSWER, Provider, deployed

PRICES = {"good": {"input": 100, "output": 200}, "free": {"input": 0}}


class Gateway:
    """A router behind OmniRoute's dialect, and its client."""

    def __init__(self, dialect="omniroute", **providers):
        self.dialect = dialect
        self.providers = providers or {"good": Provider(), "free": Provider()}

    async def __aenter__(self):
        self._deployed = deployed(**self.providers)
        config = RouterConfig(
            deployments=await self._deployed.__aenter__(),
            prices=PRICES,
            combos={"best": ["good"], "free": ["free"]},
            active="best",
            roles={"coding": "best", "review": "best"},
        )
        self._running = running(build_app(Router(config), dialects=[self.dialect]))
        self.url = await self._running.__aenter__()
        self.client = OmniRouteClient(self.url)
        return self

    async def __aexit__(self, *error):
        await self.client.aclose()
        await self._running.__aexit__(*error)
        await self._deployed.__aexit__(*error)


async def test_an_orchestrator_prints_cost_and_route():
    async with Gateway() as gateway:
        card = await gateway.client.discover()
        assert {"smart-routing", "quota-management"} <= {skill.id for skill in card.skills}
        own = ("smart-routing", "quota-management")
        assert all(skill.examples for skill in card.skills if skill.id in own)
        routing = Routing(model="auto", role="coding").metadata()
        reply = await gateway.client.send("smart-routing", "Write a test.", routing)
    assert reply.text == ANSWER
    assert reply.cost_envelope["actual"] == pytest.approx((3 * 100 + 9 * 200) / 1e6)
    assert reply.routing_explanation.startswith("good at openai")
    assert reply.resilience_trace[0]["event"] == "primary_selected"


async def test_a_pipeline_of_two_steps_sums_its_cost():
    async with Gateway() as gateway:
        written = await gateway.client.send("smart-routing", "Write.", {"role": "coding"})
        said = [("user", f"Review: {written.text}")]
        reviewed = await gateway.client.send(
            "smart-routing", [{"role": role, "content": text} for role, text in said], {}
        )
    total = sum(each.cost_envelope["actual"] for each in (written, reviewed))
    assert total == pytest.approx(((1 + 10) * 100 + 18 * 200) / 1e6)


async def test_a_swarm_queries_quota_and_falls_back_to_free_models():
    async with Gateway() as gateway:
        quota = await gateway.client.quota("Suggest a free combo")
        assert "Free combos: free" in quota.text
        with pytest.raises(OmniRouteBudgetError) as caught:
            await gateway.client.send("smart-routing", "Write.", Routing(budget=1e-9).metadata())
        assert caught.value.reply.policy_verdict["allowed"] is False
        asked = Routing(budget=1e-9, combo="free").metadata()
        reply = await gateway.client.send("smart-routing", "Write.", asked)
    assert reply.policy_verdict["allowed"] is True
    assert reply.cost_envelope["actual"] == 0


async def test_the_described_swarm_reads_the_verdict_and_takes_a_free_combo():
    async with Gateway() as gateway, httpx.AsyncClient(timeout=60) as http:

        async def send(**metadata):
            messages = [{"role": "user", "content": "Write."}]
            params = {"skill": "smart-routing", "messages": messages, "metadata": metadata}
            body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params}
            return (await http.post(f"{gateway.url}/a2a", json=body)).json()["result"]

        refused = await send(budget=1e-9)
        assert refused["metadata"]["policy_verdict"]["allowed"] is False
        assert refused["task"]["state"] == "failed"
        answer = await send(budget=1e-9, combo="free")
    assert answer["artifacts"][0]["content"] == ANSWER


async def test_an_error_can_carry_the_verdict():
    async with Gateway(OmniRouteDialect(verdict_as_result=False)) as gateway:
        with pytest.raises(OmniRouteBudgetError) as caught:
            await gateway.client.send("smart-routing", "Write.", Routing(budget=1e-9).metadata())
        task = await gateway.client.get_task(caught.value.task_id)
    assert caught.value.reply.policy_verdict["allowed"] is False
    assert task.state == "failed"


async def test_no_provider_has_its_own_code():
    async with Gateway(good=Provider(status=500), free=Provider()) as gateway:
        with pytest.raises(OmniRouteProviderError) as caught:
            await gateway.client.send("smart-routing", "Write.", {})
        assert caught.value.retryable
        assert caught.value.reply.resilience_trace
        call = {"skill": "smart-routing", "messages": [{"role": "user", "content": "x"}]}
        body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": call}
        async with httpx.AsyncClient(timeout=60) as http:
            answer = await http.post(f"{gateway.url}/a2a", json=body)
    error = answer.json()["error"]
    assert error["code"] == -32005
    assert error["data"]["metadata"]["resilience_trace"]


async def test_a_dashboard_reads_the_stream():
    call = {"skill": "smart-routing", "messages": [{"role": "user", "content": "hello"}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": call}
    async with Gateway() as gateway, httpx.AsyncClient(timeout=60) as http:
        answer = await http.post(f"{gateway.url}/a2a", json=body)
    lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
    assert "resilience_trace" in lines[-1]
    assert sum("chunk" in line for line in lines) >= 1


async def test_polling_clients_can_cancel():
    good = Provider(gate=asyncio.Event())
    async with Gateway(good=good, free=Provider()) as gateway:
        stream = gateway.client.stream("smart-routing", "hello", {})
        asking = asyncio.ensure_future(anext(stream))
        async with asyncio.timeout(60):
            await good.asked.wait()
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            await stream.aclose()


async def test_langchains_model_reports_the_cost():
    async with Gateway() as gateway:
        model = OmniRouteA2A(base_url=gateway.url, role="coding")
        result = await model.agenerate(["hello there"])
        assert result.generations[0][0].text == ANSWER
        info = result.generations[0][0].generation_info
    assert info["cost_envelope"]["currency"] == "USD"
    assert info["routing_explanation"].startswith("good at openai")


async def test_an_openai_client_gets_text_and_usage():
    async with (
        Gateway("openai", good=Provider(goes_on=False), free=Provider()) as gateway,
        AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="none", max_retries=0) as api,
    ):
        [model] = [model.id async for model in api.models.list()]
        chat = {"model": model, "messages": [{"role": "user", "content": "Write a test."}]}
        completion = await api.chat.completions.create(**chat, metadata={"role": "coding"})
        stream = await api.chat.completions.create(**chat, stream=True)
        deltas = [c.choices[0].delta.content or "" async for c in stream if c.choices]
        first = await api.responses.create(model=model, input="hello")
        after = await api.responses.create(
            model=model, input="again", previous_response_id=first.id
        )
    assert completion.choices[0].message.content == "".join(deltas) == ANSWER
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (3, 9)
    assert first.output_text == after.output_text == ANSWER


async def test_an_openai_client_gets_an_error_if_every_provider_failed():
    async with (
        Gateway("openai", good=Provider(status=500), free=Provider()) as gateway,
        AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="none") as api,
    ):
        [model] = [model.id async for model in api.models.list()]
        with pytest.raises(UnprocessableEntityError, match="unavailable"):
            await api.responses.create(model=model, input="hello")
