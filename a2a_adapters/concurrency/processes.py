"""Child processes with few environment variables, ended together with their descendants."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from uuid import uuid4

_BASIC = (
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "SYSTEMROOT", "TERM",
    "TMPDIR", "TZ", "USER",
)  # fmt: skip
_MARK = "A2A_ADAPTERS_PROCESS"
_LOG_CHUNKS = 4
_CHUNK = 4096
_PROC = Path("/proc")
_ROUNDS = 20
_SETTLE_SECONDS = 0.05


def basic_environment(names: Sequence[str] = ()) -> dict[str, str]:
    """Return the variables of this process that a child process needs, and those of `names`.

    Args:
        names: More variables to pass on. One that ends in `*` is a prefix.
    """
    prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
    wanted = {*_BASIC, *names}
    return {
        name: value
        for name, value in os.environ.items()
        if name in wanted or (prefixes and name.startswith(prefixes))
    }


class ProcessTree:
    """A child process and its descendants, including detached ones.

    Its descendants are found by a variable in their environment and by their parents; they are
    killed if this process dies. Systems without `/proc` only end the process group.

    Attributes:
        process: The child.
    """

    def __init__(self, process: Process, mark: str) -> None:
        self.process = process
        self._mark = f"{_MARK}={mark}".encode()
        self._log: deque[bytes] = deque(maxlen=_LOG_CHUNKS)
        self._reading = asyncio.ensure_future(self._read_log())
        self._ending: asyncio.Future[None] | None = None

    @classmethod
    async def start(
        cls, command: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None
    ) -> ProcessTree:
        """Start a command, without a shell, in a process group of its own.

        Args:
            command: The program and its arguments.
            env: All its environment variables, see `basic_environment`.
            cwd: The working directory.

        Raises:
            OSError: The program cannot be run.
        """
        mark = f"{_server_mark()}-{uuid4().hex}"
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env={**env, _MARK: mark},
            cwd=cwd,
            start_new_session=True,
        )
        return cls(process, mark)

    @property
    def log(self) -> str:
        """The end of the standard error output."""
        return b"".join(self._log).decode(errors="replace")

    async def end(self, grace_seconds: float) -> None:
        """Close standard input, wait for the process to exit, and kill the rest of the tree.

        Runs to its end even if its caller is cancelled.

        Args:
            grace_seconds: Time for the process to exit by itself; 0 kills it at once.
        """
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end(grace_seconds))
        await asyncio.shield(self._ending)

    async def _end(self, grace_seconds: float) -> None:
        # Descendants of a process that has exited have another parent.
        members = await asyncio.to_thread(_members, self._mark, {}, self.process)
        if self.process.stdin is not None:
            self.process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_seconds):
                await self.process.wait()
        for _ in range(_ROUNDS):
            members = await asyncio.to_thread(_members, self._mark, members, self.process)
            if self.process.returncode is None:
                with suppress(ProcessLookupError):
                    self._kill_group()
            _kill(members)
            if not members and self.process.returncode is not None:
                break
            await asyncio.sleep(_SETTLE_SECONDS)
        await self.process.wait()
        self._reading.cancel()
        await asyncio.wait({self._reading})

    def _kill_group(self) -> None:
        if sys.platform == "win32":
            self.process.kill()
        else:
            os.killpg(self.process.pid, signal.SIGKILL)

    async def _read_log(self) -> None:
        while self.process.stderr and (chunk := await self.process.stderr.read(_CHUNK)):
            self._log.append(chunk)


@asynccontextmanager
async def reaping() -> AsyncGenerator[dict[str, str]]:
    """Yield a variable for the environment of processes, and at the end kill those that have it.

    For processes started by a library, which may leave descendants behind. They are also killed if
    this process dies. Systems without `/proc` do not find them.
    """
    mark = f"{_server_mark()}-{uuid4().hex}"
    try:
        yield {_MARK: mark}
    finally:
        await asyncio.shield(asyncio.to_thread(_kill_marked, f"{_MARK}={mark}".encode()))


@cache
def _server_mark() -> str:
    """Return a mark of this process's children; a watcher kills them when this process dies."""
    mark = uuid4().hex
    if _PROC.is_dir():
        reader, _ = os.pipe()  # the other end stays open as long as this process
        watcher = [sys.executable, "-I", "-S", __file__, f"{_MARK}={mark}"]
        stdin = (os.POSIX_SPAWN_DUP2, reader, 0)
        # It outlives this process, whose output may be a pipe that someone reads to its end.
        rest = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
        os.posix_spawn(watcher[0], watcher, {}, file_actions=[stdin, *rest], setsid=True)
        os.close(reader)
    return mark


def _kill_orphans(mark: bytes) -> None:
    """Wait for the end of standard input, and kill the processes with a mark."""
    sys.stdin.read()
    _kill_marked(mark)


def _kill_marked(mark: bytes) -> None:
    for _ in range(_ROUNDS):
        if not (members := _members(mark, {}, None)):
            return
        _kill(members)
        time.sleep(_SETTLE_SECONDS)


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _members(mark: bytes, known: Mapping[int, bytes], child: Process | None) -> dict[int, bytes]:
    """Return the running processes of a tree, by id, with the start times that tell them apart."""
    running = {pid: (parent, started) for pid, parent, started in _running()}
    root = child.pid if child and child.returncode is None else None
    found = {
        pid
        for pid, (_, started) in running.items()
        if pid == root or known.get(pid) == started or _is_marked(pid, mark)
    }
    while children := {pid for pid in running if running[pid][0] in found} - found:
        found |= children
    return {pid: running[pid][1] for pid in found}


def _is_marked(pid: int, mark: bytes) -> bool:
    with suppress(OSError):
        return b"\0" + mark in b"\0" + (_PROC / str(pid) / "environ").read_bytes()
    return False


def _running() -> Iterator[tuple[int, int, bytes]]:
    """Yield the id, the parent's id and the start time of each process that is not a zombie."""
    for folder in _PROC.glob("[0-9]*") if _PROC.is_dir() else ():
        with suppress(OSError):
            # The name, in parentheses, may contain anything.
            fields = re.sub(rb"^.*\)", b"", (folder / "stat").read_bytes(), flags=re.DOTALL).split()
            if fields[0] not in (b"Z", b"X"):
                yield int(folder.name), int(fields[1]), fields[19]


if __name__ == "__main__":
    _kill_orphans(sys.argv[1].encode())
