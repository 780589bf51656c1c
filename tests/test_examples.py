"""The examples run offline and check themselves."""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.programs import SEPARATE, has
from tests.support.warm import warm

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
README = (EXAMPLES / "README.md").read_text()
MODULES = {
    "claude-agent-sdk": "claude_agent_sdk",
    "deepagents": "deepagents",
    "google-adk": "google.adk",
}
"""Packages that the extras of the examples may lack, with the modules that examples import."""
LISTED = re.findall(r"^\| \[(.*\.py)\]", README, re.MULTILINE)
PARTS = {"demo_client.py", "demo_server.py", "travel/tools.py"}
"""Scripts that other examples start."""
DESCRIBED = re.findall(
    r"^\| .* \| `python (.*) (\w+)` \| `(.*)` \|$",
    (ROOT / "docs" / "examples.md").read_text(),
    re.MULTILINE,
)


def runs_here(name):
    """Whether the environment has the frameworks that an example, or its folder, imports."""
    path = EXAMPLES / name
    folder = path.with_suffix("") if path.parent == EXAMPLES else path.parent
    source = "".join(each.read_text() for each in [path, *folder.glob("*.py")])
    needed = [each for each in SEPARATE.values() if re.search(rf"(?m)^ *from {each}\b", source)]
    return all(has(module) for module in needed)


def test_the_readme_names_the_examples_that_the_extra_does_not_suffice_for():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    brought = " ".join(extras["examples"] + extras["all"])
    lacking = [n for n in MODULES if not re.search(rf"\b{n}\b", brought)]
    modules = [MODULES[name] for name in lacking]
    for name in LISTED:
        path = EXAMPLES / name
        parts = [path] if path.parent == EXAMPLES else path.parent.glob("*.py")
        source = "".join(each.read_text() for each in parts)
        assert re.search(r"(?m)^ *(pip install .*|make demo)$", path.read_text()), name
        is_named = f"`{name}`" in README
        assert is_named == any(re.search(rf"(?m)^ *from {each}\b", source) for each in modules)


# Another test runs it in its own process.
STARTED = [name for name in LISTED if name != "described_uses.py" and runs_here(name)]


@pytest.mark.model
@pytest.mark.timeout(300)
@pytest.mark.parametrize("command", [*STARTED, "orchestrator.py --model"])
def test_an_example_runs_and_checks_itself(command, tmp_path):
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    name, *options = command.split()
    path = EXAMPLES / name
    # A warm process has imported crewai, before which `quiet` must be called.
    is_quiet = "quiet()" in path.read_text()
    subprocess.run(
        [sys.executable, path, *options] if is_quiet else warm(str(path), *options),
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
