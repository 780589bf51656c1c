"""Runs tests in forks of the process that has collected them.

Importing and collecting all tests takes as long as running a thousand of them. Workers of
pytest-xdist would each do both again.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import warnings
from itertools import groupby, pairwise
from multiprocessing.connection import wait
from operator import itemgetter
from pathlib import Path

import pytest

RUN = "A2A_ADAPTERS_TESTS_RUN"
"""Variable with the id of the run, of which all processes share a PostgreSQL server."""

_FORK = multiprocessing.get_context("fork")


def run(session, count):
    """Run the tests of a session in `count` workers, one file after the other in each."""
    files = [list(items) for _, items in groupby(session.items, lambda item: item.path)]
    workers = _forked(session, files, count)
    following = iter(range(len(files)))
    try:
        while workers:
            for worker in wait([*workers]):
                try:
                    message = worker.recv()
                except EOFError:
                    _end(*workers.pop(worker))
                    continue
                if message is None:
                    worker.send(next(following, None))
                elif isinstance(message, str):
                    workers[worker][1] = message
                else:
                    _report(session, message)
    finally:
        for process, _ in workers.values():
            os.kill(process.pid, signal.SIGINT)
        for process, _ in workers.values():
            process.join()


def _forked(session, files, count):
    """Return the processes of workers, and what they run, by their connections."""
    workers = {}
    capture = session.config.pluginmanager.getplugin("capturemanager")
    session.config.get_terminal_writer().flush()
    capture.stop_global_capturing()  # else all would write to the same files
    for number in range(min(count, len(files))):
        ours, theirs = _FORK.Pipe()
        process = _FORK.Process(
            target=_work, args=(session, files, theirs, [ours, *workers]), name=f"worker {number}"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about threads of libraries
            process.start()
        theirs.close()
        workers[ours] = [process, "its start"]
    capture.start_global_capturing()
    return workers


def _end(process, item):
    process.join()
    if process.exitcode:
        pytest.exit(f"{process.name} ended with {process.exitcode} after {item}", returncode=3)


def _report(session, reports):
    """Report a file's tests as if they had run in this process."""
    hook, config = session.config.hook, session.config
    for (nodeid, location), phases in groupby(reports, itemgetter("nodeid", "location")):
        hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
        for data in phases:
            report = hook.pytest_report_from_serializable(config=config, data=data)
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)


class _Reports:
    """Keeps the reports of a worker's tests, instead of showing them."""

    def __init__(self, config):
        self._config = config
        self._kept = []

    def pytest_runtest_logreport(self, report):
        hook = self._config.hook
        self._kept.append(hook.pytest_report_to_serializable(config=self._config, report=report))

    def take(self):
        kept, self._kept = self._kept, []
        return kept


def _work(session, files, connection, others):
    """Run files in a fork until there are no more."""
    for other in others:
        other.close()
    atexit._clear()  # would end what the parent has started
    config = session.config
    config.workerinput = {}  # tells plugins that another process writes the results
    plugins = config.pluginmanager
    plugins.register(reports := _Reports(config))
    terminal = plugins.getplugin("terminalreporter")._tw
    plugins.getplugin("capturemanager").start_global_capturing()
    shown = terminal._file
    with Path(os.devnull).open("w") as terminal._file:  # the parent shows the reports
        try:
            _run_files(config, files, connection, reports)
        except KeyboardInterrupt:
            pass  # the parent reports it
        finally:
            config.hook.pytest_sessionfinish(session=session, exitstatus=0)
            config._ensure_unconfigure()
            atexit._run_exitfuncs()
    terminal._file = shown


def _run_files(config, files, connection, reports):
    def following():
        connection.send(None)
        return connection.recv()

    def run_item(item, next_item):
        connection.send(item.nodeid)
        config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)

    number = following()
    while number is not None:
        for item, next_item in pairwise(files[number]):
            run_item(item, next_item)
        last = files[number][-1]
        number = following()  # fixtures outlive the last test if the next file uses them
        run_item(last, None if number is None else files[number][0])
        connection.send(reports.take())
