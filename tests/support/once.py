"""An agent that calls another one as the model of its framework."""

from __future__ import annotations

from a2a_adapters import (
    AgentReply,
    AgentRequest,
    RemoteAgent,
    ServerOptions,
    TaskMetadata,
    TokenUsage,
    build_app,
)
from a2a_adapters.testing import running

SHOWN = ServerOptions(operators=["*"])
SPENT = TokenUsage(10, 1, 11)


async def inner(request: AgentRequest):
    """Use a model."""
    yield TaskMetadata({**SPENT.as_metadata(), "model": "small"})
    yield "done"


async def asked_through(make_outer) -> AgentReply:
    """Return the reply of the agent that `make_outer` makes on the remote agent."""
    async with (
        running(build_app(inner)) as url,
        RemoteAgent(url) as remote,
        running(build_app(make_outer(remote), options=SHOWN)) as outer_url,
        RemoteAgent(outer_url) as outer,
    ):
        return await outer.send("hello")


def assert_counted_once(reply: AgentReply) -> None:
    """Check that the framework has counted the remote agent's tokens, and nobody else."""
    assert reply.usage == SPENT
    bill = reply.metadata["a2a_adapters.bill"]
    (delegate,) = bill["delegates"]
    assert delegate["is_counted"] is True
    assert bill["models"]["small"]["total_tokens"] == 11
