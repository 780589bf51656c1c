"""Answers, progress, memory, input and cards of agents."""

from __future__ import annotations

import asyncio
import io
import json
import threading

import PIL.Image
import pytest
from openai import OpenAI
from smolagents import CodeAgent, ToolCallingAgent, UserInputTool
from smolagents.local_python_executor import LocalPythonExecutor, PythonExecutor
from smolagents.memory import AgentMemory
from smolagents.models import ChatMessage, MessageRole, Model
from smolagents.monitoring import LogLevel

from a2a_adapters import (
    Data,
    File,
    InvalidInputError,
    Limits,
    Output,
    Progress,
    RemoteAgent,
    TargetError,
    TaskMetadata,
    Text,
    ToolCall,
    ToolResult,
    build_app,
    current_request,
)
from a2a_adapters.plugin import as_json
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.smolagents import support
from tests.plugins.smolagents.support import (
    Fake,
    adapt,
    agent,
    calling,
    coding,
    made,
    results,
    said,
    script,
    team,
    tool,
)
from tests.support.adapters import Process, answer, ask, data, failure, only, request
from tests.support.agents import memory, serving
from tests.support.agents.state import hostile_values
from tests.support.real_model import EXAMPLE, address


class TestInput(serving.Input):
    support = support


class TestMemory(memory.Memory):
    support = support


def png():
    content = io.BytesIO()
    PIL.Image.new("RGB", (1, 1)).save(content, "PNG")
    return content.getvalue()


def look(city: str) -> str:
    """Look."""
    return f"rain in {city}"


async def test_steps_and_tools_are_progress_and_usage_is_reported():
    model = script(calling("look", city="Rome"), "It rains.")
    events = await ask(adapt(made(model, tools=[tool(look)])), "hi", wants_progress=True)
    assert answer(events) == "It rains."
    assert only(events, ToolCall) == ToolCall("c1", "look", {"city": "Rome"})
    assert only(events, ToolResult) == ToolResult("c1", "look", "rain in Rome")
    steps = [event for event in events if isinstance(event, Progress)]
    assert steps == [Progress(f"Step {number}", {"kind": "step"}) for number in (1, 2)]
    assert only(events, TaskMetadata).values["usage"]["total_tokens"] == 10


async def test_code_is_run_and_reported():
    events = await ask(adapt(coding("x = 6 * 7", "final_answer(x)")), "hi", wants_progress=True)
    assert as_json(data(events)) == [42]
    calls = [event for event in events if isinstance(event, ToolCall)]
    assert [(each.name, each.arguments) for each in calls] == [
        ("python_interpreter", "x = 6 * 7"),
        ("python_interpreter", "final_answer(x)"),
    ]
    assert len([event for event in events if isinstance(event, ToolResult)]) == 2


async def test_checked_answers_are_in_no_progress():
    def allowed(answer, memory, agent):
        return "bomb" not in answer

    served = adapt(
        coding('final_answer("a bomb")', 'final_answer("no")', final_answer_checks=[allowed])
    )
    events = await ask(served, "hi", wants_progress=True)
    assert answer(events) == "no"
    assert "bomb" not in str(events)


async def test_the_limit_of_steps_is_a_category_if_answers_are_checked():
    model = Fake(lambda messages: calling("look", f"c{len(messages)}", city="Rome"))
    options = {"tools": [tool(look)], "max_steps": 2}
    checked = made(model, **options, final_answer_checks=[lambda *_, **__: True])
    assert await failure(adapt(checked)) == "limit"


async def test_members_are_copied_and_counted():
    member = agent("It rains.", name="desk", description="Knows the weather.")
    boss = team(member, calling("desk", task="weather?"), "Rain.")
    events = await ask(adapt(boss), "hi", wants_progress=True)
    assert answer(events) == "Rain."
    assert only(events, ToolCall).name == "desk"
    assert only(events, TaskMetadata).values["usage"]["total_tokens"] == 15
    assert not member.memory.steps
    assert not boss.memory.steps


async def test_images_go_in_and_out():
    model = script("seen")
    await ask(adapt(made(model)), "look", File(content=png(), media_type="image/png"))
    kinds = [part["type"] for part in model.heard[0][0].content]
    assert kinds == ["text", "image"]

    def draw() -> PIL.Image.Image:
        """Draw."""
        return PIL.Image.new("RGB", (1, 1))

    artist = coding("final_answer(draw())", 'final_answer([draw(), "look", {"x": 1}, draw()])')
    artist.tools["draw"] = tool(draw)
    adapter = adapt(artist)
    [file] = only(await ask(adapter, "hi"), Output).parts
    assert file.content.startswith(b"\x89PNG")
    assert only(await ask(adapter, "more"), Output).parts == [
        file,
        Text("look"),
        Data({"x": 1}),
        file,
    ]


@pytest.mark.parametrize(
    "file", [File(content=b"x", media_type="text/csv"), File(content=b"x", media_type="image/png")]
)
def test_other_files_are_refused(file):
    with pytest.raises(InvalidInputError, match="image"):
        adapt(agent("never")).stream(request("look", file))


