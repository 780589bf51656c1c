"""Conversations in the process and in a storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from a2a_adapters import Limits
from tests.support.adapters import Process, answer, ask

if TYPE_CHECKING:
    from tests.support.agents import Support


def listener(support):
    """Return an agent that repeats what the user has said."""
    return support.made(support.Fake(lambda messages: " ".join(support.said(messages))))


class Memory:
    """Conversations of one agent."""

    support: ClassVar[Support]

    def process(self, url, name="agent"):
        return Process(url, self.support.adapt(listener(self.support)), name)

    async def test_conversations_continue(self):
        adapter = self.support.adapt(listener(self.support))
        assert [answer(await ask(adapter, text)) for text in ("one", "two")] == ["one", "one two"]

    async def test_conversations_continue_after_a_restart(self, url):
        heard = []
        for text in ("one", "two", "three"):
            async with self.process(url) as adapter:
                heard.append(answer(await ask(adapter, text)))
        assert heard == ["one", "one two", "one two three"]

    async def test_owners_contexts_and_agents_are_isolated(self, url):
        for text, before in (("hi", ""), ("ho", "hi")):
            for name in ("first", "second"):
                async with self.process(url, name) as adapter:
                    for owner in ("ann", "bob"):
                        for context_id in ("one", "two"):
                            place = f"{name}.{owner}.{context_id}"
                            said = [f"{each}.{place}" for each in (before, text) if each]
                            events = await ask(
                                adapter, said[-1], owner=owner, context_id=context_id
                            )
                            assert answer(events) == " ".join(said)

    async def test_memory_evicts_conversations(self):
        adapter = self.support.adapt(listener(self.support), limits=Limits(conversations=1))
        await ask(adapter, "one", context_id="a")
        await ask(adapter, "two", context_id="b")
        assert answer(await ask(adapter, "three", context_id="a")) == "three"
