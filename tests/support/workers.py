"""Runs tests in several processes, forked from the one that has collected them.

Each worker of pytest-xdist imports and collects all tests again, for 16 s of processor time.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import tempfile
import traceback
import warnings
import weakref
from multiprocessing.connection import Pipe, wait

import pytest

RUN = "A2A_ADAPTERS_TESTS_RUN"
"""Variable with the name of the test run that all its processes share."""

ONE_WORKER = {"console", "temporal"}
"""Plugins whose tests share what takes seconds to start: a browser, or a server."""


def pytest_addoption(parser):
    parser.addoption("--workers", type=int, default=1, help="number of processes that run tests")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """Let each worker run one file after the other."""
    config = session.config
    files = _files(session)
    count = min(config.option.workers, len(files))
    if count < 2 or config.option.collectonly or config.option.usepdb or session.testsfailed:
        return None
    os.environ.setdefault(RUN, str(os.getpid()))
    config.pluginmanager.get_plugin("terminalreporter").showfspath = False  # of several files
    config._tmp_path_factory.getbasetemp()
    queue = _queue(len(files))
    workers = []
    try:
        workers.extend(Worker(session, files, queue, number) for number in range(count))
        _report(session, workers)
    finally:
        os.close(queue)
        for worker in workers:
            worker.end()
    return True


def _files(session):
    """Return the tests of each file, or of each plugin that belongs to one worker."""
    of_all = session.config.args_source is session.config.ArgsSource.TESTPATHS
    files = {}
    for item in session.items:
        together = of_all and is_of_one_worker(item)
        files.setdefault(item.path.parent if together else item.path, []).append(item)
    return list(files.values())


def is_of_one_worker(item):
    plugins, plugin, _ = item.path.parts[-3:]
    return plugins == "plugins" and plugin in ONE_WORKER


def _queue(count):
    """Return a pipe from which each read of four bytes takes the number of a file."""
    queue, numbers = os.pipe()
    os.write(numbers, b"".join(number.to_bytes(4, "big") for number in range(count)))
    os.close(numbers)
    return queue


def _report(session, workers):
    """Report what the workers send, until all have ended."""
    running = {worker.messages: worker for worker in workers}
    while running:
        for messages in wait(running):
            if not running[messages].report():
                del running[messages]
        if reason := session.shouldfail or session.shouldstop:
            raise session.Failed(reason)


class Worker:
    """A forked process that runs tests, as its parent sees it."""

    def __init__(self, session, files, queue, number):
        self._config = session.config
        self._test = "", ("", None, "")
        self._status = None
        self.messages, sending = Pipe(duplex=False)
        self._pid = os.fork()
        if not self._pid:
            _work(session, files, queue, number, sending)
        sending.close()

    def report(self):
        """Report its next message; return whether there may be more."""
        hook = self._config.hook
        try:
            kind, content = self.messages.recv()
        except EOFError:
            if status := self.end():
                hook.pytest_runtest_logreport(report=self._death(status))
            return False
        if kind == "started":
            self._test = content
        elif kind == "warning":
            hook.pytest_warning_recorded.call_historic(kwargs=content)
        else:
            for data in content:
                report = hook.pytest_report_from_serializable(config=self._config, data=data)
                hook.pytest_runtest_logreport(report=report)
            nodeid, location = self._test
            hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
        return True

    def _death(self, status):
        nodeid, location = self._test
        reason = f"worker {self._pid} died with exit code {status}"
        return pytest.TestReport(nodeid, location, {}, "failed", reason, "call")

    def end(self):
        """Interrupt it if it still runs; return its exit code."""
        if self._status is None:
            os.kill(self._pid, signal.SIGINT)
            self._status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self._status


class Sender:
    """Sends the reports of a worker to its parent, in place of showing them."""

    def __init__(self, config, messages):
        self._config = config
        self._messages = messages
        self._reports = []
        self._tw = config.get_terminal_writer()  # with which pytest formats assertions

    def pytest_runtest_logstart(self, nodeid, location):
        self._messages.send(("started", (nodeid, location)))

    def pytest_runtest_logreport(self, report):
        to_data = self._config.hook.pytest_report_to_serializable
        self._reports.append(to_data(config=self._config, report=report))

    def pytest_runtest_logfinish(self):
        self._messages.send(("finished", self._reports))
        self._reports = []

    def pytest_warning_recorded(self, warning_message, when, nodeid, location):
        text, category = str(warning_message.message), warning_message.category
        place = warning_message.filename, warning_message.lineno
        content = {"when": when, "nodeid": nodeid, "location": location}
        content["warning_message"] = warnings.WarningMessage(text, category, *place)
        self._messages.send(("warning", content))


def _work(session, files, queue, number, messages):
    """Run files of the queue in this process until it is empty, and exit."""
    status = 1
    try:
        _become_worker(session.config, number, messages)
        try:
            _run(session, files, queue)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends already
            _finish(session)
        status = 0
    except KeyboardInterrupt:
        pass  # its parent reports it
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _become_worker(config, number, messages):
    """Separate this process from its parent: its files, its output and its exit."""
    for finalizer in weakref.finalize._registry:
        finalizer.atexit = False
    atexit._clear()
    atexit.register(weakref.finalize._exitfunc)
    config.workerinput = {"workerid": f"worker-{number}"}  # the plugins of pytest look for it
    config.option.basetemp = config._tmp_path_factory.getbasetemp() / f"worker-{number}"
    config._tmp_path_factory = pytest.TempPathFactory.from_config(config, _ispytest=True)
    if config.option.capture == "fd":
        for descriptor, stream in (1, sys.stdout), (2, sys.stderr):
            _reopen(descriptor, stream.fileno())
    sender = Sender(config, messages)
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(sender, "terminalreporter")


def _reopen(*descriptors):
    """Let descriptors of captured output refer to a file of this process."""
    with tempfile.TemporaryFile() as file:
        for descriptor in descriptors:
            os.dup2(file.fileno(), descriptor, os.get_inheritable(descriptor))


def _run(session, files, queue):
    while number := os.read(queue, 4):
        items = files[int.from_bytes(number, "big")]
        for item, following in zip(items, [*items[1:], session], strict=True):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail or session.shouldstop:
                return


def _finish(session):
    try:
        session.config.hook.pytest_sessionfinish(session=session, exitstatus=0)
    finally:
        session.config._ensure_unconfigure()
        atexit._run_exitfuncs()
