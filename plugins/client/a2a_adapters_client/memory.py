"""The local database of conversations held with `send` and `chat`."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import typer

from a2a_adapters.cli.terminal import note
from a2a_adapters.contract.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_adapters import AgentReply

_TABLE = """
CREATE TABLE IF NOT EXISTS turns (
    time TEXT NOT NULL, agent TEXT NOT NULL, context_id TEXT NOT NULL, task_id TEXT NOT NULL,
    state TEXT NOT NULL, question TEXT NOT NULL, answer TEXT NOT NULL
)
"""
_COLUMNS = "time, agent, context_id, task_id, state, question, answer"


@dataclass(frozen=True, slots=True)
class Turn:
    """A message and its answer.

    Attributes:
        time: When the answer was complete, in UTC (ISO 8601).
        agent: The agent as the user named it, without credentials.
        context_id: The conversation.
        task_id: The task; "" for an answer without one.
        state: The state of the task, such as `completed`.
        question: The text of the message.
        answer: The text of the answer with its data; files are named only.
    """

    time: str
    agent: str
    context_id: str
    task_id: str
    state: str
    question: str
    answer: str

    @property
    def is_question(self) -> bool:
        """Whether the answer is a question of the agent, which the next message answers."""
        return self.state in {"input-required", "auth-required"}


class Memory:
    """The database, readable by its owner only. `history off` is a file beside it."""

    def __init__(self) -> None:
        folder = Path(typer.get_app_dir("a2a-adapters"))
        self.path = folder / "history.db"
        self._switch = folder / "history.off"
        self._lines = folder / "chat.lines"

    @property
    def is_on(self) -> bool:
        """Whether conversations are kept."""
        return not self._switch.exists()

    def turn(self, *, is_on: bool) -> None:
        """Keep conversations from now on, or stop.

        Raises:
            ConfigurationError: The folder cannot be written.
        """
        try:
            self._switch.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if is_on:
                self._switch.unlink(missing_ok=True)
            else:
                self._switch.touch()
        except OSError as error:
            raise ConfigurationError(f"{self._switch} cannot be changed") from error

    def add(self, agent: str, question: str, reply: AgentReply) -> None:
        """Keep a turn, unless conversations are not kept; a failure is only noted."""
        if not self.is_on:
            return
        time = datetime.now(UTC).isoformat(timespec="seconds")
        ids = reply.context_id, reply.task_id, reply.state
        row = (time, without_credentials(agent), *ids, question, reply.whole_text)
        try:
            with self._open() as database:
                database.execute("INSERT INTO turns VALUES (?,?,?,?,?,?,?)", row)
        except ConfigurationError as error:
            note(str(error))

    def find(
        self, agent: str = "", context_id: str = "", text: str = "", limit: int = -1
    ) -> list[Turn]:
        """Return the last turns, oldest first.

        Args:
            agent: Only those with this agent.
            context_id: Only those of this conversation.
            text: Only those whose message or answer contains this text.
            limit: Maximum number; -1 for all.

        Raises:
            ConfigurationError: The database cannot be read.
        """
        if not self.path.exists():
            return []
        query = (
            f"SELECT {_COLUMNS} FROM turns WHERE ? IN ('', agent) AND ? IN ('', context_id) "  # noqa: S608 - a constant
            "AND (question LIKE ? OR answer LIKE ?) ORDER BY rowid DESC LIMIT ?"
        )
        like = f"%{text}%"
        values = (without_credentials(agent), context_id, like, like, limit)
        with self._open() as database:
            return [Turn(*row) for row in reversed(database.execute(query, values).fetchall())]

    def last(self, agent: str = "") -> Turn:
        """Return the last turn, with this agent if it is given.

        Raises:
            ConfigurationError: There is none, or the database cannot be read.
        """
        found = [turn for turn in self.find(agent) if turn.context_id]
        if not found:
            raise ConfigurationError("there is no conversation to continue; see `history list`")
        return found[-1]

    @property
    def lines(self) -> Path | None:
        """The file of the lines typed in chats; None if they are not kept."""
        if not self.is_on:
            return None
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._lines

    def clear(self) -> None:
        """Delete all turns and the lines typed in chats.

        Raises:
            ConfigurationError: The file cannot be deleted.
        """
        try:
            self.path.unlink(missing_ok=True)
            self._lines.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigurationError(f"{self.path} cannot be deleted") from error

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            database = sqlite3.connect(self.path)
            try:
                with database:
                    database.execute(_TABLE)
                    yield database
            finally:
                database.close()
        except (OSError, sqlite3.Error) as error:
            raise ConfigurationError(f"{self.path} cannot be used: {error}") from error


def without_credentials(agent: str) -> str:
    """Return an agent's address without user, password and query."""
    if "://" not in agent:
        return agent
    parts = urlsplit(agent)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="").geturl()
