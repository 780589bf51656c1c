"""Copies of objects for one run."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from functools import partial

from pydantic import BaseModel, PrivateAttr

from a2a_adapters.plugin import Copies


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
