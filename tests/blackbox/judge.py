"""Compares the observations of clients and receivers with the agents' effects."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tests.blackbox.intruder import stolen_token
from tests.blackbox.player import CANCELED, COMPLETED, FAILED

if TYPE_CHECKING:
    from tests.blackbox.journal import Effect
    from tests.blackbox.receiver import Receiver
    from tests.blackbox.stories import Story

ATTEMPTS = 3
"""Number of killed processes after which a resumable task may fail."""
STOPS_WITHIN = 1.0
"""Seconds for cancelled work to stop."""

KINDS = {
    "lost": "acknowledged but unknown later",
    "stuck": "neither terminal nor interrupted in time",
    "twice": "started or run more often than allowed",
    "not run": "COMPLETED without all of its steps or its text",
    "failed": "failed without cause",
    "not notified": "receiver did not get the terminal state",
    "differs": "inconsistent over time",
    "trespass": "known to another owner or receiver",
    "refused": "valid requests refused",
}


def judge(
    story: Story, effects: list[Effect], killed: dict[str, float], receiver: Receiver
) -> list[tuple[str, str]]:
    """Return the violations in a finished story, as kinds and details.

    Args:
        story: The client's observations.
        effects: The steps of its task in order.
        killed: Kill times by process name.
        receiver: The receiver of its notifications.
    """
    wrong = [*story.wrong, *_repeated(story, effects, killed), *_misled(story, receiver)]
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
                wrong.append(("failed", f"after {_listed(effects)}: {story.text!r}"))
        case _ if not story.wrong:
            detail = f"is {story.state}, {story.text!r}, after {_listed(effects)}"
            wrong.append(("stuck", detail))
    return wrong


def _misled(story: Story, receiver: Receiver) -> list[tuple[str, str]]:
    """Return notifications that are missing, or that came with the token of something else."""
    wrong = []
    notified = receiver.states[story.key]
    if story.notified and notified[-1:] != [story.state]:
        wrong.append(("not notified", f"{story.state}, notified of {notified}"))
    if others := receiver.tasks[story.key] - {story.task_id}:
        wrong.append(("trespass", f"its token came with {others}"))
    if stolen := receiver.states[stolen_token(story)]:
        wrong.append(("trespass", f"another owner was notified of {stolen}"))
    return wrong


def _repeated(
    story: Story, effects: list[Effect], killed: dict[str, float]
) -> list[tuple[str, str]]:
    """Return illegal repeats: steps may repeat only after a kill and if the agent resumes."""
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
        wrong.append(("twice", f"ran {_listed(effects)}"))
    return wrong


def _may_fail(story: Story, effects: list[Effect], killed: dict[str, float]) -> bool:
    """Return whether a task may have failed because of a kill it cannot resume from."""
    ran_in = {effect.process for effect in effects}
    if story.script.resumes:
        return len(ran_in & killed.keys()) >= ATTEMPTS
    was_killed = any(story.sent_at <= at <= story.ended_at for at in killed.values())
    return was_killed and (not ran_in or bool(ran_in & killed.keys()))


def _listed(effects: list[Effect]) -> str:
    return ", ".join(f"{effect.step} in {effect.process}" for effect in effects) or "no step"
