"""The functions of the page about other frameworks, each with its framework in an environment."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from a2a_adapters import NoAdapterError, build_app
from tests.support.processes import UV

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "other-frameworks.md").read_text()
EXAMPLES = dict(re.findall(r'```python title="with_(\w+)\.py"\n(.*?)```', PAGE, re.DOTALL))
PACKAGES = dict(re.findall(r"\| `([\w-]+)` \| ([\d.]+) \|$", PAGE, re.MULTILINE))
HEARD = {
    "ag2": ("where?", "agent", ["Rome.", "Rome."]),
    "agno": ("where?", "agent", ["Rome, in answer 1.", "Rome, in answer 2."]),
    "dspy": ({"season": "summer", "budget": 900}, "module", [[{"city": "Rome"}]] * 2),
    "haystack": ("where?", "pipeline", ["Rome, as you say: where?"] * 2),
}
"""What a caller sends, the name of the framework's object, and two answers of a conversation."""

TALK = """
import asyncio, sys
from importlib import import_module
from a2a_adapters import Data, NoAdapterError, RemoteAgent, build_app
from a2a_adapters.testing import running

name, (message, target, heard) = sys.argv[1], eval(sys.argv[2])
module = import_module(f"with_{name}")
try:
    build_app(getattr(module, target))
except NoAdapterError as error:
    assert "by a function:\\n\\n    async def answer(" in str(error), error
else:
    raise AssertionError("a plugin serves it")

async def talk():
    async with running(build_app(module.guide)) as url, RemoteAgent(url) as agent:
        conversation = agent.conversation()
        for _ in heard:
            reply = await conversation.send(message if isinstance(message, str) else Data(message))
            yield reply.text or reply.data

async def main():
    said = [each async for each in talk()]
    assert said == heard, said

asyncio.run(main())
"""


@pytest.mark.thorough
@pytest.mark.timeout(10 * 60)
@pytest.mark.parametrize("name", HEARD)
def test_an_example_runs_with_its_framework(name, tmp_path):
    (tmp_path / f"with_{name}.py").write_text(EXAMPLES[name])
    [package] = [each for each in PACKAGES if each.partition("-")[0] == name]
    python = tmp_path / "environment" / "bin" / "python"
    subprocess.run(
        [UV, "venv", "--quiet", "--python", sys.executable, python.parents[1]], check=True
    )
    requirements = ["-e", str(ROOT), f"{package}=={PACKAGES[package]}"]
    subprocess.run([UV, "pip", "install", "--quiet", "--python", python, *requirements], check=True)
    subprocess.run([python, "-c", TALK, name, repr(HEARD[name])], check=True, cwd=tmp_path)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_error_about_an_object_shows_the_function(name):
    kind = type("Agent", (), {"__module__": f"{name}.agents"})
    for target in (kind(), type("Mine", (kind,), {})()):
        with pytest.raises(NoAdapterError, match="by a function:\n\n    async def answer"):
            build_app(target)
