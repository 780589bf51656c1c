"""Agents that export their spans, for processes of their own."""

from __future__ import annotations

import os

from a2a_adapters_langchain import A2AChatModel
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tests.plugins.langchain.support import Scripted

provider = TracerProvider(resource=Resource.create({"service.name": os.environ["SERVICE"]}))
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)


def look_up(city: str) -> str:
    """Look the weather up."""
    with trace.get_tracer("tool").start_as_current_span("execute_tool look_up"):
        return f"sunny in {city}"


def script():
    call = {"name": "look_up", "args": {"city": "Rome"}, "id": "1"}
    return [AIMessage("", tool_calls=[call]), AIMessage("It is sunny.")]


def back():
    """An agent with a tool."""
    return create_agent(Scripted(script=script()), [look_up])


def front():
    """A chain whose model is the other agent."""
    return A2AChatModel(agent=os.environ["BACK"]) | StrOutputParser()
