"""One trace from a chain through two agents to a tool, as an OTLP collector receives it."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack

import pytest
from a2a_adapters_langchain import A2AChatModel
from langchain_core.output_parsers import StrOutputParser
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from a2a_adapters import RemoteAgent, TokenUsage
from a2a_adapters.testing import running
from tests.support.processes import serving

pytestmark = pytest.mark.timeout(60)


class Collector:
    """Receives spans over OTLP/HTTP."""

    def __init__(self):
        self.spans = {}
        self._news = asyncio.Condition()
        self.app = Starlette(routes=[Route("/v1/traces", self._receive, methods=["POST"])])

    async def _receive(self, request):
        sent = ExportTraceServiceRequest.FromString(await request.body())
        async with self._news:
            for resource in sent.resource_spans:
                service = resource.resource.attributes
                (name,) = [a.value.string_value for a in service if a.key == "service.name"]
                for scope in resource.scope_spans:
                    self.spans |= {span.span_id: (name, span) for span in scope.spans}
            self._news.notify_all()
        content = ExportTraceServiceResponse().SerializeToString()
        return Response(content, media_type="application/x-protobuf")

    async def wait_for(self, is_complete):
        async with self._news:
            await self._news.wait_for(lambda: is_complete(self.spans))


EXPECTED = {
    ("client", "trip"),
    ("client", "invoke_agent front"),
    ("front", "SendStreamingMessage"),
    ("front", "invoke_agent front"),
    ("front", "invoke_agent back"),
    ("back", "SendStreamingMessage"),
    ("back", "invoke_agent back"),
    ("back", "execute_tool look_up"),
}


async def test_a_chain_two_agents_and_a_tool_are_one_trace(monkeypatch):
    collector = Collector()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(running(collector.app))
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        served = "tests.plugins.tracing.served"
        settings = {**os.environ, "A2A_ADAPTERS_TRUST_TRACES": "all", "SERVICE": "back"}
        back = stack.enter_context(serving(f"{served}:back", settings, "--name", "back"))
        settings |= {"SERVICE": "front", "BACK": back}
        front = stack.enter_context(serving(f"{served}:front", settings, "--name", "front"))

        provider = TracerProvider(resource=Resource.create({"service.name": "client"}))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)  # private: it can be set only once
        remote = await stack.enter_async_context(RemoteAgent(front))
        chain = A2AChatModel(agent=remote) | StrOutputParser()
        with trace.get_tracer("test").start_as_current_span("trip") as trip:
            assert await chain.ainvoke("Rome?") == "It is sunny."
        trace_id = trip.get_span_context().trace_id.to_bytes(16, "big")
        await asyncio.to_thread(provider.force_flush)

        def ours(spans):
            return [each for each in spans.values() if each[1].trace_id == trace_id]

        await collector.wait_for(
            lambda spans: {(name, span.name) for name, span in ours(spans)} >= EXPECTED
        )
        usage = (await remote.send("Rome?")).usage
        await asyncio.to_thread(provider.shutdown)
    known = {span.span_id for _, span in ours(collector.spans)}
    parents = {(name, span.name): span.parent_span_id for name, span in ours(collector.spans)}
    assert {key for key, parent in parents.items() if parent not in known} == {("client", "trip")}
    assert usage == TokenUsage(6, 8, 14)
