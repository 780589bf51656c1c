"""Creates a project with `a2a-adapters init` and runs it."""

from __future__ import annotations

import os
import subprocess

from a2a_adapters import RemoteAgent
from tests.support.processes import started
from tests.support.warm import warm


def make(folder, framework):
    options = ["--framework", framework, "--name", "My Host"]
    subprocess.run(warm("-m", "a2a_adapters", "init", str(folder), *options), check=True)


def check(folder, framework, monkeypatch):
    """Create a project, run its tests, serve it and call it twice."""
    make(folder, framework)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    subprocess.run(
        warm("-m", "pytest", "-q", "-p", "no:cacheprovider"),
        cwd=folder,
        env=environment,
        check=True,
    )
    monkeypatch.chdir(folder)
    with started(warm("-m", "a2a_adapters", "serve", "--port", "0")) as url:
        agent = RemoteAgent(url)
        assert agent.describe_sync().name == "My Host"
        for _ in range(2):
            assert "Hello" in agent.send_sync("Ann").text
        agent.close()
