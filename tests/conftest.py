"""Fixtures and settings of all tests."""

from __future__ import annotations

import gc
import logging
import os
import signal
import ssl
import subprocess
import sys
from unittest.mock import patch

import certifi
import pytest
from hypothesis import settings

from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.observability.logs import JsonFormatter
from a2a_adapters.testing import OnStorage
from tests.support.processes import UV
from tests.support.programs import SEPARATE, has, lacking
from tests.support.warm import share
from tests.support.workers import is_of_one_worker, pytest_addoption, pytest_runtestloop

__all__ = ["pytest_addoption", "pytest_runtestloop"]

# Background jobs of a shell ignore Ctrl-C; the processes started by tests must not.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Numbers of generated examples, `long` for `make fuzz`. On a busy machine, one may take any time.
settings.register_profile("short", deadline=None, max_examples=10)
settings.register_profile("long", deadline=None, max_examples=2000)
settings.load_profile("short")

# The tests of these frameworks have environments of their own, see the Makefile.
collect_ignore = [f"plugins/{plugin}" for plugin, module in SEPARATE.items() if not has(module)]


def pytest_configure():
    share()


def pytest_terminal_summary(terminalreporter):
    """Report the tests that were skipped because a program is missing."""
    for line in lacking(terminalreporter.stats.get("skipped", ())):
        terminalreporter.write_line(line, yellow=True)


@pytest.fixture(scope="session", autouse=True)
def settings_of_its_own(tmp_path_factory):
    """Let commands keep their history in a folder of this process, not in the user's."""
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("settings"))


@pytest.fixture(scope="session", autouse=True)
def certificates():
    """Load the CA certificates once, which takes each client of httpx 25 ms."""
    read = ssl.create_default_context
    authorities = os.environ.get("SSL_CERT_FILE", certifi.where())
    known = read(cafile=authorities)

    def known_or_read(*arguments, **options):
        is_usual = not arguments and options == {"cafile": authorities}
        return known if is_usual else read(*arguments, **options)

    with patch.object(ssl, "create_default_context", known_or_read):
        yield


ON_DATABASES = {
    "TestAsyncFunctionsOnSqlite",
    "TestAsyncFunctionsOnPostgresql",
    "TestGraphsOnSqlite",
    "TestProxiesOnSqlite",
}
"""The contracts that `make test` runs on databases: of a function, and of agents that wait with a
state. It runs each framework's contract in memory; their product with the storages is thorough."""


ON_POSTGRESQL = {"dbos", "functions", "router", "sql"}
"""The plugins that `make test` tests on PostgreSQL, too, and not only in memory and on SQLite."""


def _is_product(item):
    """Return whether it repeats, on another storage, what `make test` tests on one."""
    if issubclass(item.cls or object, OnStorage):
        return item.cls.__name__ not in ON_DATABASES
    if not hasattr(item, "callspec") or "postgresql" not in item.callspec.params.values():
        return False
    *_, folder, plugin, _ = item.nodeid.partition("::")[0].split("/")
    return folder == "plugins" and plugin not in ON_POSTGRESQL


def pytest_collection_modifyitems(items):
    """Start with the slowest files, so that no worker ends long after the others."""
    for item in items:
        if _is_product(item):
            item.add_marker(pytest.mark.thorough)
    limits = {}
    for item in items:
        limit = item.get_closest_marker("timeout")
        limits[item.path] = max(limits.get(item.path, 0), limit.args[0] if limit else 0)
    items.sort(key=lambda item: (-limits[item.path], not is_of_one_worker(item)))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Freeze the objects of the collection, which the garbage collector need not scan again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()  # otherwise each app would do so at its start


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Collect the remaining garbage once, instead of five times by pytest and the interpreter."""
    while gc.collect():
        pass
    gc.freeze()


@pytest.fixture(scope="session")
def old_python(tmp_path_factory):
    """Return the interpreter of an environment with a2a-sdk 0.3 and its server."""
    environment = tmp_path_factory.mktemp("v03") / "venv"
    python = environment / "bin" / "python"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    packages = ["a2a-sdk[grpc,http-server]>=0.3.26,<0.4", "uvicorn"]
    install = [UV, "pip", "install", "--quiet", "--python", python, *packages]
    subprocess.run(install, check=True)
    return str(python)


@pytest.fixture(scope="session")
def loggers():
    """The root logger, and those of the package, its plugins and its server."""
    names = ("a2a_adapters", "uvicorn", "uvicorn.error", *installed_plugins().packages())
    return [logging.getLogger(), *map(logging.getLogger, names)]


@pytest.fixture(autouse=True)
def logging_as_it_was(loggers):
    """Reset the package's loggers after a server in this process has configured them."""
    before = [(each.propagate, each.disabled, each.level, each.handlers[:]) for each in loggers]
    yield
    for logger, (propagate, disabled, level, handlers) in zip(loggers, before, strict=True):
        logger.propagate, logger.disabled = propagate, disabled
        if logger.level != level:  # setting it clears the caches of all loggers
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
    """Return a function that gives the log lines of a logger of this package."""
    caplog.set_level(logging.INFO, logger="a2a_adapters")
    caplog.handler.setFormatter(JsonFormatter())

    def of(name):
        return [r for r in caplog.records if r.name == f"a2a_adapters.{name}"]

    return of


@pytest.fixture
def spans(monkeypatch):
    """Return a function that gives the ended spans."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)  # private: it can be set only once
    yield exporter.get_finished_spans
    provider.shutdown()
