"""A caller's trace continues in the worker that runs the workflow."""

from __future__ import annotations

from a2a_adapters_dbos import adapt
from dbos import DBOS

from a2a_adapters import RemoteAgent, ServerOptions, build_app
from a2a_adapters.testing import running
from tests.plugins.dbos import support


async def test_the_trace_continues_in_a_worker_of_a_queue(tmp_path, spans):
    app = build_app(adapt(support.echo, queue="traced"), options=ServerOptions(trust_traces="all"))
    with support.launched(f"sqlite:///{tmp_path}/dbos.db", enable_otlp=True):
        DBOS.launch()
        await DBOS.register_queue_async("traced", polling_interval_sec=0.05)
        async with running(app) as url:
            await RemoteAgent(url).send("hello")
    traces = {span.name: span.context.trace_id for span in spans()}
    assert traces["echo"] == traces["invoke_agent echo"]
