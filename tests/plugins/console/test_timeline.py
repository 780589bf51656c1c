"""The timeline of a run: steps, tools, tokens, cost and trace."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from playwright.async_api import expect

from a2a_adapters import (
    AgentRequest,
    Progress,
    RemoteAgent,
    ServerOptions,
    TaskMetadata,
    TokenUsage,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.testing import running
from tests.plugins.console.test_chat import say
from tests.plugins.console.test_relay import relayed

pytestmark = [pytest.mark.thorough, pytest.mark.asyncio(loop_scope="session")]


SHOWN = ServerOptions(console=True, operators=["*"])


async def spender(request: AgentRequest):
    """Calls tools, and reports its usage."""
    yield Progress("Planning")
    yield ToolCall("1", "search", {"query": request.text})
    yield ToolResult("1", "search", ["a page"])
    yield ToolCall("2", "book", {"train": "ICE 73"})
    yield ToolResult("2", "book", None, is_error=True)
    cost = {"cost_envelope": {"estimated": 1, "actual": 0.00213, "currency": "USD"}}
    yield TaskMetadata(TokenUsage(1200, 34, 1234).as_metadata() | cost | {"model": "small-1"})
    yield "Done."


async def tracer(request: AgentRequest):
    """Says the trace it belongs to."""
    yield ToolCall("1", "look", None)
    yield ToolResult("1", "look", None)
    yield f"{trace.get_current_span().get_span_context().trace_id:032x}"


async def test_a_run_shows_tools_tokens_and_cost_also_after_a_reload(open_page):
    app = build_app(spender, options=ServerOptions(console=True))
    async with running(app) as url, open_page(url) as page:
        await say(page, "trains")
        await expect(page.locator(".turn .state.good")).to_be_visible()
        for _ in range(2):
            timeline = page.locator(".timeline")
            summary = timeline.locator("summary").first
            await expect(summary).to_have_text("2 tool calls, 1 step · 1,234 tokens · $0.00213")
            await summary.click()
            await expect(timeline.locator("li").first).to_contain_text("Planning")
            await timeline.get_by_text("search").click()
            await expect(timeline).to_contain_text("a page")
            await expect(timeline.locator("li.bad")).to_contain_text("book failed")
            facts = timeline.locator(".facts")
            await expect(facts).to_contain_text("small-1")
            await expect(facts).to_contain_text("1,200 in, 34 out")
            await page.reload()


async def test_a_run_belongs_to_the_trace_that_the_page_shows(open_page):
    trusting = ServerOptions(trust_traces="all")
    async with relayed(tracer, spender, options=trusting) as url, open_page(url) as page:
        await say(page, "hello")
        await expect(page.locator(".turn .state.good")).to_be_visible()
        await page.locator(".timeline summary").first.click()
        shown = await page.locator(".facts code").first.text_content()
        await expect(page.locator(".artifact")).to_have_text(shown)


async def test_the_agents_that_an_agent_calls_are_nested(open_page):
    async def last(request: AgentRequest):
        """Uses a model."""
        cost = {"cost_envelope": {"actual": 0.25, "currency": "USD"}, "model": "small-1"}
        yield TaskMetadata(TokenUsage(900, 100, 1000).as_metadata() | cost)
        yield "Done."

    def asks(name, url):
        async def agent(request: AgentRequest):
            """Asks the next agent."""
            yield TaskMetadata(TokenUsage(20, 4, 24).as_metadata() | {"model": name})
            async with RemoteAgent(url) as remote:
                yield (await remote.send(request.text)).text

        agent.__name__ = name
        return agent

    async with (
        running(build_app(last)) as last_url,
        running(build_app(asks("middle", last_url), options=SHOWN)) as middle_url,
    ):
        app = build_app(asks("first", middle_url), options=SHOWN)
        async with running(app) as url, open_page(url) as page:
            await say(page, "go")
            await expect(page.locator(".turn .state.good")).to_be_visible()
            for _ in range(2):
                timeline = page.locator(".timeline")
                summary = timeline.locator("summary").first
                await expect(summary).to_have_text("1 other agent · 1,048 tokens · $0.25")
                await summary.click()
                outer = timeline.locator(".delegates > li").first
                await expect(outer.locator("strong").first).to_have_text("middle")
                await expect(outer.locator(".took").first).to_have_text("1,024 tokens · $0.25")
                inner = outer.locator(".delegates > li")
                await expect(inner.locator("strong")).to_have_text("last")
                await expect(inner.locator(".took")).to_have_text("1,000 tokens · $0.25")
                await expect(inner.locator("code")).to_be_visible()
                await expect(timeline.locator(".facts")).to_contain_text("small-1")
                await page.reload()


async def test_a_strange_bill_is_left_out(open_page):
    async def liar(request: AgentRequest):
        """Reports nonsense."""
        spent = {"total_tokens": "many", "usd": []}
        known = {"agent": "<b>x</b>", "task_id": 5, "spent": spent, "delegates": "none"}
        bill = {"models": ["a"], "delegates": [None, 3, known, {"agent": {"a": 1}}]}
        yield TaskMetadata({"a2a_adapters.bill": bill})
        yield "Done."

    app = build_app(liar, options=SHOWN)
    async with running(app) as url, open_page(url) as page:
        await say(page, "hello")
        summary = page.locator(".timeline summary").first
        await expect(summary).to_have_text("2 other agents")
        await summary.click()
        await expect(page.locator(".delegates strong").first).to_have_text("<b>x</b>")


async def test_strange_usage_is_left_out(open_page):
    async def liar(request: AgentRequest):
        """Reports nonsense."""
        yield TaskMetadata({"usage": {"input_tokens": "<b>many"}, "cost_envelope": {"actual": []}})
        yield TaskMetadata({"context_window": {"cost": {"amount": 2, "currency": "<i>"}}})
        yield "Done."

    app = build_app(liar, options=ServerOptions(console=True))
    async with running(app) as url, open_page(url) as page:
        await say(page, "hello")
        await expect(page.locator(".timeline summary").first).to_have_text("2 <i>")
