"""Methods that code outside of a framework overrides."""

from __future__ import annotations

import pytest

from a2a_adapters.plugin import overrides


class Interface:
    def run(self): ...

    def stream(self): ...


class Agent(Interface):
    __module__ = "framework.agents"

    def run(self): ...

    def stream(self): ...


class Plain(Agent):
    """Overrides nothing."""


class Checked(Agent):
    def run(self): ...


class Streamed(Checked):
    def stream(self): ...


class Implemented(Interface):
    def run(self): ...


def patched():
    agent = Agent()
    agent.run = print
    return agent


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (Agent(), False),
        (Plain(), False),
        (Checked(), True),
        (Streamed(), True),
        (Implemented(), False),
        (patched(), True),
        (None, False),
    ],
)
def test_overriding_is_seen_on_classes_and_objects(owner, expected):
    assert overrides(owner, "run", "framework.", interfaces=(Interface,)) is expected


def test_another_method_with_the_same_result_counts_if_it_is_as_new():
    checks = [
        overrides(owner, "run", ("framework.", "other."), unless=("stream",))
        for owner in (Checked(), Streamed(), patched())
    ]
    assert checks == [True, False, True]
