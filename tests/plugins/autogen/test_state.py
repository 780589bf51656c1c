from __future__ import annotations

import json

import pytest
from a2a_adapters_autogen import MemoryStateStore, StateKey, StateStore, adapt

from a2a_adapters import InvalidInputError, Limits
from tests.plugins.autogen.support import Custom, answer, ask, request, round_robin, run

KEY = StateKey("ann", "one")
OTHER = StateKey("ann", "two")


def all_of(texts):
    if texts[-1] == "fail":
        raise RuntimeError("secret detail")
    return " ".join(texts)


class Recorded(StateStore):
    """A custom store that keeps strings, as one for a database would."""

    def __init__(self):
        self.rows = {}

    async def load(self, key):
        return json.loads(self.rows[key]) if key in self.rows else None

    async def save(self, key, value):
        self.rows[key] = json.dumps(value)

    async def delete(self, key):
        self.rows.pop(key, None)


def targets():
    return [
        lambda: Custom(all_of),
        Custom(all_of),
        lambda: round_robin(Custom(all_of)),
        round_robin(Custom(all_of)),
    ]


@pytest.mark.parametrize("target", targets())
async def test_a_failed_run_leaves_the_state_unchanged(target):
    adapter = adapt(target)
    assert answer(await ask(adapter, "one")) == "one"
    with pytest.raises(RuntimeError, match="secret detail"):
        await ask(adapter, "fail")
    assert answer(await ask(adapter, "two")) == "one two"


@pytest.mark.parametrize("target", targets())
async def test_a_conversation_whose_first_run_failed_starts_over(target):
    adapter = adapt(target)
    with pytest.raises(RuntimeError):
        await ask(adapter, "fail")
    assert answer(await ask(adapter, "one")) == "one"


@pytest.mark.parametrize("target", targets())
async def test_a_custom_store_keeps_conversations_over_a_restart(target):
    store = Recorded()
    await ask(adapt(lambda: Custom(all_of)), "elsewhere")
    assert answer(await ask(adapt(target, store=store), "one")) == "one"
    assert answer(await ask(adapt(target, store=store), "two")) == "one two"
    assert list(store.rows) == [StateKey("", "context")]


async def test_a_preloaded_state_starts_every_conversation():
    shared = Custom(all_of)
    await shared.run(task="before")
    adapter = adapt(shared)
    assert answer(await ask(adapter, "one", owner="ann")) == "before one"
    assert answer(await ask(adapter, "two", owner="bob")) == "before two"


async def test_an_abandoned_answer_is_not_stored():
    adapter = adapt(lambda: Custom(all_of))
    events = adapter.stream(request("one"))
    assert await anext(events)
    await events.aclose()
    assert answer(await ask(adapter, "two")) == "two"


async def test_memory_returns_copies():
    store = MemoryStateStore()
    value = {"state": {"n": [1, 2.5, None, "x"]}}
    await store.save(KEY, value)
    (await store.load(KEY))["state"]["n"].append(3)
    value["state"]["n"].append(3)
    assert await store.load(KEY) == {"state": {"n": [1, 2.5, None, "x"]}}
    await store.delete(KEY)
    await store.delete(KEY)
    assert await store.load(KEY) is None


async def test_memory_accepts_only_json():
    with pytest.raises(ValueError, match="serialize"):
        await MemoryStateStore().save(KEY, {"state": object()})


async def test_memory_evicts_the_least_recently_used_conversation():
    store = MemoryStateStore(Limits(conversations=1))
    await store.save(KEY, {"n": 1})
    await store.save(OTHER, {"n": 2})
    assert await store.load(KEY) is None
    assert await store.load(OTHER) == {"n": 2}


async def test_memory_expires():
    store = MemoryStateStore(Limits(history_seconds=0))
    await store.save(KEY, {"n": 1})
    assert await store.load(KEY) is None


async def test_memory_is_bounded_in_bytes():
    store = MemoryStateStore(max_bytes=30)
    await store.save(KEY, {"text": "x" * 15})
    await store.save(OTHER, {"text": "x" * 15})
    assert await store.load(KEY) is None
    assert await store.load(OTHER) is not None
    with pytest.raises(InvalidInputError, match="too long"):
        await store.save(KEY, {"text": "x" * 30})


async def test_a_conversation_beyond_the_size_limit_is_refused():
    adapter = adapt(lambda: Custom(all_of), store=MemoryStateStore(max_bytes=100))
    assert answer(await ask(adapter, "short")) == "short"
    events = adapter.stream(request("long" * 30))
    assert (await anext(events)).text.startswith("short long")
    with pytest.raises(InvalidInputError, match="start a new one"):
        _ = [event async for event in events]
    assert answer(await ask(adapter, "again")) == "short again"


async def test_a_state_that_is_not_json_fails_the_run():
    class Odd(Custom):
        async def save_state(self):
            return {"heard": object()}

    with pytest.raises(ValueError, match="serialize"):
        await run(adapt(lambda: Odd(all_of)), request("one"))


async def test_an_agent_made_by_a_factory_is_closed():
    closed = []

    class Closing(Custom):
        async def close(self):
            closed.append(self.name)

    def make():
        return round_robin(Closing(all_of, "one"), Closing(lambda _: "x", "two"))

    await ask(adapt(make), "hi")
    assert closed == ["one", "two"]
