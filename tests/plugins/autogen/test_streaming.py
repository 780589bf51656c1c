from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_autogen import adapt
from autogen_agentchat.agents import AssistantAgent, SocietyOfMindAgent
from autogen_agentchat.base import Response
from autogen_agentchat.conditions import (
    MaxMessageTermination,
    SourceMatchTermination,
    TextMentionTermination,
    TextMessageTermination,
)
from autogen_agentchat.messages import (
    ModelClientStreamingChunkEvent,
    TextMessage,
    ThoughtEvent,
)
from autogen_agentchat.teams import DiGraphBuilder, GraphFlow, SelectorGroupChat
from autogen_agentchat.tools import AgentTool
from autogen_core.models import CreateResult, RequestUsage

from a2a_adapters import TargetError, TaskMetadata, TextDelta
from tests.plugins.autogen.support import (
    Custom,
    agent,
    answer,
    ask,
    calling,
    deltas,
    model,
    only,
    request,
    round_robin,
)


class Scripted(Custom):
    """Streams the items of a script: chunks, events, and finally the text of its message."""

    def __init__(self, *script, name="scripted"):
        super().__init__(len, name)
        self._script = script

    async def on_messages_stream(self, messages, cancellation_token):
        *events, text = self._script
        for event in events:
            await asyncio.sleep(0)
            if isinstance(event, str):
                yield ModelClientStreamingChunkEvent(content=event, source=self.name)
            else:
                yield event
        yield Response(chat_message=TextMessage(content=text, source=self.name))


async def said(*script, **options):
    return deltas(await ask(adapt(lambda: Scripted(*script), **options), "hi"))


async def test_tokens_are_streamed_and_the_message_is_not_sent_again():
    assert deltas(await ask(adapt(lambda: agent("one two three")), "hi")) == [
        "one",
        " two",
        " three",
    ]


async def test_a_message_that_was_not_streamed_is_sent_whole():
    assert deltas(await ask(adapt(lambda: agent("one two", model_client_stream=False)), "hi")) == [
        "one two"
    ]


async def test_text_missing_from_the_stream_is_sent_at_the_end():
    assert await said("one ", "one two") == ["one", " two"]


async def test_a_message_that_differs_from_its_stream_is_sent_separately():
    assert await said("one", "two") == ["one", "\n\ntwo"]


async def test_text_before_a_tool_call_is_part_of_the_answer():
    def lookup() -> str:
        """Look it up."""
        return "42"

    adapter = adapt(
        lambda: agent(calling("lookup"), "it is 42", tools=[lookup], reflect_on_tool_use=True)
    )
    assert answer(await ask(adapter, "hi")) == "it is 42"


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        (["done", " TERMINATE"], "done"),
        (["done", "\n\nTERM", "INATE", ".\n"], "done"),
        (["TERM", "INATE"], ""),
        (["done T", "oday"], "done Today"),
        (["TERMINATE the process"], "TERMINATE the process"),
        (["DE", "TERMINATE"], "DETERMINATE"),
        (["the lesser T"], "the lesser T"),
        (["trailing space "], "trailing space "),
    ],
)
async def test_a_trailing_terminate_is_left_out(chunks, text):
    whole = "".join(chunks)
    assert "".join(await said(*chunks, whole)) == text
    assert "".join(await said(whole)) == text
    assert "".join(await said(*chunks, whole, strip_terminate=False)) == whole


@pytest.mark.parametrize(
    "chunks",
    [
        ["<think>", "hm", "</think>", "yes", " it is"],
        ["\n<th", "ink>hm</thi", "nk>\n\nyes it is"],
    ],
)
async def test_reasoning_in_the_stream_is_removed(chunks):
    script = (*chunks, ThoughtEvent(content="hm", source="scripted"), "yes it is")
    assert "".join(await said(*script)) == "yes it is"


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>hm hm</think>\n\nyes it is", "yes it is"),
        ("<think>hm hm</think>", ""),
        ("yes <think>it</think> is", "yes <think>it</think> is"),
    ],
)
async def test_reasoning_in_a_message_is_removed(text, said, is_streamed):
    def make():
        return agent(text, model_client_stream=is_streamed)

    assert answer(await ask(adapt(make), "hi")) == said
    assert answer(await ask(adapt(lambda: round_robin(make())), "hi")) == said
    assert answer(await ask(adapt(lambda: round_robin(make()), final="all"), "hi")) == (
        f"helper: {said}" if said else ""
    )


async def test_text_that_resembles_reasoning_is_kept():
    assert "".join(await said("<th", "ree>", "<three>")) == "<three>"
    assert "".join(await said("<", "<")) == "<"


async def test_the_last_message_of_a_team_is_the_answer():
    adapter = adapt(
        lambda: round_robin(agent("draft", name="writer"), agent("final", name="editor"))
    )
    events = await ask(adapter, "hi")
    assert deltas(events) == ["final"]
    assert only(events, TaskMetadata).values["source"] == "editor"


async def test_all_messages_of_a_team_can_be_the_answer():
    def make():
        return round_robin(agent("a draft", name="writer"), agent("the end", name="editor"))

    events = await ask(adapt(make, final="all"), "hi")
    assert deltas(events) == ["writer: a", " draft", "\n\neditor: the", " end"]