async def test_failed_runs_leave_the_conversation_unchanged():
    model = script("one", RuntimeError("down"), "three")
    adapter = adapt(made(model))
    await ask(adapter, "first")
    with pytest.raises(Exception, match="down"):
        await ask(adapter, "second")
    await ask(adapter, "third")
    assert said(model.heard[-1]) == ["first", "third"]


async def test_cancelled_runs_call_no_more_tools():
    begun, go, called = threading.Event(), threading.Event(), []

    def wait(messages):
        if begun.is_set():
            return " ".join(said(messages))
        begun.set()
        go.wait()
        return calling("work")

    def work() -> str:
        """Work."""
        called.append(1)
        return "done"

    app = build_app(made(Fake(wait), tools=[tool(work)]))
    async with running(app) as url, RemoteAgent(url) as remote:
        task = await remote.start("hi")
        await asyncio.to_thread(begun.wait)
        await task.cancel()
        go.set()
        again = await remote.send("hi", context_id=task.context_id)
    assert not called
    assert again.text == "hi"


async def test_tools_find_the_request():
    def me() -> str:
        """Name the caller."""
        asked = current_request()
        return f"{asked.owner} in {asked.context_id}"

    model = Fake(lambda messages: results(messages).get("c1") or calling("me"))
    async with running(build_app(made(model, tools=[tool(me)]))) as url:
        for owner in ("ann", "bob"):
            async with connect(url, user=owner) as client:
                task = await send(client, user_message("hi", context_id="trip"))
            assert answer_of(task) == f"{owner} in trip"


async def test_callers_of_one_agent_are_isolated():
    served = adapt(made(Fake(lambda messages: " ".join(said(messages)))), limits=Limits())
    async with running(build_app(served, name="helper")) as url:

        async def talk(name):
            async with connect(url, user=name) as client:
                for turn in range(3):
                    text = user_message(f"{name}.{turn}", context_id="shared")
                    task = await send(client, text)
            return answer_of(task)

        answers = await asyncio.gather(*(talk(f"caller{n}") for n in range(6)))
    assert answers == [f"caller{n}.0 caller{n}.1 caller{n}.2" for n in range(6)]


def test_the_card_has_the_tools_and_no_instructions():
    about = {"name": "weather", "description": "Knows it.", "instructions": "SECRET"}
    card = adapt(made(script(), tools=[tool(look)], **about)).describe()
    assert (card.name, card.description) == ("weather", "Knows it.")
    assert [(skill.id, skill.description) for skill in card.skills] == [("look", "Look.")]
    assert "SECRET" not in str(card)


class Own(PythonExecutor):
    def __call__(self, code):
        raise NotImplementedError

    def send_tools(self, tools):
        pass

    def send_variables(self, variables):
        pass


class Stricter(LocalPythonExecutor):
    def __call__(self, code):
        raise ValueError("no code here")


class Guarded(ToolCallingAgent):
    def run(self, *arguments, **options):
        return str(super().run(*arguments, **options))


class Memory(AgentMemory):
    def reset(self):
        raise ValueError("it stays")


def test_what_cannot_be_copied_is_refused():
    remembering = agent("x")
    remembering.memory = Memory("")
    with pytest.raises(TargetError, match="step_callbacks"):
        adapt(remembering)
    with pytest.raises(TargetError, match="terminal"):
        adapt(agent("x", tools=[UserInputTool()]))
    for executor in (Own(), Stricter([])):
        with pytest.raises(TargetError, match="executor"):
            adapt(coding("x", executor=executor))
    with pytest.raises(TargetError, match="final_answer_checks"):
        adapt(Guarded(tools=[], model=script("x")))


async def test_data_is_json_for_the_model():
    model = script("ok")
    await ask(adapt(made(model)), Data({"n": 1}))
    assert said(model.heard[0]) == ['{"n":1}']


async def test_stored_state_names_no_class(url, tmp_path):
    values = [json.dumps(value) for value in hostile_values(tmp_path / "mark")]
    for value in (*values, "all"):
        served = made(Fake(lambda messages: json.dumps(said(messages))))
        async with Process(url, adapt(served), "agent") as adapter:
            heard = answer(await ask(adapter, value))
    assert json.loads(heard) == [*values, "all"]
    assert not (tmp_path / "mark").exists()


class Local(Model):
    """The local model, which is too small to write code: what it says is the final answer."""

    def __init__(self, url):
        super().__init__()
        self._url = url

    def generate(self, messages, **_):
        asked = {"role": "user", "content": said(messages)[-1]}
        client = OpenAI(base_url=self._url, api_key="none")
        options = {"temperature": 0, "max_tokens": 24, "stop": ["\n", "<"]}
        made = client.chat.completions.create(model="local", messages=[*EXAMPLE, asked], **options)
        code = f"final_answer({made.choices[0].message.content!r})"
        return ChatMessage(MessageRole.ASSISTANT, f"<code>\n{code}\n</code>")


@pytest.mark.model
@pytest.mark.timeout(300)
async def test_a_real_model_answers():
    guide = CodeAgent(tools=[], model=Local(address()), verbosity_level=LogLevel.OFF)
    async with running(build_app(guide)) as url, connect(url) as caller:
        task = await send(caller, user_message("What is the capital of France?"))
    assert "Paris" in answer_of(task)
