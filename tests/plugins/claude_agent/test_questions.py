"""Permissions and questions: what is asked, what is refused, and what the answers do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar

import pytest
from claude_agent_sdk import AgentDefinition, HookMatcher, PermissionResultDeny

from a2a_adapters import Data, InputRequired, Rejected
from a2a_adapters.plugin import AgentFailedError
from tests.plugins.claude_agent import support
from tests.plugins.claude_agent.support import adapt, made, results, said, script, using
from tests.support.adapters import Process, answer, data, deltas, only, request
from tests.support.agents.questions import no

CONTENT = "Remember the milk.\n"


def writer(*paths, **options):
    """Return an agent that writes files, one after the other, and then says what came of it."""

    def model(messages):
        told = [block for each in messages for block in _results(each)]
        if len(told) < len(paths) and not any("denied" in each for each in said(messages)):
            path = Path(agent.cwd) / paths[len(told)]
            return using("Write", f"c{len(messages)}", file_path=str(path), content=CONTENT)
        return " / ".join(told) or "nothing"

    agent = made(support.Fake(model), **options)
    return agent


def _results(message):
    """Return the results of tools in a message, but for calls of a process that has ended."""
    found = results([message]).values()
    return [each for each in found if not each.startswith("[Tool call interrupted")]


class Talk:
    """A conversation with an adapter, as the server has it."""

    begun: ClassVar[list[Talk]] = []

    def __init__(self, adapter, **fields):
        self.begun.append(self)
        self._adapter = adapter
        self._fields = fields
        self.events = []

    async def say(self, text, **fields):
        """Send a message; return the events up to a question or the end."""
        self._run = self._adapter.stream(request(text, **self._fields, **fields))
        return await self._read(anext(self._run))

    async def reply(self, *parts):
        """Answer the question; return the events up to the next one or the end."""
        return await self._read(self._run.asend(request(*parts, **self._fields)))

    async def close(self):
        await self._run.aclose()

    async def _read(self, first):
        events = []
        try:
            events.append(await first)
            while not isinstance(events[-1], InputRequired):
                events.append(await anext(self._run))
        except StopAsyncIteration:
            pass
        return events


@pytest.fixture(autouse=True)
async def talks():
    yield
    while Talk.begun:
        await Talk.begun.pop().close()


async def test_the_caller_decides_about_a_tool():
    agent = writer("notes.txt", "more.txt")
    talk = Talk(adapt(agent))
    asked = only(await talk.say("write"), InputRequired)
    assert asked.durable
    assert asked.waits
    assert asked.prompt == (
        "The agent asks for permission:\n\n"
        '    Write {\n      "file_path": "notes.txt",\n'
        '      "content": "Remember the milk.\\n"\n    }\n\n'
        "Answer yes, always or no."
    )
    [part] = asked.parts
    assert part.value["permission"]["arguments"]["file_path"] == "notes.txt"
    again = only(await talk.reply("perhaps"), InputRequired)
    assert again.prompt == f"That is not one of the answers.\n\n{asked.prompt}"
    assert "more.txt" in only(await talk.reply("yes"), InputRequired).prompt
    assert "The user did not approve" in answer(await talk.reply("no, it is secret"))
    folder = Path(agent.cwd)
    assert (folder / "notes.txt").read_text() == CONTENT
    assert not (folder / "more.txt").exists()


async def test_always_allows_similar_calls_until_the_task_ends():
    agent = writer("one.txt", "two.txt")
    adapter = adapt(agent)
    talk = Talk(adapter)
    only(await talk.say("write"), InputRequired)
    assert "two.txt" in answer(await talk.reply("always"))
    (Path(agent.cwd) / "one.txt").unlink()  # a file that exists has to be read first
    assert only(await Talk(adapter, context_id="other").say("write"), InputRequired)


@pytest.mark.parametrize("path", ["/etc/a2a", "../notes.txt"])
async def test_paths_outside_the_folder_are_refused_without_asking(path):
    events = await Talk(adapt(writer(path))).say("write")
    assert "not permitted here" in answer(events)


async def test_without_questions_tools_are_refused():
    events = await Talk(adapt(writer("notes.txt"), ask=False)).say("write")
    assert "not permitted here" in answer(events)


async def test_an_own_callback_decides_first():
    async def decide(tool, given, _):
        return None if given["file_path"].endswith("b.txt") else PermissionResultDeny(message="No.")

    talk = Talk(adapt(writer("a.txt", "b.txt", can_use_tool=decide)))
    assert "b.txt" in only(await talk.say("write"), InputRequired).prompt
    assert answer(await talk.reply("yes")).startswith("No. / File created")


async def test_an_agent_that_insists_fails():
    adapter = adapt(writer(*["/etc/a2a"] * 60))
    with pytest.raises(AgentFailedError, match="insists"):
        await Talk(adapter).say("write")


async def test_an_answer_after_a_restart_continues_the_session(url):
    agent = writer("notes.txt")
    async with Process(url, adapt(agent)) as adapter:
        talk = Talk(adapter)
        only(await talk.say("write"), InputRequired)
        await talk.close()
    assert not (Path(agent.cwd) / "notes.txt").exists()
    async with Process(url, adapt(agent)) as adapter:
        again = only(await Talk(adapter).say("perhaps", resuming=True), InputRequired)
        assert again.prompt.startswith("That is not one of the answers.")
        events = await Talk(adapter).say("yes", resuming=True)
    assert answer(events).startswith("File created")
    assert (Path(agent.cwd) / "notes.txt").read_text() == CONTENT


async def test_a_refusal_after_a_restart_reaches_the_agent():
    model = script(using("Bash", command="rm -r src"), "Fine.")
    adapter = adapt(made(model))
    talk = Talk(adapter)
    only(await talk.say("clean up"), InputRequired)
    await talk.close()
    assert answer(await Talk(adapter).say("no, keep it", resuming=True)) == "Fine."
    told = said(model.heard[-1])
    assert told[0] == "clean up"
    assert 'Bash {"command": "rm -r src"}\nPermission is denied. keep it Go on.' in told[-1]


def choice(question, **options):
    """Return a question of the tool `AskUserQuestion`."""
    given = [{"label": name, "description": text} for name, text in options.items()]
    return {"question": question, "header": "Trip", "options": given, "multiSelect": False}


async def test_the_questions_of_the_agent_are_those_of_the_task():
    asked = [
        choice("Which city?", Rome="Warm.", Oslo="Cold."),
        choice("When?", Today="", Later=""),
    ]
    model = script(using("AskUserQuestion", questions=asked), "Booked.")
    talk = Talk(adapt(made(model)))
    question = only(await talk.say("book"), InputRequired)
    assert question.prompt.startswith("1. Which city?\n- Rome: Warm.\n- Oslo: Cold.\n2. When?")
    assert data([question])[-1]["response_schema"]["required"] == ["Which city?", "When?"]
    assert only(await talk.reply(" "), InputRequired).prompt.startswith("That answers nothing.")
    assert only(await talk.reply("Rome"), InputRequired).prompt.startswith("When?")
    assert answer(await talk.reply(Data({"When?": "Later"}))) == "Booked."
    told = results(model.heard[-1])["c1"]
    assert '"Which city?"="Rome"' in told
    assert '"When?"="Later"' in told


async def test_what_the_agent_says_while_its_subagent_asks_is_withdrawn():
    asked = asyncio.Event()

    async def ask(*_):
        asked.set()

    async def check(*_):
        await asked.wait()
        return {}

    def model(messages):
        if said(messages)[0] != "book":  # it is the subagent's
            return using("Bash", command="rm notes.txt")
        if "tool_result" not in str(messages):
            return using("Agent", description="look", prompt="look", subagent_type="scout")
        return "Booked." if "restarted" in said(messages)[-1] else "The scout books."

    options = {
        "agents": {"scout": AgentDefinition(description="Books.", prompt="Book.")},
        "can_use_tool": ask,
        "hooks": {"Stop": [HookMatcher(hooks=[check])]},
    }
    adapter = adapt(made(support.Fake(model), **options))
    talk = Talk(adapter)
    events = await talk.say("book")
    assert only(events, InputRequired)
    assert deltas(events)
    assert answer(events) == ""
    await talk.close()
    assert answer(await Talk(adapter).say("yes", resuming=True)) == "Booked."


async def test_open_questions_block_new_tasks_until_abandoned():
    adapter = adapt(writer("notes.txt"))
    talk = Talk(adapter)
    only(await talk.say("write"), InputRequired)
    only(await Talk(adapter, task_id="other").say("hello?"), Rejected)
    await talk.close()
    await adapter.abandon(request())
    only(await Talk(adapter, task_id="other").say("write"), InputRequired)


async def test_questions_of_lost_tasks_are_dropped():
    adapter = adapt(writer("notes.txt"))
    talk = Talk(adapter)
    only(await talk.say("write"), InputRequired)
    await talk.close()
    only(await Talk(adapter, task_id="other").say("write", others_wait=no), InputRequired)


async def test_a_waiting_process_gives_its_place_to_another_run():
    agent = writer("notes.txt")
    adapter = adapt(agent, processes=1)
    first, second = (Talk(adapter, context_id=name) for name in ("one", "two"))
    for events in await asyncio.gather(first.say("write"), second.say("write")):
        only(events, InputRequired)
    for talk in (second, first):
        assert answer(await talk.reply("yes")).startswith("File created")
        (Path(agent.cwd) / "notes.txt").unlink()  # a file that exists has to be read first
