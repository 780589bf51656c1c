"""Files in a graph's state, as in deepagents, are artifacts of the task that wrote them."""

from __future__ import annotations

import base64
from operator import or_
from typing import Annotated

import pytest
from a2a_adapters_langchain import adapt
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from a2a_adapters import (
    ConfigurationError,
    Data,
    File,
    InputRequired,
    Output,
    RemoteAgent,
    build_app,
)
from a2a_adapters.testing import running
from tests.plugins.langchain.support import answer, ask, reply, run

PNG = b"\x89PNG"
AT = {"created_at": "2026-01-01T00:00:00Z", "modified_at": "2026-01-01T00:00:00Z"}


class State(MessagesState):
    """The state of deepagents, whose reducer also merges files."""

    files: Annotated[dict, or_]


def graph(*turns, asks=False):
    """Return an agent that writes files in each turn, and may then ask a question."""
    script = iter(turns)

    def write(state):
        return {"files": next(script)}

    def finish(state):
        if asks:
            interrupt("Go on?")
        return {"messages": [AIMessage("Done.")]}

    builder = StateGraph(State)
    builder.add_node("write", write)
    builder.add_node("finish", finish)
    builder.add_edge(START, "write")
    builder.add_edge("write", "finish")
    return builder.compile(checkpointer=InMemorySaver())


def files(events):
    outputs = [event for event in events if isinstance(event, Output)]
    return {each.name: each.parts for each in outputs if isinstance(each.parts[0], File)}


@pytest.mark.parametrize(
    "record",
    [
        {"content": "# Rome\n\nGrün.", "encoding": "utf-8", **AT},
        {"content": ["# Rome", "", "Grün."], **AT},
        "# Rome\n\nGrün.",
    ],
    ids=["deepagents 0.7", "deepagents 0.3", "deepagents 0.0"],
)
async def test_a_file_is_an_artifact(record):
    events = await ask(adapt(graph({"/notes/rome.md": record}), files=["*"]), "Rome")
    content = "# Rome\n\nGrün.".encode()
    expected = File(content=content, filename="rome.md", media_type="text/markdown")
    assert files(events) == {"/notes/rome.md": [expected]}
    assert answer(events) == "Done."


async def test_binary_files_and_unknown_types_are_sent():
    image = {"content": base64.b64encode(PNG).decode(), "encoding": "base64"}
    other = {"content": "x", "encoding": "utf-8"}
    events = await ask(adapt(graph({"/a.png": image, "/LICENCE": other}), files=["*"]), "?")
    found = {name: (part.content, part.media_type) for name, [part] in files(events).items()}
    assert found == {"/a.png": (PNG, "image/png"), "/LICENCE": (b"x", "text/plain")}


async def test_tasks_have_only_the_files_they_wrote():
    agent = adapt(graph({"/a": "1", "/b": "1"}, {"/b": "2", "/c": "1"}), files=["*"])
    assert files(await ask(agent, "first")).keys() == {"/a", "/b"}
    assert files(await ask(agent, "second")).keys() == {"/b", "/c"}


async def test_files_are_sent_before_a_question():
    agent = adapt(graph({"/a": "1"}, asks=True), files=["*"])
    asked = await ask(agent, "first")
    assert files(asked).keys() == {"/a"}
    assert isinstance(asked[-1], InputRequired)
    went_on = await run(agent, reply(asked[-1], "yes"))
    assert files(went_on) == {}


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, set()), ({"files": ["/reports/*", "*.csv"]}, {"/reports/a/b.md", "/x.csv"})],
)
async def test_only_matching_files_are_sent(options, expected):
    written = dict.fromkeys(["/reports/a/b.md", "/x.csv", "/large_tool_results/1"], "x")
    assert files(await ask(adapt(graph(written), **options), "?")).keys() == expected


async def test_files_are_not_repeated_as_data():
    class Report(TypedDict):
        files: dict
        pages: int

    builder = StateGraph(Report)
    builder.add_node("write", lambda _: {"files": {"/a": "1"}, "pages": 3})
    builder.add_edge(START, "write")
    data, file = await ask(adapt(builder.compile(), input=lambda _: {"pages": 0}, files=["*"]), "?")
    assert data.parts == (Data({"pages": 3}),)
    assert file.name == "/a"


async def test_callers_receive_the_files():
    app = build_app(adapt(graph({"/a.txt": "hello"}), files=["*"]))
    async with running(app) as url, RemoteAgent(url) as agent:
        got = await agent.send("?")
    assert got.text == "Done."
    assert [(file.filename, file.content) for file in got.files] == [("a.txt", b"hello")]


@pytest.mark.parametrize(
    ("target", "patterns", "reason"),
    [
        (graph(), "*", "files must be a list of strings"),
        (RunnableLambda(str), ["*"], "this runnable has no state"),
    ],
)
def test_wrong_patterns_are_refused(target, patterns, reason):
    with pytest.raises(ConfigurationError, match=reason):
        adapt(target, files=patterns)
