"""Stores threads: the tasks of their last runs, and a digest of the context sent to the agent."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from a2a.types import Task

from a2a_adapters.dialects import new_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters_openai.messages import ChatMessage

    from a2a_adapters.plugin import StateStorage

_KIND = "ag-ui:thread"
_TRIES = 10
_MOST_RUNS = 50


class KnownRun(NamedTuple):
    """A run of a thread.

    Attributes:
        key: The run, see `Asked.key`.
        task_id: Its task.
        artifacts: The artifacts of the task before the run.
        status: The message of the task's status before the run; "" if there was none.
    """

    key: str
    task_id: str
    artifacts: Sequence[str]
    status: str

    @classmethod
    def of(cls, key: str, task_id: str, before: Task | None) -> KnownRun:
        """Return a run of a task, given the task before the run."""
        if before is None:
            return cls(key, task_id, [], "")
        artifacts = [artifact.artifact_id for artifact in before.artifacts]
        return cls(key, task_id, artifacts, before.status.message.message_id)

    def before(self, task: Task) -> Task:
        """Return the task's content before the run."""
        known = Task(id=task.id)
        kept = (each for each in task.artifacts if each.artifact_id in self.artifacts)
        known.artifacts.extend(kept)
        known.status.message.message_id = self.status
        return known


@dataclass(frozen=True, slots=True)
class Thread:
    """A stored thread.

    Attributes:
        surroundings: A digest of the system messages and the context that the agent has.
        runs: The last runs, the newest last.
    """

    surroundings: str = ""
    runs: Sequence[KnownRun] = ()

    def run(self, key: str) -> KnownRun | None:
        """Return a run by its key."""
        return next((run for run in self.runs if run.key == key), None)

    def is_last_of_task(self, run: KnownRun) -> bool:
        """Return whether no later run continued the task of a run."""
        return [each for each in self.runs if each.task_id == run.task_id][-1] == run


class Threads:
    """The threads of one caller with one agent.

    Args:
        storage: Stores the threads.
        owner: The threads' owner; "" for anonymous callers.
    """

    def __init__(self, storage: StateStorage, owner: str) -> None:
        self._storage = storage
        self._owner = owner

    async def read(self, thread_id: str) -> Thread:
        """Return a thread, an empty one if it is new."""
        return _thread(await self._storage.read_state(self._owner, thread_id, _KIND))

    async def add(self, thread_id: str, run: KnownRun, surroundings: str) -> None:
        """Store a run of a thread."""
        for _ in range(_TRIES):
            body = await self._storage.read_state(self._owner, thread_id, _KIND)
            runs = [each for each in _thread(body).runs if each.key != run.key]
            stored = [surroundings, [*runs, run][-_MOST_RUNS:], new_id()]
            new = json.dumps(stored).encode()
            if await self._storage.swap_state(self._owner, thread_id, _KIND, body, new):
                return


def _thread(body: bytes | None) -> Thread:
    if body is None:
        return Thread()
    surroundings, runs, _ = json.loads(body)
    return Thread(surroundings, [KnownRun(*run) for run in runs])


def digest(said: Sequence[ChatMessage]) -> str:
    """Return a digest of messages, "" for none."""
    folded = b""
    for each in said:
        folded = each.fold(folded)
    return hashlib.sha256(folded).hexdigest() if folded else ""
