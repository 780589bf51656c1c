"""Process trees: inherited marks, and complete termination."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from a2a_adapters.concurrency import ProcessTree, basic_environment, reaping

SLEEPER = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
DETACHING = """
import os, subprocess, sys
child = [sys.executable, "-I", "-S", "-c", {sleeper!r}]
subprocess.Popen(child, start_new_session=True, env={env})
{rest}
"""

SERVER = """
import asyncio, sys
from a2a_adapters.concurrency import ProcessTree, basic_environment

async def main():
    command = [sys.executable, "-I", "-S", "-c", {code!r}]
    tree = await ProcessTree.start(command, env=basic_environment())
    for _ in range(2):
        print((await tree.process.stdout.readline()).decode(), end="", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def python(code):
    return [sys.executable, "-I", "-S", "-c", code]


async def pid_of(tree):
    return int(await tree.process.stdout.readline())


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return ") Z" not in Path(f"/proc/{pid}/stat").read_text()


def test_few_variables_are_passed_on(monkeypatch):
    monkeypatch.setenv("A_SECRET", "hunter2")
    monkeypatch.setenv("MODEL_KEY", "key")
    monkeypatch.setenv("ONE", "1")
    passed = basic_environment(["MODEL_*", "ONE"])
    assert passed["PATH"] == os.environ["PATH"]
    assert (passed["MODEL_KEY"], passed["ONE"]) == ("key", "1")
    assert "A_SECRET" not in passed


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="finds descendants in /proc")
@pytest.mark.parametrize(
    ("env", "rest"),
    [
        ("None", "import time; time.sleep(600)"),
        ("{}", "import time; time.sleep(600)"),  # without the mark, as a child
        ("None", "os._exit(0)"),  # with the mark, as an orphan
    ],
)
async def test_detached_descendants_are_killed(env, rest):
    code = DETACHING.format(sleeper=SLEEPER, env=env, rest=rest)
    tree = await ProcessTree.start(python(code), env=basic_environment())
    pid = await pid_of(tree)
    assert is_running(pid)
    await tree.end(0.1)
    await tree.end(0.1)
    assert not is_running(pid)
    assert tree.process.returncode is not None


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="finds processes in /proc")
async def test_what_the_process_of_a_library_leaves_behind_is_killed():
    code = DETACHING.format(sleeper=SLEEPER, env="None", rest="os._exit(0)")
    async with reaping() as mark:
        process = await asyncio.create_subprocess_exec(
            *python(code), env=basic_environment() | mark, stdout=asyncio.subprocess.PIPE
        )
        pid = int(await process.stdout.readline())
        assert is_running(pid)
    assert not is_running(pid)
    await process.wait()


async def test_a_process_may_exit_by_itself():
    code = "import sys; sys.stdin.read(); print('bye', file=sys.stderr); sys.exit(7)"
    tree = await ProcessTree.start(python(code), env=basic_environment())
    await tree.end(60)
    assert tree.process.returncode == 7
    assert tree.log == "bye\n"


async def test_a_process_that_ignores_the_end_of_its_input_is_killed():
    tree = await ProcessTree.start(python(SLEEPER), env=basic_environment())
    pid = await pid_of(tree)
    await tree.end(0)
    assert not is_running(pid)


async def test_a_program_that_does_not_exist_is_an_error():
    with pytest.raises(FileNotFoundError):
        await ProcessTree.start(["/nowhere"], env={})


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="finds descendants in /proc")
async def test_a_killed_server_leaves_no_processes():
    child = DETACHING.format(sleeper=SLEEPER, env="{}", rest=SLEEPER)
    command = [sys.executable, "-c", SERVER.format(code=child)]
    server = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    pids = [int(await server.stdout.readline()) for _ in range(2)]
    assert all(map(is_running, pids))
    server.kill()
    await server.wait()
    async with asyncio.timeout(30):
        while any(map(is_running, pids)):  # noqa: ASYNC110 - no event says that a process ended
            await asyncio.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="finds descendants in /proc")
async def test_the_watcher_does_not_hold_the_output_of_the_server_open():
    tree = await ProcessTree.start(python(""), env=basic_environment())
    await tree.end(0)
    assert outputs_of_the_watcher() == {Path(os.devnull)}


def outputs_of_the_watcher():
    children = [pids.read_text().split() for pids in Path("/proc/self/task").glob("*/children")]
    processes = [Path("/proc", pid) for pids in children for pid in pids]
    watcher = next(p for p in processes if b"processes.py" in (p / "cmdline").read_bytes())
    return {(watcher / "fd" / number).readlink() for number in "12"}
