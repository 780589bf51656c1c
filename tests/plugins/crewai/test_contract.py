"""Crews and flows pass the contract of adapters, on our runtime and a2a-sdk's."""

from __future__ import annotations

import asyncio
import threading

import pytest
from a2a_adapters_crewai import adapt
from crewai import Crew
from crewai.flow import Flow, human_feedback, listen, start
from crewai.tools import tool
from pydantic import BaseModel

from a2a_adapters.testing import (
    AdapterContract,
    AnswerContract,
    InputRequiredContract,
    OnSqlite,
    ToolContract,
)
from tests.plugins.crewai.support import Scripted, agent, crew, task, tool_call
from tests.plugins.functions.test_contract import OnTheSdk
from tests.support.agents.contracts import OnPostgresql

_GATE = threading.Event()


@pytest.fixture(autouse=True)
def _let_go():
    """Release endless models at the end of the test."""
    _GATE.clear()
    yield
    _GATE.set()


def wait(_):
    _GATE.wait(60)
    return "Final Answer: late"


def forget(result):
    result.raw = ""
    return result


class Crews(AdapterContract):
    def echo(self):
        return crew()

    def silent(self):
        silent = crew("nothing")
        silent.after_kickoff_callbacks = [forget]
        return silent

    def failing(self):
        return crew(self._fail)

    def failing_midway(self):
        writer = agent(Scripted("Final Answer: begun", self._fail), max_retry_limit=0)
        tasks = [task(writer), task(writer)]
        return adapt(Crew(agents=[writer], tasks=tasks), task_outputs=True)

    def endless(self):
        return crew(wait)

    def _fail(self, _):
        raise RuntimeError(self.secret)


class State(BaseModel):
    message: str = ""


class Quiet(Flow[State]):
    suppress_flow_events: bool = True


class Flows(AdapterContract, InputRequiredContract):
    def echo(self):
        class Echo(Quiet):
            @start()
            def echo(self):
                return self.state.message

        return Echo

    def silent(self):
        class Silent(Quiet):
            @start()
            def nothing(self):
                pass

        return Silent

    def failing(self):
        secret = self.secret

        class Failing(Quiet):
            @start()
            def fail(self):
                raise RuntimeError(secret)

        return Failing

    def failing_midway(self):
        inner = crew("Final Answer: begun")
        secret = self.secret

        class FailingMidway(Quiet):
            @start()
            async def first(self):
                await inner.copy().akickoff(inputs={"topic": "x"})
                raise RuntimeError(secret)

        return adapt(FailingMidway, task_outputs=True)

    def endless(self):
        class Endless(Quiet):
            @start()
            async def wait(self):
                await asyncio.Event().wait()

        return Endless

    def asking(self):
        class Asking(Quiet):
            @start()
            @human_feedback(message="which city?")
            def draft(self):
                return "a flight"

            @listen(draft)
            def book(self, result):
                return f"booked {result.feedback}"

        return Asking


@tool("look")
def look() -> str:
    """Look around."""
    return "rain"


@tool("breaks")
def breaks() -> str:
    """Fail."""
    raise RuntimeError(ToolContract.secret)


class TestCrewsWithTools(ToolContract):
    def using_tools(self):
        script = tool_call("look", "{}"), tool_call("breaks", "{}"), "Final Answer: done"
        writer = agent(Scripted(*script), tools=[look, breaks])
        return Crew(agents=[writer], tasks=[task(writer)])


class Failing(Scripted):
    """Fails at the end of its first call."""

    def _emit_call_completed_event(self, *args, **kwargs):
        if len(self.seen) == 1:
            raise ConnectionError("lost")
        super()._emit_call_completed_event(*args, **kwargs)


class TestAnswers(AnswerContract):
    def guarded(self):
        return self._said(self.blocked, guardrail=lambda _: (True, "I cannot help."))

    def blocking(self):
        return self._said(self.blocked, guardrail=lambda _: (False, self.blocked))

    def retrying(self):
        return self._said("half an ", "an answer", model=Failing)

    def _said(self, *script, model=Scripted, **fields):
        writer = agent(model(*script, stream=True))
        return Crew(agents=[writer], tasks=[task(writer, **fields)])


class TestCrews(Crews):
    pass


class TestFlows(Flows):
    pass


class TestCrewsOnTheSdk(OnTheSdk, Crews):
    pass


class TestFlowsOnTheSdk(OnTheSdk, Flows):
    pass


class TestCrewsOnSqlite(OnSqlite, Crews):
    pass


class TestCrewsOnPostgresql(OnPostgresql, Crews):
    pass


class TestFlowsOnSqlite(OnSqlite, Flows):
    pass


class TestFlowsOnPostgresql(OnPostgresql, Flows):
    pass
