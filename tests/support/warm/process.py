"""The warm process: imports the package with its first command and forks for each."""

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
    "langchain.agents",
    "langchain_core.language_models",
    "langchain_core.prompts",
    "langgraph.graph",
    "mcp.server.fastmcp",
    "psycopg",
    "rich.logging",
    "uvicorn.loops.uvloop",
)
PID_FILE = "A2A_ADAPTERS_TESTS_PID_FILE"
SEARCHED = ("A2A_ADAPTERS_DISABLE_PLUGINS", "PYTHONPATH")
"""Variables that determine which plugins are found."""
UNUSED = {
    "autogen",
    "dbos",
    "llama_index",
    "openai_agents",
    "pydantic_ai",
    "router",
    "smolagents",
    "temporal",
}
"""Plugins whose frameworks take a third of the time to import, for few commands of tests."""
HIDDEN = "agents"
"""Not imported, because files of users and tests share the name of OpenAI's package."""


def warm_up(prepared):
    """Import the modules of commands, except those that need a missing extra.

    Returns:
        The environment variables it has set.
    """
    from a2a_adapters import bindings, calling, cli, serving
    from a2a_adapters.contract.plugins import installed_plugins
    from a2a_adapters.serving.garbage import settled

    before = set(os.environ.items())
    sys.modules[HIDDEN] = None
    for module in NEEDED:
        with suppress(ImportError):
            importlib.import_module(module)
    packages = [bindings, calling, cli, serving]
    for plugin in entry_points(group="a2a_adapters"):
        if plugin.name in UNUSED:
            continue
        with suppress(ImportError):
            packages.append(importlib.import_module(plugin.module))
    for package in packages:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".migrations." in module.name:  # run by Alembic
                continue
            with suppress(ImportError):
                importlib.import_module(module.name)
    if prepared:
        pkgutil.resolve_name(prepared)()
    del sys.modules[HIDDEN]
    installed_plugins()
    gc.freeze()  # permanent objects, which forks need not scan
    with settled():  # caches a check that takes tens of milliseconds
        pass
    return dict(set(os.environ.items()) - before)


def wait_for_command(listener):
    """Fork for every command until the input ends; return the command in the fork."""
    selector = selectors.DefaultSelector()
    for waited_for in (INPUT, listener):
        selector.register(waited_for, selectors.EVENT_READ)
    while True:
        key = selector.select()[0][0]
        if key.fileobj == INPUT:  # the tests have ended
            os._exit(0)
        elif key.fileobj is listener:
            relay, _ = listener.accept()
            try:
                command, files = received(relay)
            except ConnectionError:
                relay.close()
                continue
            ended, running = os.pipe()  # kept open by the fork while it runs
            pid = os.fork()
            if not pid:
                become(files, selector)
                return command
            for file in (*files, running):
                os.close(file)
            with suppress(ConnectionError):  # a dead relay is detected below
                relay.sendall(f"{pid}\n".encode())
            selector.register(ended, selectors.EVENT_READ, (pid, ended, relay))
            selector.register(relay, selectors.EVENT_READ, (pid, ended, relay))
        else:
            attend(selector, key)


def attend(selector, key):
    """Notify a relay of its command's end, or end the command of a dead relay."""
    pid, ended, relay = key.data
    selector.unregister(relay if key.fileobj is relay else ended)
    if key.fileobj is relay:
        os.kill(pid, signal.SIGKILL)
        return
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(KeyError):  # already removed
        selector.unregister(relay)
    with suppress(ConnectionError):
        relay.sendall(f"{code}\n".encode())
    relay.close()
    os.close(ended)


def received(relay):
    """Return the command and files of a relay."""
    size, files, _, _ = socket.recv_fds(relay, 8, 3)
    try:
        return json.loads(body_of(relay, size)), files
    except ConnectionError:
        for file in files:  # else their readers would wait for this process
            os.close(file)
        raise


def body_of(relay, size):
    """Return the message of a relay, after its size."""
    if len(size) < 8:
        raise ConnectionError("the relay was ended")
    body = b""
    while len(body) < int.from_bytes(size):
        if not (more := relay.recv(1 << 16)):
            raise ConnectionError("the relay was ended")
        body += more
    return body


def become(files, selector):
    """Replace the standard files with those of a relay."""
    for key in selector.get_map().values():
        if key.fileobj != INPUT:
            os.close(key.fd) if isinstance(key.fileobj, int) else key.fileobj.close()
    selector.close()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    # Reopened, because a file object caches whether it is seekable.
    buffering = 1 if os.isatty(1) else -1
    sys.stdout = open(1, "w", buffering, encoding="utf-8", closefd=False)  # noqa: SIM115


def run(arguments, folder, environment):
    """Run the arguments like an interpreter."""
    os.chdir(folder)
    if any(environment.get(name) != os.environ.get(name) for name in SEARCHED):
        from a2a_adapters.contract.plugins import installed_plugins

        installed_plugins.cache_clear()  # it may find others
    if noted := environment.pop(PID_FILE, ""):
        Path(noted).write_text(str(os.getpid()))
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
    """Exit without freeing imported modules, which takes longer than most commands.

    Remaining threads and unwritable output are left to the interpreter.
    """
    if type(code := ended.get("code")) is int:
        gc.collect()  # reports leaks
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


if __name__ == "__main__":
    ended = {}
    atexit.register(leave, ended)  # registered before all imports and so called last
    # Not ignored, or a starting fork would miss Ctrl-C.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    number, interpreter, prepared = sys.argv[1:]
    listener = socket.socket(fileno=int(number))
    if INPUT in select.select([INPUT, listener], [], [])[0]:  # the tests needed no command
        os._exit(0)
    made = warm_up(prepared)
    sys.executable = interpreter
    try:
        arguments, folder, environment = wait_for_command(listener)
        run(arguments, folder, environment | made)
        ended["code"] = 0
    except SystemExit as end:
        ended["code"] = 0 if end.code is None else end.code
        raise
