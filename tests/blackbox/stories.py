"""Stories: what a client requests of an agent, and the expected outcome."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from tests.blackbox.servers import OWNERS


class Question(NamedTuple):
    """An expected question and its answer."""

    text: str
    answer: str


class Script(NamedTuple):
    """The expected course of a task without cancellation.

    Attributes:
        questions: The questions and answers.
        text: Text of the completed task.
        steps: The steps by stage: a stage starts when the previous one
            has ended, and its steps run concurrently.
        resumes: Whether running tasks are resumed after a crash.
        waits: Whether questions survive the process.
        replays: Whether another process replays the task from its start.
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
    """A task as observed by its client.

    Attributes:
        key: Key of the task: its first message, and its token at the receiver.
        agent: The agent's name.
        owner: Name of the caller.
        way: How to send messages.
        hasty: Whether the client drops the first connection of each message.
        cancels_after: Seconds after which it cancels the task, or None.
        notified: Whether its first message configures the receiver.
        script: The expected course.
        seed: Random seed, also of the ids of messages.
        context_id: The context of its first message; the server chooses it if empty.
        task_id: Task id, once known.
        sent_at: Time of the first message, as `time.time()`.
        cancelled_at: Time of the response to the cancellation.
        answered: Number of acknowledged answers.
        state: Last observed state.
        ended_at: Time of that observation.
        text: Text of that observation.
        wrong: Violations, as pairs of kind and detail.
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
    context_id: str = ""
    task_id: str = ""
    sent_at: float = 0
    cancelled_at: float | None = None
    answered: int = 0
    state: str = ""
    ended_at: float = 0
    text: str = ""
    wrong: list[tuple[str, str]] = field(default_factory=list)


def written(seed: int, count: int) -> list[Story]:
    """Return the stories of a seed, varying agents, ways and options.

    Some stories of two owners have the same ids of messages and the same context.
    """
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
    _pair(stories)
    chance.shuffle(stories)
    return stories


def _pair(stories: list[Story]) -> None:
    """Give pairs of stories with one agent and two owners the same seed and context."""
    alone: dict[str, Story] = {}
    for story in stories:
        other = alone.pop(story.agent, None)
        if other is None or other.owner == story.owner:
            alone[story.agent] = story
        else:
            story.seed = other.seed
            story.context_id = other.context_id = f"context-{other.seed}"
