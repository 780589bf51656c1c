"""Child processes with few environment variables, ended together with their descendants."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
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
    """A child process and everything it starts, including what it detaches.

    Its descendants are found by a variable in their environment and by their parents. Systems
    without `/proc` end the process group alone.

    Attributes:
        process: The child.
    """

    def __init__(self, process: asyncio.subprocess.Process, mark: str) -> None:
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
            cwd: Where it runs.

        Raises:
            OSError: The program cannot be run.
        """
        mark = uuid4().hex
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
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
        """Close standard input, wait for the process to exit, and kill what is left of the tree.

        Runs to its end even if its caller is cancelled.

        Args:
            grace_seconds: How long the process may take to exit by itself; 0 kills it at once.
        """
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end(grace_seconds))
        await asyncio.shield(self._ending)

    async def _end(self, grace_seconds: float) -> None:
        # Descendants of a process that has exited have another parent.
        members = await asyncio.to_thread(self._members, {})
        if self.process.stdin is not None:
            self.process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_seconds):
                await self.process.wait()
        for _ in range(_ROUNDS):
            members = await asyncio.to_thread(self._members, members)
            if self.process.returncode is None:
                with suppress(ProcessLookupError):
                    self._kill_group()
            for pid in members:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
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
        if self.process.stderr is None:
            return
        while chunk := await self.process.stderr.read(_CHUNK):
            self._log.append(chunk)

    def _members(self, known: Mapping[int, bytes]) -> dict[int, bytes]:
        """Return the running processes of the tree with their start times.

        Args:
            known: Members found earlier. A process with such an id and another start time is not
                one of them.
        """
        running = {pid: (parent, started) for pid, parent, started in _running()}
        found = {
            pid
            for pid, (_, started) in running.items()
            if known.get(pid) == started or self._is_marked(pid)
        }
        if self.process.returncode is None:
            found |= {self.process.pid} & running.keys()
        while children := {pid for pid in running if running[pid][0] in found} - found:
            found |= children
        return {pid: running[pid][1] for pid in found}

    def _is_marked(self, pid: int) -> bool:
        with suppress(OSError):
            return self._mark in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
        return False


def _running() -> Iterator[tuple[int, int, bytes]]:
    """Yield the id, the parent's id and the start time of each process that is not a zombie."""
    for folder in _PROC.glob("[0-9]*") if _PROC.is_dir() else ():
        with suppress(OSError):
            # The name, in parentheses, may contain anything.
            fields = re.sub(rb"^.*\)", b"", (folder / "stat").read_bytes(), flags=re.DOTALL).split()
            if fields[0] not in (b"Z", b"X"):
                yield int(folder.name), int(fields[1]), fields[19]