def graph(edges, **conditions):
    """Return a team of agents that say two words each, and pass the turn on along the edges."""
    names = dict.fromkeys(name for edge in edges for name in edge)
    members = {name: agent(f"{name} spoke", name=name) for name in names}
    builder = DiGraphBuilder()
    for member in members.values():
        builder.add_node(member)
    for source, target in edges:
        builder.add_edge(members[source], members[target], conditions.get(target))
    return GraphFlow(builder.get_participants(), graph=builder.build())


def pair(ends=None, **options):
    """Return a team of a writer and an editor, who speaks last."""
    return round_robin(
        agent("a draft", name="writer"),
        agent("the end", name="editor"),
        termination_condition=ends,
        **options,
    )


def selected():
    members = [agent("a draft", name="writer"), agent("the end", name="editor")]
    return SelectorGroupChat(members, model_client=model("writer", "editor"), max_turns=2)


def society():
    """Return a team with a member that has another team of the same name."""
    inner = round_robin(agent("a thought", name="inner"))
    member = SocietyOfMindAgent("society", inner, model("a draft"))
    return round_robin(member, agent("the end", name="editor"))


@pytest.mark.parametrize(
    "make",
    [
        pair,
        selected,
        society,
        lambda: pair(MaxMessageTermination(3), max_turns=None),
        lambda: pair(TextMentionTermination("no") | MaxMessageTermination(3), max_turns=None),
        lambda: pair(SourceMatchTermination(["editor"]), max_turns=None),
        lambda: pair(TextMessageTermination("editor"), max_turns=None),
        lambda: graph(["ab", "bc"]),
        lambda: graph(["ab", "ac"], b="spoke", c="nothing"),
        lambda: graph(["ab", "ac", "bd", "cd"]),
    ],
)
async def test_the_last_message_of_a_team_is_streamed_if_it_is_predictable(make):
    said = deltas(await ask(adapt(make), "hi"))
    assert len(said) == 2
    assert "".join(said) in {"the end", "b spoke", "c spoke", "d spoke"}


@pytest.mark.parametrize(
    "make",
    [
        lambda: pair(TextMentionTermination("end"), max_turns=None),
        lambda: pair(MaxMessageTermination(3) & TextMentionTermination("end"), max_turns=None),
        lambda: graph(["ab", "ac"]),
    ],
)
async def test_an_unpredictable_last_message_of_a_team_is_sent_whole(make):
    (said,) = deltas(await ask(adapt(make), "hi"))
    assert said in {"the end", "b spoke", "c spoke"}


async def test_messages_of_named_agents_can_be_the_answer():
    def make():
        return pair(TextMentionTermination("end"), max_turns=None)

    assert deltas(await ask(adapt(make, final=["editor"]), "hi")) == ["the", " end"]
    assert deltas(await ask(adapt(make, final=["writer"]), "hi")) == ["a", " draft"]
    both = deltas(await ask(adapt(make, final=["writer", "editor"]), "hi"))
    assert both == ["writer: a", " draft", "\n\neditor: the", " end"]


def test_final_refuses_names_outside_the_team():
    with pytest.raises(TargetError, match=r"'critic'.*'writer', 'editor'"):
        adapt(pair, final=["critic"])


async def test_messages_of_concurrent_agents_do_not_interleave():
    def make():
        builder = DiGraphBuilder()
        start = Custom(lambda _: "go", "start")
        left = Scripted("l1 ", "l2 ", "l3", "l1 l2 l3", name="left")
        right = Scripted("r1 ", "r2", "r1 r2", name="right")
        for member in (start, left, right):
            builder.add_node(member)
        builder.add_edge(start, left).add_edge(start, right)
        return GraphFlow([start, left, right], graph=builder.build())

    text = answer(await ask(adapt(make, final="all"), "hi"))
    assert sorted(text.split("\n\n")) == ["left: l1 l2 l3", "right: r1 r2", "start: go"]


async def test_messages_of_agents_behind_tools_are_not_the_answer():
    def make():
        inner = agent("inner words", name="inner")
        return agent(
            calling("inner", task="x"),
            "outer words",
            name="outer",
            tools=[AgentTool(inner, return_value_as_last_message=True)],
            reflect_on_tool_use=True,
        )

    assert deltas(await ask(adapt(make), "hi")) == ["outer", " words"]
    team = adapt(lambda: round_robin(make()), final="all")
    assert answer(await ask(team, "hi")) == "outer: outer words"


async def test_tokens_arrive_as_they_are_produced():
    go_on = asyncio.Event()
    client = model()

    async def create_stream(*_, **__):
        yield "first"
        await go_on.wait()
        yield " second"
        usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
        yield CreateResult(finish_reason="stop", content="first second", usage=usage, cached=False)

    client.create_stream = create_stream
    adapter = adapt(lambda: AssistantAgent("helper", client, model_client_stream=True))
    events = adapter.stream(request("hi"))
    assert await anext(events) == TextDelta("first")
    go_on.set()
    assert await anext(events) == TextDelta(" second")
    await events.aclose()
