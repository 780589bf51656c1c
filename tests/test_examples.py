"""The examples run offline and check themselves, in the environment of their README."""

from __future__ import annotations

import ast
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import UV

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
README = (EXAMPLES / "README.md").read_text()
LISTED = re.findall(r"^\| \[(.*\.py)\]", README, re.MULTILINE)
PARTS = {"demo_client.py", "demo_server.py", "travel/tools.py"}
"""Scripts that other examples start."""
DESCRIBED = re.findall(
    r"^\| .* \| `python (.*) (\w+)` \| `(.*)` \|$",
    (ROOT / "docs" / "described-uses.md").read_text(),
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Install the requirements in the README into a new environment; return its Python."""
    folder = tmp_path_factory.mktemp("examples")
    python = folder / "bin" / "python"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    [arguments] = re.findall(r"^\$ pip install (.*)$", README, re.MULTILINE)
    install = [UV, "pip", "install", "--quiet", "--python", python, "-c", "constraints.txt"]
    subprocess.run([*install, *shlex.split(arguments)], check=True, cwd=ROOT)
    return python


@pytest.mark.install
@pytest.mark.model
@pytest.mark.timeout(300)
@pytest.mark.parametrize("command", [*LISTED, "orchestrator.py --model"])
def test_an_example_runs_and_checks_itself(python, command, tmp_path):
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    name, *options = command.split()
    subprocess.run(
        [python, EXAMPLES / name, *options],
        check=True,
        timeout=280,
        stdin=subprocess.DEVNULL,
        env={**kept, "HOME": str(tmp_path)},
    )


def test_the_readme_lists_all_examples():
    runnable = {
        str(path.relative_to(EXAMPLES))
        for path in EXAMPLES.rglob("*.py")
        if 'if __name__ == "__main__":' in path.read_text()
    }
    assert sorted(runnable - PARTS) == LISTED


@pytest.mark.parametrize("name", LISTED)
def test_an_example_begins_with_its_installation_and_its_command(name):
    header = ast.get_docstring(ast.parse((EXAMPLES / name).read_text()))
    _, commands, *_ = header.split("\n\n")
    install, run = (line.strip() for line in commands.splitlines())
    assert re.match(r"pip install '?a2a-adapters", install)
    assert run.startswith(f"python examples/{name}")


async def test_the_described_uses_have_the_results_of_the_table(capsys):
    pytest.importorskip("langchain_core")
    pytest.importorskip("litellm")
    example = runpy.run_path(str(EXAMPLES / "described_uses.py"))
    names = [name for _, name, _ in DESCRIBED]
    assert sorted(names) == sorted(example["USES"])
    await example["main"](*names)
    printed = capsys.readouterr().out.splitlines()
    assert printed == [f"{name}: {result}" for _, name, result in DESCRIBED]
    assert {script for script, _, _ in DESCRIBED} == {"examples/described_uses.py"}
