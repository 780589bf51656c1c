"""`a2a-adapters init`; projects of CrewAI and OpenAI agents are run with their plugins' tests."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib

import pytest

from tests.support.command_line import finished
from tests.support.processes import PATIENCE
from tests.support.projects import check, make

pytestmark = pytest.mark.timeout(5 * 60)


@pytest.mark.thorough
@pytest.mark.parametrize("framework", ["functions", "langchain", "langgraph", "autogen"])
def test_a_project_runs(framework, tmp_path, monkeypatch):
    check(tmp_path / "host", framework, monkeypatch)


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(subprocess.CalledProcessError):
        make(tmp_path, "functions")
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ([], "--framework is required"),
        (["--framework", "functions"], "--name is required"),
        (["--framework", "x"], "there is no framework 'x'; there are functions, "),
        (["--framework", "langgraf"], "did you mean langgraph?"),
        (["--framework", "functions", "--name", "!"], "letters or digits"),
        (["--framework", "functions", "--name", "x\ny"], "letters or digits"),
        (["/dev/null/x", "--framework", "functions", "--name", "x"], "cannot be written"),
    ],
)
def test_errors_are_one_line(options, error, tmp_path):
    done = finished("init", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert error in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_terminal_is_asked(tmp_path):
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "a2a_adapters", "init"]
    with subprocess.Popen(
        command, stdin=follower, stdout=subprocess.PIPE, cwd=tmp_path, text=True
    ) as process:
        os.write(leader, b'langgraph\nThe "Best" Host\n')
        output, _ = process.communicate(timeout=PATIENCE)
    os.close(leader)
    os.close(follower)
    assert process.returncode == 0
    assert "cd the-best-host\n" in output
    settings = tomllib.loads((tmp_path / "the-best-host" / "a2a-adapters.toml").read_text())
    assert settings["name"] == 'The "Best" Host'
