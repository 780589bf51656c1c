"""The run that resumes a task in another process links to the one before."""

from __future__ import annotations

from opentelemetry.trace import SpanKind

from a2a_adapters import Limits, RemoteAgent, ServerOptions, build_app
from a2a_adapters.testing import running
from tests.plugins.sql.test_takeover import Slow


async def test_a_resumed_run_links_to_the_run_before(tmp_path, spans):
    def served(adapter):
        limits = Limits(shutdown_seconds=0, sweep_seconds=0.05)
        storage = f"sqlite:///{tmp_path}/agents.db"
        return build_app(adapter, options=ServerOptions(storage=storage, limits=limits))

    first, second = Slow(), Slow()
    async with running(served(first)) as url, RemoteAgent(url) as remote:
        task = await remote.start("hello")
        await first.has_begun.wait()
        before = (await task.status()).metadata["a2a_adapters.traceparent"]
    async with running(served(second)) as url, RemoteAgent(url) as remote:
        await second.has_begun.wait()
        second.may_go_on.set()
        reply = await remote.task(task.id).result()
    assert (second.calls, reply.state) == (["resume"], "completed")
    after = reply.metadata["a2a_adapters.traceparent"]
    resumed = [
        each
        for each in spans()
        if each.kind is SpanKind.INTERNAL and f"{each.context.span_id:016x}" == after.split("-")[2]
    ]
    (link,) = resumed[0].links
    assert f"{link.context.span_id:016x}" == before.split("-")[2]
    assert resumed[0].parent is None
    followed = [each for each in spans() if each.attributes.get("rpc.method") == "SubscribeToTask"]
    assert f"{followed[-1].links[0].context.trace_id:032x}" == after.split("-")[1]
