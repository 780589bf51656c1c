"""The warm process: with its first command it imports the package, then forks for each."""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import selectors
import signal
import socket
import sys
import warnings
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path

INPUT = 0
NEEDED = (
    "a2a_adapters_sql.database",
    "aiosqlite",
    "anyio._backends._asyncio",
    "crewai",
    "langchain_core.language_models",
    "langchain_core.prompts",
    "langgraph.graph",
    "mcp.server.fastmcp",
    "psycopg",
    "rich.logging",
    "uvicorn.loops.uvloop",
)
HIDDEN = "agents"
"""Not imported: files of users and of tests have the name of OpenAI's package, too."""


def warm_up(prepared):
    """Import what commands need, but for what needs an extra that is not installed.

    Returns:
        What it has set in the environment.
    """
    from a2a_adapters import bindings, calling, cli, serving
    from a2a_adapters.serving.garbage import settled

    before = set(os.environ.items())
    sys.modules[HIDDEN] = None
    for module in NEEDED:
        with suppress(ImportError):
            importlib.import_module(module)
    packages = [bindings, calling, cli, serving]
    for plugin in entry_points(group="a2a_adapters"):
        with suppress(ImportError):
            packages.append(importlib.import_module(plugin.module))
    for package in packages:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".migrations." in module.name:  # Alembic runs them
                continue
            with suppress(ImportError):
                importlib.import_module(module.name)
    if prepared:
        pkgutil.resolve_name(prepared)()
    del sys.modules[HIDDEN]
    gc.freeze()  # what is here stays, a fork need not look it through
    with settled():  # finds that out, which takes tens of milliseconds, once for all of them
        pass
    return dict(set(os.environ.items()) - before)


def wait_for_command(listener):
    """Fork for every command until the input ends; return, in the fork, what it is to run."""
    selector = selectors.DefaultSelector()
    for waited_for in (INPUT, listener):
        selector.register(waited_for, selectors.EVENT_READ)
    while True:
        key = selector.select()[0][0]
        if key.fileobj == INPUT:  # the tests are over
            os._exit(0)
        elif key.fileobj is listener:
            relay, _ = listener.accept()
            try:
                command, files = received(relay)
            except ConnectionError:
                relay.close()
                continue
            ended, running = os.pipe()  # which the fork keeps open while it runs
            pid = os.fork()
            if not pid:
                become(files, selector)
                return command
            for file in (*files, running):
                os.close(file)
            with suppress(ConnectionError):  # a relay that is gone is noticed below
                relay.sendall(f"{pid}\n".encode())
            selector.register(ended, selectors.EVENT_READ, (pid, ended, relay))
            selector.register(relay, selectors.EVENT_READ, (pid, ended, relay))
        else:
            attend(selector, key)


def attend(selector, key):
    """Tell a relay that its command has ended, or end the command of a relay that is gone."""
    pid, ended, relay = key.data
    selector.unregister(relay if key.fileobj is relay else ended)
    if key.fileobj is relay:
        os.kill(pid, signal.SIGKILL)
        return
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(KeyError):  # it was gone before
        selector.unregister(relay)
    with suppress(ConnectionError):
        relay.sendall(f"{code}\n".encode())
    relay.close()
    os.close(ended)


def received(relay):
    """Return the command of a relay, and its files."""
    size, files, _, _ = socket.recv_fds(relay, 8, 3)
    if len(size) < 8:
        raise ConnectionError("the relay was ended")
    body = b""
    while len(body) < int.from_bytes(size):
        if not (more := relay.recv(1 << 16)):
            raise ConnectionError("the relay was ended")
        body += more
    return json.loads(body), files


def become(files, selector):
    """Take the standard files of a relay in place of those of the warm process."""
    for key in selector.get_map().values():
        if key.fileobj != INPUT:
            os.close(key.fd) if isinstance(key.fileobj, int) else key.fileobj.close()
    selector.close()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    # The one that was opened for another file remembers whether that could be sought in.
    buffering = 1 if os.isatty(1) else -1
    sys.stdout = open(1, "w", buffering, encoding="utf-8", closefd=False)  # noqa: SIM115


def run(arguments, folder, environment):
    """Do what an interpreter does with these arguments."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    while arguments[0] == "-W":
        warnings.simplefilter(arguments[1])
        arguments = arguments[2:]
    first, *rest = arguments
    if first == "-m":
        sys.path[0] = folder
        sys.argv = ["-m", *rest[1:]]
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(first).parent)
        sys.argv = arguments
        runpy.run_path(first, run_name="__main__")


def leave(ended):
    """End without freeing what is imported, which takes longer than most commands run.

    What did not end by itself, or cannot be written, is left to the interpreter.
    """
    if type(code := ended.get("code")) is int:
        gc.collect()  # tells of what was not closed
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


if __name__ == "__main__":
    ended = {}
    atexit.register(leave, ended)  # before all that is imported, and so called after it
    # Not ignored: a fork that is not yet ready for Ctrl-C would never hear of it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    number, interpreter, prepared = sys.argv[1:]
    listener = socket.socket(fileno=int(number))
    select.select([INPUT, listener], [], [])
    made = warm_up(prepared)
    sys.executable = interpreter
    try:
        arguments, folder, environment = wait_for_command(listener)
        run(arguments, folder, environment | made)
        ended["code"] = 0
    except SystemExit as end:
        ended["code"] = 0 if end.code is None else end.code
        raise
