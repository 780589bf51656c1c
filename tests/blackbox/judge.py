"""Compares what clients saw and receivers got with what the agents did."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tests.blackbox.telling import CANCELED, COMPLETED, FAILED

if TYPE_CHECKING:
    from tests.blackbox.journal import Effect
    from tests.blackbox.stories import Story

ATTEMPTS = 3
"""A task may fail once it has ended so many processes, though its agent resumes."""
STOPS_WITHIN = 1.0
"""Seconds in which cancelled work stops."""

KINDS = {
    "lost": "acknowledged and unknown later",
    "stuck": "neither ended nor waiting in time",
    "twice": "begun or run more often than allowed",
    "not run": "COMPLETED without all of its steps or its text",
    "failed": "failed without a reason to",
    "not notified": "whose receiver was not told of the end",
    "differs": "told differently at different times",
    "refused": "requests refused that had to be taken",
}


def judge(
    story: Story, effects: list[Effect], killed: dict[str, float], notified: list[str]
) -> list[tuple[str, str]]:
    """Return what is wrong with a story that was played to its end, as kinds and details.

    Args:
        story: What its client saw.
        effects: The steps of its task that ran, in order.
        killed: When processes were killed, by their names.
        notified: The states that its receiver was told of, in order.
    """
    wrong = [*story.wrong, *_repeated(story, effects, killed)]
    ran = {effect.step for effect in effects}
    match story.state:
        case s if s == COMPLETED:
            if missing := {step for stage in story.script.steps for step in stage} - ran:
                wrong.append(("not run", f"without {sorted(missing)}, as {story.text!r}"))
            elif story.text != story.script.text:
                wrong.append(("not run", f"answers {story.text!r}, not {story.script.text!r}"))
        case s if s == CANCELED and story.cancelled_at:
            due = story.cancelled_at + STOPS_WITHIN
            late = [effect for effect in effects if effect.at > due]
            wrong += [("twice", f"ran {effect.step} after it was canceled") for effect in late]
        case s if s == FAILED:
            if not _may_fail(story, effects, killed):
                wrong.append(("failed", f"after {_told(effects)}: {story.text!r}"))
        case _ if not story.wrong:
            detail = f"is {story.state}, {story.text!r}, after {_told(effects)}"
            wrong.append(("stuck", detail))
    if story.notified and notified[-1:] != [story.state]:
        wrong.append(("not notified", f"{story.state}, told {notified}"))
    return wrong


def _repeated(
    story: Story, effects: list[Effect], killed: dict[str, float]
) -> list[tuple[str, str]]:
    """Steps run again only if the process that ran them was killed and the agent resumes."""
    wrong: list[tuple[str, str]] = []
    if story.script.replays:
        return wrong
    by_step = defaultdict(list)
    for effect in effects:
        by_step[effect.step].append(effect.process)
    for step, processes in by_step.items():
        again = processes[:-1]
        if again and not story.script.resumes:
            wrong.append(("twice", f"ran {step} in {processes}"))
        elif len({*processes}) < len(processes) or not killed.keys() >= {*again}:
            wrong.append(("twice", f"ran {step} in {processes}, not all of which were killed"))
    stages = {step: n for n, stage in enumerate(story.script.steps) for step in stage}
    order = [stages[effect.step] for effect in effects]
    if order != sorted(order):
        wrong.append(("twice", f"ran {_told(effects)}"))
    return wrong


def _may_fail(story: Story, effects: list[Effect], killed: dict[str, float]) -> bool:
    """Whether a task may have failed: a kill hit it that its agent cannot go on after."""
    ran_in = {effect.process for effect in effects}
    if story.script.resumes:
        return len(ran_in & killed.keys()) >= ATTEMPTS
    was_killed = any(story.sent_at <= at <= story.ended_at for at in killed.values())
    return was_killed and (not ran_in or bool(ran_in & killed.keys()))


def _told(effects: list[Effect]) -> str:
    return ", ".join(f"{effect.step} in {effect.process}" for effect in effects) or "no step"
