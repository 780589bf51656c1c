"""Serves a command."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import shlex
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from a2a_adapters import (
    AgentEvent,
    AgentRequest,
    ConfigurationError,
    Data,
    InvalidInputError,
    Output,
    Progress,
    TextDelta,
)
from a2a_adapters.concurrency import PerLoop, ProcessTree, basic_environment, within
from a2a_adapters.dialects import quote
from a2a_adapters.plugin import Adapter, AgentDescription, AgentFailedError, check_arguments
from a2a_adapters_endpoints.streams import lines_of, texts_of
from a2a_adapters_endpoints.words import WordParser, checked_seconds

__all__ = ["CommandAgent"]

_TEXT = "{text}"
_CHUNK = 64 * 1024
_DRAIN_SECONDS = 1.0

logger = logging.getLogger(__name__)


class CommandAgent(Adapter):
    """Runs a command for each message, and streams its standard output as the answer.

    The message's text replaces `{text}` in the command's arguments; without `{text}` it is written
    to standard input. The command runs without a shell, in a process group that ends with the task.

    Args:
        command: The command, as one text or as words. Never take it from a caller.
        json_lines: Whether each line of output is JSON: an object with `text`, `progress`, `data`
            or `error`, or any other value, which becomes a data part.
        shell: Whether to run the command with `sh -c`; excludes `{text}`.
        cwd: The current folder of the command.
        env: Environment variables, besides `PATH`, `HOME` and the like.
        pass_env: Names of further variables to pass on from this process.
        seconds: Time limit for the command.
        output_bytes: The maximum size of the output.
        processes: The maximum number of processes; further messages wait.
        name: The agent's name; by default the program's.
        description: The agent's description.

    Raises:
        ConfigurationError: The program is not installed, or the options contradict each other.
    """

    def __init__(  # noqa: PLR0913 - a choice each
        self,
        command: str | Sequence[str],
        *,
        json_lines: bool = False,
        shell: bool = False,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        pass_env: Sequence[str] = (),
        seconds: float = 600,
        output_bytes: int = 8 * 1024 * 1024,
        processes: int = 16,
        name: str | None = None,
        description: str | None = None,
    ) -> None:
        check_arguments(CommandAgent, locals(), {"seconds", "output_bytes", "processes"})
        self._command = _words(command, is_shell=shell)
        self._json_lines = json_lines
        self._cwd = None if cwd is None else Path(cwd)
        if self._cwd is not None and not self._cwd.is_dir():
            raise ConfigurationError(f"there is no folder {cwd}")
        self._env = basic_environment(pass_env) | dict(env or {})
        self._seconds = checked_seconds(seconds)
        self._output_bytes = output_bytes
        self._slots = PerLoop(partial(asyncio.Semaphore, processes))
        self._name = name or Path(self._command[0]).name
        self._description = description or f"Runs the command {self._name}."

    @classmethod
    def of_word(cls, word: str) -> CommandAgent:
        """Return the agent for the text after `exec:`.

        Raises:
            ConfigurationError: The text is invalid, or the program is not installed.
        """
        parser = WordParser("exec")
        parser.add_argument("--json-lines", action="store_true", help="each line is JSON")
        parser.add_argument("--shell", action="store_true", help="run it with sh -c")
        parser.add_argument("--cwd", metavar="FOLDER", help="where it runs")
        parser.add_argument("--env", action="append", default=[], metavar="NAME")
        parser.add_argument("--seconds", type=float, default=600, help="how long it may run")
        parser.add_argument("command", nargs=argparse.REMAINDER)
        said = parser.read(word)
        return cls(
            " ".join(said.command) if said.shell else said.command,
            json_lines=said.json_lines,
            shell=said.shell,
            cwd=said.cwd,
            pass_env=said.env,
            seconds=said.seconds,
        )

    def describe(self) -> AgentDescription:
        """Describe the command by its program's name."""
        return AgentDescription(
            name=self._name, description=self._description, input_modes=["text/plain"]
        )

    def stream(self, request: AgentRequest) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Run the command.

        Raises:
            InvalidInputError: The text cannot be passed as an argument.
        """
        text = request.text
        if not text:
            raise InvalidInputError("this agent takes text; the message has no text part")
        if "\0" in text:
            raise InvalidInputError("the text must not contain null characters")
        if text.startswith("-") and any(word.startswith(_TEXT) for word in self._command):
            raise InvalidInputError("the text must not begin with '-'")
        return self._run([word.replace(_TEXT, text) for word in self._command], text)

    async def _run(
        self, command: Sequence[str], text: str
    ) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        async with self._slots():
            try:
                tree = await ProcessTree.start(command, env=self._env, cwd=self._cwd)
            except OSError as error:
                raise AgentFailedError("tool", "The command cannot be run.") from error
            feeding = asyncio.ensure_future(self._feed(tree, text))
            deadline = asyncio.get_running_loop().time() + self._seconds
            try:
                async for event in self._events(self._output(tree, deadline)):
                    yield event
                code = await within(deadline, tree.process.wait())
            except TimeoutError as error:
                message = f"The command ran for over {self._seconds:g} s."
                raise AgentFailedError("limit", message) from error
            finally:
                feeding.cancel()
                await tree.end(0)
                await self._drain(tree)
            if code:
                logger.error("%s: exit code %d; %s", self._name, code, quote(tree.log, 500))
                raise AgentFailedError("tool", f"The command failed with exit code {code}.")

    async def _feed(self, tree: ProcessTree, text: str) -> None:
        assert tree.process.stdin is not None  # noqa: S101 - it is a pipe
        with suppress(ConnectionError):  # it need not read
            if not any(_TEXT in word for word in self._command):
                tree.process.stdin.write(text.encode(errors="replace"))
                await tree.process.stdin.drain()
        tree.process.stdin.close()

    async def _drain(self, tree: ProcessTree) -> None:
        """Read the rest of the output, because its pipe stays open until the end is read."""
        assert tree.process.stdout is not None  # noqa: S101 - it is a pipe
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                while await tree.process.stdout.read(_CHUNK):
                    pass

    async def _output(self, tree: ProcessTree, deadline: float) -> AsyncIterator[bytes]:
        """Yield the command's output.

        Raises:
            AgentFailedError: The output is too large.
            TimeoutError: The time limit is exceeded.
        """
        assert tree.process.stdout is not None  # noqa: S101 - it is a pipe
        size = 0
        while data := await within(deadline, tree.process.stdout.read(_CHUNK)):
            size += len(data)
            if size > self._output_bytes:
                raise AgentFailedError("limit", "The command wrote too much.")
            yield data

    async def _events(self, output: AsyncIterator[bytes]) -> AsyncIterator[AgentEvent]:
        if self._json_lines:
            async for line in lines_of(output):
                yield _event_of(line)
        else:
            async for text in texts_of(output):
                yield TextDelta(text)


def _event_of(line: bytes) -> AgentEvent:
    try:
        value: Any = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError) as error:
        raise AgentFailedError("tool", "The command wrote a line that is not JSON.") from error
    match value:
        case {"text": str(text)}:
            return TextDelta(text)
        case {"progress": str(text)}:
            return Progress(text)
        case {"error": error}:
            logger.error("the command reports: %s", quote(str(error), 500))
            raise AgentFailedError("tool", "The command reports an error.")
        case {"data": data}:
            return Output([Data(data)])
        case _:
            return Output([Data(value)])


def _words(command: str | Sequence[str], *, is_shell: bool) -> list[str]:
    """Return a command's words with the program's full path.

    Raises:
        ConfigurationError: The program is not installed.
    """
    if is_shell:
        line = command if isinstance(command, str) else shlex.join(command)
        if _TEXT in line:
            raise ConfigurationError(
                "{text} would be run by the shell: let the command read standard input"
            )
        return ["/bin/sh", "-c", line]
    words = shlex.split(command) if isinstance(command, str) else list(command)
    if not words:
        raise ConfigurationError("exec: needs a command, as in 'exec:wc -w'")
    if (program := shutil.which(words[0])) is None:
        raise ConfigurationError(f"there is no program {words[0]!r}")
    return [program, *words[1:]]
