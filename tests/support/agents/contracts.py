"""The contract of adapters for agents with scripted models."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from a2a_adapters import build_app
from a2a_adapters.testing import (
    AdapterContract,
    InputRequiredContract,
    OnStorage,
    ToolContract,
    answer_of,
    connect,
    running,
    send,
    user_message,
)

if TYPE_CHECKING:
    from tests.support.agents import Support


class Agents(AdapterContract):
    """Agents whose models behave as the contract requires."""

    support: ClassVar[Support]
    streams = True

    def made(self, answer, **options):
        return self.support.made(self.support.Fake(answer, **options))

    def echo(self):
        return self.made(lambda messages: self.support.said(messages)[-1], streams=self.streams)

    def silent(self):  # some frameworks ask a model again that answers nothing at all
        return self.made(lambda _: " ")

    def failing(self):
        return self.made(lambda _: RuntimeError(self.secret))

    def failing_midway(self):
        return self.made(lambda _: ["begun", RuntimeError(self.secret)])

    def endless(self):
        return self.made(lambda _: asyncio.Event().wait())


class Functions(Agents):
    """Functions that make an agent for every run."""

    def made(self, answer, **options):
        make = super().made
        return lambda: make(answer, **options)


class Asking(InputRequiredContract):
    """Agents whose tool asks; their models repeat what the caller says."""

    support: ClassVar[Support]
    streams = True

    @abstractmethod
    def tool(self) -> object:
        """Return a tool named `ask` that asks the question it is given."""

    def asking(self):
        def model(messages):
            if done := self.support.results(messages):
                return next(iter(done.values())).rpartition("says: ")[2]
            return self.support.calling("ask", f"c{len(messages)}", question="which city?")

        return self.support.made(
            self.support.Fake(model, streams=self.streams), tools=[self.tool()]
        )


class Working(AdapterContract):
    """Agents whose tools behave as the contract requires."""

    support: ClassVar[Support]

    def tool(self, function):
        """Return a tool whose exceptions end the run."""
        return self.support.tool(function)

    def made(self, work, *before):
        def model(messages):
            if (done := self.support.results(messages)) or not self.support.said(messages):
                return done["c1"] or " "
            return [*before, self.support.calling("work", text=self.support.said(messages)[-1])]

        return self.support.made(self.support.Fake(model, streams=False), tools=[self.tool(work)])

    def echo(self):
        async def work(text: str) -> str:
            return text

        return self.made(work)

    def silent(self):
        async def work(text: str) -> str:
            return ""

        return self.made(work)

    def failing(self, *before):
        async def work(text: str) -> str:
            raise RuntimeError(self.secret)

        return self.made(work, *before)

    def failing_midway(self):
        return self.failing("begun")

    def endless(self):
        async def work(text: str) -> str:
            await asyncio.Event().wait()

        return self.made(work)


class Tools(ToolContract):
    """Agents whose tools look, and break."""

    support: ClassVar[Support]

    def calling(self, tool, error=None, **options):
        """Return an agent whose tools `tool` makes of functions, one of which raises an error."""

        def look() -> str:
            """Look."""
            return "rain"

        def breaks() -> str:
            """Break."""
            raise error or RuntimeError(self.secret)

        calls = [self.support.calling("look"), self.support.calling("breaks", "c2")]
        model = self.support.script(calls, "done")
        return self.support.made(model, tools=[tool(look), tool(breaks)], **options)

    async def test_blocking_tools_run_at_every_start(self):
        def look() -> str:
            """Look."""
            return "rain"

        call = self.support.calling
        model = self.support.script([call("look")], "first", [call("look", "c2")], "second")
        made = self.support.made(model, tools=[self.support.tool(look)])
        app = build_app(self.support.adapt(made), name="weather")
        for said in ("first", "second"):
            async with running(app) as url, connect(url) as client:
                assert answer_of(await send(client, user_message("Look!"))) == said

    def using_tools(self):
        return self.calling(self.support.tool)


class OnPostgresql(OnStorage):
    """Runs a contract on a server with PostgreSQL; a process's tests share a database."""

    def storage(self):
        return _postgresql()


@cache
def _postgresql():
    from tests.support.postgresql import new_database

    return new_database()
