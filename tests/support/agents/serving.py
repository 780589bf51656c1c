"""Answers of agents, and runs that fail or are cancelled."""

from __future__ import annotations

import asyncio
import gc
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from a2a_adapters import (
    Data,
    File,
    InvalidInputError,
    Progress,
    TargetError,
    TaskMetadata,
    Text,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.plugin import Factory
from tests.support.adapters import answer, ask, deltas, only, request

if TYPE_CHECKING:
    from tests.support.agents import Support


class Running:
    """The runs of an agent."""

    support: ClassVar[Support]

    def adapter(self, model, *functions):
        tools = [self.support.tool(function) for function in functions]
        return self.support.adapt(self.support.made(model, tools=tools))

    async def test_failed_runs_leave_the_conversation_unchanged(self):
        model = self.support.script("one", RuntimeError("down"), "three")
        adapter = self.adapter(model)
        await ask(adapter, "first")
        with pytest.raises(RuntimeError):
            await ask(adapter, "second")
        await ask(adapter, "third")
        assert self.support.said(model.heard[-1]) == ["first", "third"]

    @pytest.mark.parametrize("where", ["model", "tool"])
    async def test_cancelling_stops_models_and_tools_at_once(self, where):
        begun, stopped = asyncio.Event(), asyncio.Event()

        async def work() -> str:
            """Work."""
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
            return ""

        support, call = self.support, self.support.calling("work")
        model = support.Fake(lambda _: work()) if where == "model" else support.script(call, "x")
        await _cancelled_when(begun, self.adapter(model, work))
        await self.check_stopped(stopped)
        assert len(model.heard) == 1

    async def check_stopped(self, stopped):
        """Check that the work of a cancelled run has stopped."""
        assert stopped.is_set()

    async def test_cancelled_runs_do_not_change_the_conversation(self):
        begun = asyncio.Event()

        async def first(messages):
            if self.support.said(messages) == ["hi"]:
                begun.set()
                await asyncio.Event().wait()
            return " ".join(self.support.said(messages))

        adapter = self.adapter(self.support.Fake(first))
        await _cancelled_when(begun, adapter)
        assert answer(await ask(adapter, "ho")) == "ho"

    async def test_unanswered_requests_leave_nothing_behind(self):
        model = self.support.script("never")
        events = self.adapter(model).stream(request("hi"))
        await events.aclose()
        del events
        gc.collect()  # reports coroutines that were never awaited
        assert not model.heard


async def _cancelled_when(begun, adapter):
    """Begin a run and cancel it when `begun` is set."""
    run = asyncio.create_task(ask(adapter, "hi"))
    await begun.wait()
    run.cancel()
    await asyncio.wait({run})
    assert run.cancelled()


class Input:
    """The parts of messages."""

    support: ClassVar[Support]

    async def test_text_and_data_are_plain_text(self):
        model = self.support.script("ok")
        await ask(self.support.adapt(self.support.made(model)), "one", Data([2]))
        assert self.support.said(model.heard[0]) == ["one\n[2]"]

    @pytest.mark.parametrize("parts", [(), ("  ",), (File(url="http://example.com/a.png"),)])
    async def test_unsupported_input_is_refused_before_a_task_exists(self, parts):
        adapter = self.support.adapt(self.support.made(self.support.script("unused")))
        with pytest.raises(InvalidInputError):
            adapter.stream(request(*parts))

    def test_other_targets_are_refused(self):
        with pytest.raises(TargetError):
            self.support.adapt("no agent")

    def test_factories_are_served(self):
        build_app(lambda: self.support.made(self.support.script("hello")))


class Serving(Running):
    """The answers, progress and card of an agent."""

    thought: ClassVar[Any]
    """What a model answers that thinks `hm`."""

    instructions = "instructions"
    """The option with an agent's instructions."""

    async def test_tokens_are_streamed_and_usage_is_reported(self):
        events = await ask(self.adapter(self.support.script("one two three")), "hi")
        assert deltas(events) == ["one", " two", " three"]
        assert only(events, TaskMetadata).values["usage"]["total_tokens"] == 5

    async def test_thoughts_and_tools_are_progress_and_texts_are_paragraphs(self):
        def look(city: str) -> str:
            """Look."""
            return f"rain in {city}"

        call = self.support.calling("look", city="Rome")
        model = self.support.script([self.thought, "Let me see.", call], "It rains.")
        events = await ask(self.adapter(model, look), "hi", wants_progress=True)
        assert answer(events) == "Let me see.\n\nIt rains."
        assert only(events, Progress) == Progress("hm", {"kind": "thought"})
        assert only(events, ToolCall) == ToolCall("c1", "look", {"city": "Rome"})
        assert only(events, ToolResult) == ToolResult("c1", "look", "rain in Rome")

    async def test_progress_is_off_by_default(self):
        events = await ask(self.adapter(self.support.script([self.thought, "y"])), "hi")
        assert not [event for event in events if isinstance(event, Progress)]

    @abstractmethod
    def me(self) -> Any:
        """Return the tool `me`, which returns the owner and the context id as `ann in trip`."""

    async def test_tools_find_the_request(self):
        support, call = self.support, self.support.calling("me")
        model = support.Fake(lambda messages: support.results(messages).get("c1") or call)
        adapter = support.adapt(support.made(model, tools=[self.me()]))
        for owner in ("ann", "bob"):
            events = await ask(adapter, "hi", owner=owner, context_id="trip")
            assert answer(events) == f"{owner} in trip"

    async def test_empty_messages_are_refused(self):
        with pytest.raises(InvalidInputError, match="empty"):
            await ask(self.adapter(self.support.script("never")), Text(" "))

    def test_the_card_has_the_tools_and_no_instructions(self):
        def look(city: str) -> str:
            """Look at the weather."""
            return city

        about = {"name": "Weather", "description": "Knows it.", self.instructions: "SECRET"}
        tools = [self.support.tool(look)]
        made = self.support.made(self.support.script(), tools=tools, **about)
        card = self.support.adapt(made).describe()
        assert (card.name, card.description) == ("Weather", "Knows it.")
        assert [(skill.id, skill.description) for skill in card.skills] == [
            ("look", "Look at the weather.")
        ]
        assert "SECRET" not in str(card)

    def test_other_objects_are_refused(self):
        with pytest.raises(TargetError, match="str"):
            self.support.adapt(Factory(lambda: "x", "x"))
