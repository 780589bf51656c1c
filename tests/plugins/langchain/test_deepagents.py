"""Agents of deepagents are graphs: their files, subagents and approvals."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_langchain import adapt

from a2a_adapters import File, Output, Text, ToolCall, build_app
from a2a_adapters.testing import answer_of, connect, running, user_message
from tests.support.adapters import ask
from tests.support.agents.isolation import send

deepagents = pytest.importorskip("deepagents")

from deepagents.middleware.rubric import RubricMiddleware  # noqa: E402 - only with deepagents
from langchain.agents import create_agent  # noqa: E402 - only with deepagents
from langchain.agents.middleware import after_model  # noqa: E402 - only with deepagents
from langchain_core.language_models import BaseChatModel  # noqa: E402 - only with deepagents
from langchain_core.messages import AIMessage, HumanMessage  # noqa: E402
from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: E402
from langchain_core.tools import tool  # noqa: E402

PATH = "/reports/a.md"


class Scripted(BaseChatModel):
    """Writes the user's words into a file, or reads that, and repeats the last result."""

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, *_, **__):
        return self

    def _generate(self, messages, *_, **__):
        begun = max(i for i, each in enumerate(messages) if isinstance(each, HumanMessage))
        step = len(messages) - begun - 1
        text = messages[begun].text
        message = AIMessage(messages[-1].text)
        if step == 0:
            message = AIMessage("", tool_calls=[self._call(text)])
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _call(self, text):
        calls = {
            "read": ("read_file", {"file_path": PATH}),
            "delegate": ("task", {"description": "hello", "subagent_type": "helper"}),
            "publish": ("publish", {"path": PATH}),
        }
        name, args = calls.get(text, ("write_file", {"file_path": PATH, "content": text}))
        return {"name": name, "args": args, "id": f"call-{text}"}


class Helping(Scripted):
    """Answers at once."""

    def _generate(self, *_, **__):
        return ChatResult(generations=[ChatGeneration(message=AIMessage("helped"))])


@tool
def publish(path: str) -> str:
    """Publish a report."""
    return f"{path} is published"


def make(**options):
    """Return an agent with a subagent."""
    helper = {
        "name": "helper",
        "description": "Helps.",
        "system_prompt": "Help.",
        "model": Helping(),
    }
    return deepagents.create_deep_agent(
        model=Scripted(), tools=[publish], subagents=[helper], **options
    )


async def test_files_are_artifacts():
    events = await ask(adapt(make(), files=["/reports/*"]), "words")
    parts = [part for each in events if isinstance(each, Output) for part in each.parts]
    (file,) = [part for part in parts if isinstance(part, File)]
    assert (file.filename, file.content) == ("a.md", b"words")


async def test_a_subagent_is_progress_and_its_words_are_no_answer():
    events = await ask(adapt(make()), "delegate", wants_progress=True)
    calls = [each.name for each in events if isinstance(each, ToolCall)]
    assert calls == ["task"]
    parts = [part for each in events if isinstance(each, Output) for part in each.parts]
    assert parts == [Text("helped")]  # by the agent, once


@after_model
def guard(state, runtime):
    """Look at each message."""


@pytest.mark.filterwarnings("ignore::langchain_core._api.beta_decorator.LangChainBetaWarning")
def test_only_guards_of_the_agent_itself_hold_its_text():
    inner = create_agent(Helping(), middleware=[guard])
    helper = {"name": "careful", "description": "Helps.", "runnable": inner}
    assert not adapt(deepagents.create_deep_agent(Scripted(), subagents=[helper])).holds_text
    assert adapt(make(middleware=[guard])).holds_text
    assert adapt(make(middleware=[RubricMiddleware(model=Scripted())])).holds_text


async def test_approvals_are_questions():
    app = build_app(make(interrupt_on={"publish": True}), name="x")
    async with running(app) as url, connect(url) as client:
        task = await send(client, user_message("publish"))
        assert "publish" in task.status.message.parts[0].text
        task = await send(client, user_message("approve", task_id=task.id))
    assert answer_of(task) == f"{PATH} is published"


async def test_callers_have_files_of_their_own():
    async def talk(caller):
        async with connect(url, user=caller) as client:
            await send(client, user_message(f"by {caller}", context_id="shared"))
            task = await send(client, user_message("read", context_id="shared"))
        return caller, answer_of(task)

    async with running(build_app(make(), name="x")) as url:
        told = await asyncio.gather(*(talk(f"caller{n}") for n in range(10)))
    assert all(f"by {caller}" in heard for caller, heard in told)
