"""Shared by all tests."""

from __future__ import annotations

import gc
import logging
import os
import signal
import ssl
import subprocess
import sys
from importlib.util import find_spec
from unittest.mock import patch

import certifi
import pytest
from hypothesis import settings
from xdist.workermanage import NodeManager

from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.observability.logs import JsonFormatter
from tests.support.processes import PATIENCE, UV
from tests.support.programs import lacking
from tests.support.warm import share

# Blocks a2a-sdk's spans: they are not under test, and cost more than what is.
os.environ.setdefault("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")

# Threads of a local model that wait for each other let others compute.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A shell has what it runs in the background ignore Ctrl-C, and so would what tests start and stop.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What a worker measured is written last of all when it ends: xdist kills one that takes longer.
NodeManager.EXIT_TIMEOUT = PATIENCE

# An example may take as long as a busy machine takes for it.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# crewai is large: its tests have an environment of their own, see the Makefile.
collect_ignore = [] if find_spec("crewai") else ["plugins/crewai"]


def pytest_configure():
    share()


def pytest_terminal_summary(terminalreporter):
    """Say which tests were left out for want of a program."""
    for line in lacking(terminalreporter.stats.get("skipped", ())):
        terminalreporter.write_line(line, yellow=True)


@pytest.fixture(scope="session", autouse=True)
def certificates():
    """Read the certificates of authorities once: that takes each of httpx's clients 25 ms."""
    read = ssl.create_default_context
    authorities = os.environ.get("SSL_CERT_FILE", certifi.where())
    known = read(cafile=authorities)

    def known_or_read(*arguments, **options):
        is_usual = not arguments and options == {"cafile": authorities}
        return known if is_usual else read(*arguments, **options)

    with patch.object(ssl, "create_default_context", known_or_read):
        yield


def pytest_collection_modifyitems(items):
    """Begin with the files that may take longest, lest a worker is left alone with one."""
    limits = {}
    for item in items:
        limit = item.get_closest_marker("timeout")
        limits[item.path] = max(limits.get(item.path, 0), limit.args[0] if limit else 0)
    items.sort(key=lambda item: -limits[item.path])


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Look for garbage once: what is collected stays, and need not be looked through again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()  # else each app would, at its start


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Find what garbage is left; pytest and the interpreter would go on to look five times."""
    while gc.collect():
        pass
    gc.freeze()


@pytest.fixture(scope="session")
def old_python(tmp_path_factory):
    """Return the interpreter of an environment with a2a-sdk 0.3, its server included."""
    environment = tmp_path_factory.mktemp("v03") / "venv"
    python = environment / "bin" / "python"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    packages = ["a2a-sdk[grpc,http-server]>=0.3.26,<0.4", "uvicorn"]
    install = [UV, "pip", "install", "--quiet", "--python", python, *packages]
    subprocess.run(install, check=True)
    return str(python)


@pytest.fixture(autouse=True)
def logging_as_it_was():
    """Undo what a server that a test ran in this process has set up for the package's loggers."""
    names = ("a2a_adapters", *installed_plugins().packages())
    loggers = [logging.getLogger(), *map(logging.getLogger, names)]
    before = [(each.propagate, each.disabled, each.level, each.handlers[:]) for each in loggers]
    yield
    for logger, (propagate, disabled, level, handlers) in zip(loggers, before, strict=True):
        logger.propagate, logger.disabled = propagate, disabled
        logger.setLevel(level)
        logger.handlers[:] = handlers
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("a2a_adapters") and isinstance(logger, logging.Logger):
            logger.disabled = False


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def any_storage(request, tmp_path):
    """The URL of an empty storage of each engine, for a server."""
    from tests.plugins.sql.conftest import new_url

    return new_url(request.param, tmp_path)


@pytest.fixture
def records(caplog):
    """Return what tells the lines of one of the package's loggers, by its name."""
    caplog.set_level(logging.INFO, logger="a2a_adapters")
    caplog.handler.setFormatter(JsonFormatter())

    def of(name):
        return [r for r in caplog.records if r.name == f"a2a_adapters.{name}"]

    return of
