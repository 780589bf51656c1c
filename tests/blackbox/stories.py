"""Stories: what one client wants of one agent, and what has to come of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from tests.blackbox.servers import OWNERS


class Question(NamedTuple):
    """What an agent has to ask, and what it is answered."""

    text: str
    answer: str


class Script(NamedTuple):
    """How a task of an agent goes when nobody cancels it.

    Attributes:
        questions: What the agent asks, with the answers.
        text: The text of the completed task.
        steps: The steps that have run by then, by their stage: a stage begins when the one
            before has ended, and its steps run at once.
        resumes: Whether the agent goes on after a crash while it works.
        waits: Whether its questions outlive the process.
        replays: Whether the agent runs from its beginning where the process is another one.
    """

    questions: list[Question]
    text: str
    steps: list[list[str]]
    resumes: bool = False
    waits: bool = True
    replays: bool = False


def _trip(key: str, *, durable: bool) -> Script:
    questions = [Question(f"Where to, {key}?", "Rome"), Question("When to Rome?", "Monday")]
    steps = [["begin"], ["city"], ["day"]]
    return Script(questions, f"{key}: Rome on Monday", steps, durable, durable, durable)


def _review(key: str) -> Script:
    steps = [["plan"], ["confirm"], ["check"]]
    text = f"plan confirmed:yes check {key}"
    return Script([Question(f"Publish {key}?", "yes")], text, steps, resumes=True)


def _team(key: str) -> Script:
    drafts = [f"draft {number} of {key}" for number in (1, 2)]
    questions = [Question(drafts[0], "again"), Question(drafts[1], "APPROVE")]
    return Script(questions, drafts[1], [["draft 1"], ["draft 2"]])


def _chain(key: str) -> Script:
    steps = [["plan"], ["write"], ["check"]]
    return Script([], f"plan write check {key}", steps, resumes=True)


def _fan(key: str) -> Script:
    parts = range(3)
    text = f"plan part0 part1 part2 check {key}"
    return Script([], text, [["plan"], [f"part {n}" for n in parts], ["check"]], resumes=True)


def _stream(key: str) -> Script:
    return Script([], "".join(f"{n} " for n in range(10)) + key, [["stream"]])


SCRIPTS: dict[str, Callable[[str], Script]] = {
    "answer": lambda key: Script([], f"answer {key}", [["answer"]]),
    "stream": _stream,
    "ask": lambda key: _trip(key, durable=False),
    "book": lambda key: _trip(key, durable=True),
    "graph": _chain,
    "kept": _chain,
    "fan": _fan,
    "review": _review,
    "team": _team,
}
WAYS = ("SendMessage", "SendStreamingMessage", "return at once")


@dataclass
class Story:
    """One task, as its client tells it.

    Attributes:
        key: The task's name for itself: its first message, and its token at the receiver.
        agent: The agent's name.
        owner: Who calls.
        way: How messages are sent.
        hasty: Whether the client drops the first connection of each message itself.
        cancels_after: Seconds after which it cancels the task, or None.
        notified: Whether its first message names the receiver.
        script: How it has to go.
        seed: Of what is random in it.
        task_id: The task, once it is known.
        sent_at: When the first message was sent, as `time.time()`.
        cancelled_at: When the cancellation was answered.
        answered: How many of its answers the server has acknowledged.
        state: The task's last state that the client saw.
        ended_at: When that was.
        text: The text that came with it.
        wrong: What is wrong, as pairs of kind and detail.
    """

    key: str
    agent: str
    owner: str
    way: str
    hasty: bool
    cancels_after: float | None
    notified: bool
    script: Script
    seed: int
    task_id: str = ""
    sent_at: float = 0
    cancelled_at: float | None = None
    answered: int = 0
    state: str = ""
    ended_at: float = 0
    text: str = ""
    wrong: list[tuple[str, str]] = field(default_factory=list)


def written(seed: int, count: int) -> list[Story]:
    """Return the stories of a seed: every agent, way and mood in turn and at random."""
    chance = random.Random(seed)
    stories = []
    for number in range(count):
        agent = list(SCRIPTS)[number % len(SCRIPTS)]
        key = f"{agent}-{UUID(int=chance.getrandbits(128)).hex[:12]}"
        stories.append(
            Story(
                key=key,
                agent=agent,
                owner=chance.choice(OWNERS),
                way=chance.choice(WAYS),
                hasty=chance.random() < 0.2,
                cancels_after=chance.uniform(0, 0.6) if chance.random() < 0.12 else None,
                notified=chance.random() < 0.5,
                script=SCRIPTS[agent](key),
                seed=chance.getrandbits(32),
            )
        )
    chance.shuffle(stories)
    return stories
