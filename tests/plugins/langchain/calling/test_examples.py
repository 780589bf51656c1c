from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.warm import warm

EXAMPLES = Path(__file__).parents[4] / "examples"

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize(
    "command",
    [
        ["calling_agents.py"],
        ["durable.py"],
        ["orchestrator.py"],
        pytest.param(["orchestrator.py", "--model"], marks=pytest.mark.model),
    ],
    ids=" ".join,
)
def test_examples_run_and_check_themselves(command):
    script, *options = command
    command = warm("-W", "error", str(EXAMPLES / script), *options)
    done = subprocess.run(command, check=True, timeout=250, capture_output=True, text=True)
    assert "booked" in done.stdout.lower()
