"""Serves teams with user proxies in a process that tests kill."""

from __future__ import annotations

import sys

from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import DiGraphBuilder, GraphFlow, RoundRobinGroupChat

from a2a_adapters import ServerOptions, serve
from tests.plugins.autogen.support import Custom


def writer():
    return Custom(lambda texts: f"draft {len(texts)} after {texts[-1]}", "writer")


def nested():
    """Return a team in which another team asks."""
    ends = TextMentionTermination("APPROVE", sources=["human"])
    inner = RoundRobinGroupChat(
        [writer(), UserProxyAgent("human")], name="inner", termination_condition=ends
    )
    return RoundRobinGroupChat([inner], max_turns=1)


def graph():
    """Return a graph of agents, one of whom asks."""
    members = [writer(), UserProxyAgent("human")]
    builder = DiGraphBuilder()
    for member in members:
        builder.add_node(member)
    builder.add_edge(*members)
    return GraphFlow(members, builder.build())


if __name__ == "__main__":
    target = {"nested": nested, "graph": graph}
    serve(target, port=0, options=ServerOptions(storage=sys.argv[1]))
