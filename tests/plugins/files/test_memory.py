"""The memory of both sides does not grow with the files.

`FILE_MEBIBYTES=500` sets the size of the file.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tracemalloc
from pathlib import Path

import pytest
from a2a_adapters_files import LocalFile, save

from a2a_adapters import RemoteAgent
from tests.plugins.files.support import MEBIBYTE, content_of
from tests.support.processes import launched

SIZE = int(os.environ.get("FILE_MEBIBYTES", "96")) * MEBIBYTE
GROWTH = 48 * MEBIBYTE
"""The most memory that a file may take: a few pieces of 4 MiB, and the library of the store."""

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]


def peak(process) -> int:
    """Return the peak of a process's resident memory in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def test_neither_side_holds_a_file(tmp_path):
    sent, small = tmp_path / "sent", tmp_path / "small"
    block = content_of(MEBIBYTE)
    small.write_bytes(block * 9)
    with sent.open("wb") as file:
        for number in range(SIZE // MEBIBYTE):
            file.write(number.to_bytes(4, "big") + block[4:])
    command = [sys.executable, "-m", "tests.plugins.files.server", str(tmp_path / "files")]
    with launched(command) as (server, url):
        async with RemoteAgent(url) as agent:

            async def copy(path: Path) -> Path:
                [received] = (await agent.send(LocalFile(path))).files
                return await save(received, tmp_path / "received", agent=agent)

            await copy(small)
            before = peak(server.pid)
            tracemalloc.start()
            try:
                received = await copy(sent)
                _, ours = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            grown = peak(server.pid) - before
    print(f"server {before} + {grown} bytes, client {ours} bytes")  # noqa: T201
    assert digest(received) == digest(sent)
    assert grown < GROWTH
    assert ours < GROWTH
