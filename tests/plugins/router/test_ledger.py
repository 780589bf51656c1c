"""Accounts are exact, also for several processes with one storage, and after one of them died."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from a2a_adapters_router.book import InMemory, Refusal
from a2a_adapters_router.config import Quota
from a2a_adapters_router.deployment import Deployment
from a2a_adapters_router.ledger import Ledger
from a2a_adapters_router.page import Amount, Held, Page, Term, key_of, times

from a2a_adapters.plugin import StateStorage
from tests.plugins.router.providers import deployment
from tests.plugins.sql.conftest import new_url, storage_at

ONE = Deployment(**deployment("one", "http://127.0.0.1:1"), id="one")
ENGINES = ["memory", "sqlite", "postgresql"]
TEAMS = {"research": ["ann", "cid"], "sales": ["bob"]}
BUDGETS = [
    [Quota(provider="openai", per="month", usd=4)],
    [Quota(deployment="*", per="month", tokens=4000)],
    [Quota(owner="*", per="month", usd=4)],
    [Quota(total=True, per="month", usd=4)],
    [Quota(team="*", per="month", usd=5), Quota(team="research", per="month", usd=4)],
    [Quota(owner="ann", per="month", requests=40), Quota(provider="*", per="month", requests=50)],
]


@pytest.fixture(params=ENGINES)
def url(request, tmp_path):
    return new_url(request.param, tmp_path)


@asynccontextmanager
async def ledgers(url, number, quotas):
    """Open ledgers with separate connections to one storage."""
    async with AsyncExitStack() as stack:
        found = []
        for _ in range(number):
            storage = storage_at(url)
            await storage.start()
            stack.push_async_callback(storage.aclose, 5)
            ledger = Ledger(quotas, 60, TEAMS)
            await ledger.open(storage.of("router"))
            stack.push_async_callback(ledger.aclose)
            found.append(ledger)
        yield found


def ask(ledger, owner="ann", usd=0.1):
    """Reserve a call of fixed size."""
    worst = Amount(requests=1, tokens=100, usd=usd)
    return ledger.reserve(ONE, owner, lambda _: worst)


@pytest.mark.parametrize("quotas", BUDGETS)
async def test_forty_of_a_hundred_concurrent_calls_are_admitted(url, quotas):
    number = 2 if url.startswith("postgresql") else 1
    async with ledgers(url, number, quotas) as found:
        asked = [ask(found[n % number]) for n in range(100)]
        answers = await asyncio.gather(*asked)
        given = [(n, each) for n, each in enumerate(answers) if not isinstance(each, Refusal)]
        assert len(given) == 40
        # Unused reservations are available again.
        halved = Amount(requests=1, tokens=50, usd=0.05)
        await asyncio.gather(*(found[n % number].settle(each, halved) for n, each in given))
        await asyncio.gather(*(each.refresh("ann") for each in found))
        for ledger in found:
            assert ledger.left(ONE, "ann")[0].used.model_dump() == pytest.approx(
                {"requests": 40, "tokens": 2000, "usd": 2}
            )


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_spending_and_cooldowns_survive_a_restart(engine, tmp_path):
    url = new_url(engine, tmp_path)
    quotas = [Quota(owner="*", per="day", usd=1), Quota(deployment="one", per="day", requests=9)]
    async with ledgers(url, 1, quotas) as (before,):
        reservation = await ask(before)
        await before.settle(reservation, Amount(requests=1, tokens=5, usd=0.25))
        await before.cool(ONE, 500)
        await before.cool(ONE, 1)
    async with ledgers(url, 1, quotas) as (after,):
        await after.refresh("ann")
        assert [left.used.requests for left in after.left(ONE, "ann")] == [1, 1]
        assert after.left(ONE, "ann")[1].usd == pytest.approx(0.75)
        assert [left.used.requests for left in after.left(ONE, "bob")] == [1, 0]
        assert 400 < after.cooldown(ONE) <= 500
        assert (await ask(after)).wait > 400


async def test_cooldowns_apply_to_all_processes(tmp_path):
    url = new_url("postgresql", tmp_path)
    async with ledgers(url, 2, []) as (one, two):
        assert not isinstance(await ask(two), Refusal)
        await one.cool(ONE, 500)
        assert (await ask(two)).wait > 400


async def test_the_remainder_limits_a_call():
    quotas = [Quota(owner="*", per="day", tokens=70), Quota(provider="*", per="day", tokens=100)]
    ledger = Ledger(quotas, 60)

    def fit(rest):
        return Amount(requests=1, tokens=min(40, rest.tokens)) if rest.tokens else None

    ann = [await ledger.reserve(ONE, "ann", fit) for _ in range(3)]
    assert [each.amount.tokens for each in ann[:2]] == [40, 30]
    assert isinstance(ann[2], Refusal)
    bob = await ledger.reserve(ONE, "bob", fit)
    assert bob.amount.tokens == 30


async def test_members_share_their_team_s_quota_and_all_share_the_total():
    quotas = [Quota(team="*", per="day", requests=2), Quota(total=True, per="day", requests=4)]
    ledger = Ledger(quotas, 60, TEAMS)
    names = ["ann", "cid", "ann", "bob", "bob", "bob", "dan", "eve"]
    answers = [await ask(ledger, name) for name in names]
    short = [each.short[0][0] if isinstance(each, Refusal) else "" for each in answers]
    assert [not each for each in short] == [True, True, False, True, True, False, False, False]
    assert "quota per day of team research: 0 requests of 2 requests left" in short[2]
    assert "quota per day of all callers together" in short[6]


class Slow(StateStorage):
    """A slow storage."""

    url, agent, is_durable = "slow:", "", True

    def __init__(self):
        self.gate, self.asked = asyncio.Event(), asyncio.Event()
        self._place, self.writes, self.error = InMemory(), 0, None

    async def read_state(self, *_):
        if self.error:
            raise self.error
        return await self._place.read()

    async def write_state(self, *_):
        raise NotImplementedError

    async def swap_state(self, owner, context_id, kind, expected, body):
        self.writes += 1
        self.asked.set()
        await self.gate.wait()
        if self.error:
            raise self.error
        return await self._place.swap(expected, body)


QUOTA = [Quota(provider="openai", per="day", usd=1)]


async def opened(storage):
    ledger = Ledger(QUOTA, 60)
    await ledger.open(storage)
    return ledger


async def test_an_abandoned_reservation_is_released():
    slow = Slow()
    ledger = await opened(slow)
    reserving = asyncio.ensure_future(ask(ledger, usd=1))
    await slow.asked.wait()
    reserving.cancel()
    await asyncio.gather(reserving, return_exceptions=True)
    slow.gate.set()
    await ledger.refresh("ann")
    assert ledger.left(ONE, "ann")[0].usd == 1
    assert not isinstance(await ask(ledger, usd=1), Refusal)
    await ledger.aclose()


async def test_an_abandoned_settlement_completes():
    slow = Slow()
    slow.gate.set()
    ledger = await opened(slow)
    reservation = await ask(ledger, usd=1)
    slow.gate.clear()
    slow.asked.clear()
    settling = asyncio.ensure_future(ledger.settle(reservation, Amount(requests=1, usd=0.5)))
    await slow.asked.wait()
    settling.cancel()
    slow.gate.set()
    await ledger.refresh("ann")
    assert ledger.left(ONE, "ann")[0].usd == 0.5
    await ledger.aclose()


async def test_concurrent_calls_share_a_write():
    slow = Slow()
    slow.gate.set()
    ledger = await opened(slow)
    await asyncio.gather(*(ask(ledger, usd=0.001) for _ in range(100)))
    assert slow.writes == 1
    await ledger.aclose()


async def test_outages_lose_nothing(caplog):
    slow = Slow()
    slow.gate.set()
    ledger = await opened(slow)
    reservation = await ask(ledger, usd=1)
    slow.error = OSError("hunter2")
    await ledger.settle(reservation, Amount(requests=1, usd=0.5))
    with pytest.raises(OSError, match="hunter2"):
        await ask(ledger)
    slow.error = None
    await ledger.refresh("ann")
    assert ledger.left(ONE, "ann")[0].usd == 0.5
    assert "hunter2" not in caplog.text
    await ledger.aclose()


async def test_an_error_of_one_call_does_not_affect_others():
    ledger = Ledger(QUOTA, 60)

    def fit(_rest):
        raise OverflowError

    good, bad = await asyncio.gather(
        ask(ledger), ledger.reserve(ONE, "ann", fit), return_exceptions=True
    )
    assert good.amount.usd == 0.1
    assert isinstance(bad, OverflowError)


def test_holds_expire_even_if_a_clock_is_set_back():
    now = time.time()
    key = key_of("provider", "day", "openai", now)
    held = Held(until=now + 60, seconds=60, amounts={key: Amount(usd=1)})
    cooling = Term(until=now + 30, seconds=30)
    body = Page(held={"dead": held}, cooldowns={"one": cooling}).model_dump_json().encode()
    assert Page.of(body, now).taken(key).usd == 1
    for later in (now + 61, now - 3600):
        page = Page.of(body, later)
        assert page.taken(key).usd == 0
        assert not page.cooldowns


def test_past_periods_are_dropped_except_the_last():
    now = times("day", time.time())[0].timestamp()
    day = 86_400
    days = [key_of("owner", "day", "a b", now - back * day) for back in range(5)]
    page = Page(used={key: Amount(requests=1) for key in days})
    kept = Page.of(page.model_dump_json().encode(), now + 1)
    assert set(kept.used) == set(days[:2])


@pytest.mark.parametrize(
    ("per", "end"), [("minute", 1_709_251_200), ("day", 1_709_251_200), ("month", 1_709_251_200)]
)
def test_periods_end_with_the_utc_minute_day_or_month(per, end, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        # 29 February 2024, 23:59:59 in UTC, is 1 March in Tokyo.
        assert times(per, end - 1)[1].timestamp() == end
        assert times(per, end)[0].timestamp() == end
    finally:
        monkeypatch.undo()
        time.tzset()
