"""Copies of objects for one run, and attributes that are restored after it."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from enum import Enum
from functools import partial, wraps
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict, PrivateAttr

from a2a_adapters.plugin import Copies, SavedAttributes


class Client:
    """Belongs to all runs."""


class Agent:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def name_of(self, word=""):
        return f"{self.name}{word}"


def copied(agent):
    return Copies(Agent).of(agent)


def test_containers_are_copied_with_all_that_is_in_them():
    client = Client()
    agent = Agent(
        notes=[], nested={"seen": [set()], "pair": ([], 1)}, last=deque([1]), client=client,
        counts=defaultdict(list, {"a": []}), frozen=(1, 2),
    )  # fmt: skip
    made = copied(agent)
    made.notes.append(1)
    made.nested["seen"][0].add(1)
    made.nested["pair"][0].append(1)
    made.last.append(2)
    made.counts["a"].append(1)
    made.counts["b"].append(1)
    assert (agent.notes, agent.nested, agent.counts) == (
        [], {"seen": [set()], "pair": ([], 1)}, {"a": []},
    )  # fmt: skip
    assert agent.last == deque([1])
    assert made.client is client
    assert made.frozen is agent.frozen


def test_what_occurs_twice_is_copied_once():
    member = Agent(notes=[])
    member.self = member
    made = copied(Agent(first=member, others=[member]))
    assert made.first is made.others[0] is made.first.self is not member


def test_dataclasses_and_private_attributes_are_copied():
    @dataclass
    class State:
        seen: list[str] = field(default_factory=list)

    @dataclass(frozen=True)
    class Settings:
        names: tuple[str, ...] = ()

    class Model(BaseModel):
        notes: list[str] = []
        _seen: list[str] = PrivateAttr(default_factory=list)

    agent, model = Agent(state=State(), settings=Settings()), Model()
    made, made_model = copied(agent), Copies(Model).of(model)
    made.state.seen.append("x")
    made_model.notes.append("x")
    made_model._seen.append("x")
    assert (agent.state.seen, model.notes, model._seen) == ([], [], [])
    assert made.settings is agent.settings


def test_functions_belong_to_the_copies():
    agent = Agent(name="original", notes=[])
    log = []

    def recursive(depth):
        return recursive(depth - 1) if depth else agent.name

    def wrapped():
        return recursive(0)

    agent.calls = [
        agent.name_of,
        partial(agent.name_of, word=""),
        lambda: agent.name,
        wrapped,
        partial(recursive, 2),
    ]
    agent.note, agent.log = agent.notes.append, log.append
    made = copied(agent)
    made.name = "copy"
    assert {call() for call in made.calls} == {"copy"}
    assert {call() for call in agent.calls} == {"original"}
    made.note("x")
    made.log("x")
    assert (made.notes, agent.notes, log) == (["x"], [], ["x"])


def test_what_is_kept_is_shared():
    inner = Agent()
    copies = Copies(Agent)
    copies.keep(inner)
    assert copies.of(Agent(inner=inner)).inner is inner
    assert len(list(copies.made)) == 2


@pytest.mark.parametrize("names", [("calls", "notes"), ("notes", "calls")])
def test_functions_and_containers_belong_together_in_any_order(names):
    notes = []

    def note(word):
        notes.append(word)

    parts = {"notes": notes, "calls": [note, partial(note, "y"), notes.append]}
    made = copied(Agent(**{name: parts[name] for name in names}))
    made.calls[0]("x")
    made.calls[1]()
    made.calls[2]("z")
    assert (made.notes, notes) == (["x", "y", "z"], [])


def test_functions_keep_their_attributes():
    class Named(partial):
        pass

    agent = Agent(name="original")

    def decorated(function):
        @wraps(function)
        def wrapper(*given):
            return agent.name, function(*given)

        return wrapper

    @decorated
    def search(query: str) -> str:
        """Search."""
        return query

    agent.search, agent.named, agent.free = search, Named(agent.name_of), Named(print)
    agent.named.__name__ = "search"
    made = copied(agent)
    for name in ("__name__", "__qualname__", "__doc__", "__annotations__", "__module__"):
        assert getattr(made.search, name) == getattr(search, name)
    assert (type(made.named), made.named.__name__) == (Named, "search")
    assert made.free is agent.free


def test_agents_in_values_that_do_not_change_are_copied():
    @dataclass(frozen=True)
    class Team:
        members: tuple[Any, ...]

    class Pair(NamedTuple):
        one: Any
        other: Any

    member = Agent()
    agent = Agent(
        team=Team((member,)), pair=Pair(member, 1), some={member}, few=frozenset({member})
    )
    made = copied(agent)
    found = [made.team.members[0], made.pair.one, *made.some, *made.few]
    assert all(each is found[0] for each in found)
    assert found[0] is not member
    assert (type(made.team), type(made.pair)) == (Team, Pair)


def test_attributes_elsewhere_are_copied():
    class Slotted(Agent):
        __slots__ = ("seen",)

    @dataclass
    class State:
        def __post_init__(self):
            self.seen = []

    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")

    agent, model = Slotted(state=State()), Open(seen=[])
    agent.seen = []
    made, made_model = copied(agent), Copies(Open).of(model)
    made.seen.append("x")
    made.state.seen.append("x")
    made_model.seen.append("x")
    assert (agent.seen, agent.state.seen, model.seen) == ([], [], [])


def test_what_cannot_be_copied_is_shared():
    @dataclass
    class Local(threading.local):
        count: int = 0

    @dataclass
    class City:
        streets: list[str] = field(default_factory=list)

    class Cities(City, Enum):
        ROME = ()

    agent = Agent(local=Local(), city=Cities.ROME)
    made = copied(agent)
    assert (made.local, made.city) == (agent.local, Cities.ROME)
    assert made.city.streets is Cities.ROME.streets


def nested():
    """Return a list that is nested deeper than Python can recurse."""
    found: list[Any] = []
    for _ in range(5000):
        found = [found]
    return found


def test_deep_values_are_copied_and_restored():
    agent = Agent(deep=nested())
    assert copied(agent).deep is not agent.deep
    saved = SavedAttributes([agent])
    agent.deep[0].append("x")
    saved.restore()
    assert agent.deep[0] == [agent.deep[0][0]]


def test_attributes_are_restored_in_place():
    @dataclass
    class State:
        seen: list[str] = field(default_factory=list)
        name: str = ""

    class Pair(NamedTuple):
        one: list[str]
        other: int

    agent = Agent(
        notes=["a"], bytes=bytearray(b"a"), last=deque([1], 2), some={1}, state=State(),
        counts=Counter(a=-1), order=OrderedDict(a=1, b=2), nested={"a": [{"b": []}]}, kept=1,
        pair=Pair([], 1), client=Client(),
    )  # fmt: skip
    names = [*vars(agent)]
    before = repr({name: value for name, value in vars(agent).items() if name != "kept"})
    originals = dict(vars(agent))
    saved = SavedAttributes([agent], unless=["kept"])
    for _ in range(2):
        agent.notes.append("b")
        agent.bytes.clear()
        agent.last.extend([2, 3])
        agent.some.clear()
        agent.state.seen.append("x")
        agent.state.name = agent.state.other = "x"
        agent.counts.update(a=5, b=1)
        agent.order.move_to_end("a")
        agent.nested["a"][0]["b"].append(1)
        agent.pair.one.append("x")
        agent.another, agent.kept = 1, 2
        del agent.client
        saved.restore()
        assert sorted(vars(agent)) == sorted(names)
        assert repr({name: vars(agent)[name] for name in names if name != "kept"}) == before
        assert all(vars(agent)[name] is originals[name] for name in names if name != "kept")
        assert agent.kept == 2
        assert "other" not in vars(agent.state)
