"""Commands that an agent runs through its client."""

from __future__ import annotations

import asyncio
import shutil
import signal
from typing import TYPE_CHECKING
from uuid import uuid4

from acp import RequestError
from acp.schema import TerminalExitStatus, TerminalOutputResponse

from a2a_adapters.concurrency import ProcessTree, basic_environment
from a2a_adapters_acp.serving.paths import inside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_MOST_TERMINALS = 16
_OUTPUT_BYTES = 1024 * 1024
_CHUNK = 64 * 1024
_DRAIN_SECONDS = 1.0


class Terminal:
    """A running command with its combined output and errors.

    Args:
        tree: The command's process and descendants.
        limit: The number of bytes to keep from the end of the output.
    """

    def __init__(self, tree: ProcessTree, limit: int) -> None:
        self._tree = tree
        self._limit = limit
        self._kept = bytearray()
        self._is_cut = False
        self._reading = asyncio.ensure_future(self._read())

    @property
    def output(self) -> TerminalOutputResponse:
        """The output so far, and the exit status if the command has exited."""
        text = self._kept.decode(errors="replace")
        return TerminalOutputResponse(
            output=text.lstrip("\ufffd") if self._is_cut else text,
            truncated=self._is_cut,
            exit_status=self._status(),
        )

    async def wait(self) -> TerminalExitStatus:
        """Wait for the command to exit."""
        await self._tree.process.wait()
        # What it leaves in the background may hold its output open.
        await asyncio.wait({self._reading}, timeout=_DRAIN_SECONDS)
        return self._status() or TerminalExitStatus()

    async def end(self) -> None:
        """Kill the command and its descendants."""
        await self._tree.end(0)
        await asyncio.wait({self._reading}, timeout=_DRAIN_SECONDS)
        self._reading.cancel()

    def _status(self) -> TerminalExitStatus | None:
        if (code := self._tree.process.returncode) is None:
            return None
        if code < 0:
            name = next((each.name for each in signal.Signals if each == -code), str(-code))
            return TerminalExitStatus(signal=name)
        return TerminalExitStatus(exit_code=code)

    async def _read(self) -> None:
        assert self._tree.process.stdout is not None  # noqa: S101 - it is a pipe
        while chunk := await self._tree.process.stdout.read(_CHUNK):
            self._kept += chunk
            if (excess := len(self._kept) - self._limit) > 0:
                del self._kept[:excess]
                self._is_cut = True


class Terminals:
    """The commands of a session, which run in its folder and end with it."""

    def __init__(self) -> None:
        self._by_id: dict[str, Terminal] = {}

    async def create(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        folder: Path,
        limit: int | None,
    ) -> str:
        """Start a command and return its id.

        Args:
            words: The program and its arguments; a single word may be a script for `sh`.
            env: Environment variables, besides `PATH`, `HOME` and the like.
            cwd: The current folder of the command.
            folder: The working folder, which must contain `cwd`.
            limit: The number of bytes of output to keep, at most 1 MiB.

        Raises:
            RequestError: Too many commands are open, or the command cannot be run in `cwd`.
        """
        if len(self._by_id) >= _MOST_TERMINALS:
            raise RequestError.invalid_request({"details": "release a terminal first"})
        place = inside(cwd, folder)
        if place is None or not place.is_dir():
            raise RequestError.invalid_params({"details": "cwd is not in the working folder"})
        if len(words) == 1 and shutil.which(words[0]) is None:
            words = ["/bin/sh", "-c", words[0]]
        try:
            tree = await ProcessTree.start(
                ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", *words],
                env=basic_environment() | dict(env),
                cwd=place,
            )
        except (OSError, ValueError) as error:
            raise RequestError.invalid_params({"details": "it cannot be run"}) from error
        if tree.process.stdin is not None:
            tree.process.stdin.close()
        terminal_id = uuid4().hex
        kept = _OUTPUT_BYTES if limit is None else min(limit, _OUTPUT_BYTES)
        self._by_id[terminal_id] = Terminal(tree, kept)
        return terminal_id

    def get(self, terminal_id: str) -> Terminal:
        """Return a terminal.

        Raises:
            RequestError: The terminal does not exist.
        """
        if (terminal := self._by_id.get(terminal_id)) is None:
            raise RequestError.resource_not_found(terminal_id)
        return terminal

    async def release(self, terminal_id: str) -> None:
        """Kill a command and forget its terminal.

        Raises:
            RequestError: The terminal does not exist.
        """
        terminal = self.get(terminal_id)
        del self._by_id[terminal_id]
        await terminal.end()

    async def aclose(self) -> None:
        """Kill all commands."""
        await asyncio.gather(*(self.release(each) for each in list(self._by_id)))
