from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.warm import warm

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("openai_*.py")), ids=lambda path: path.name)
def test_examples_run_and_check_themselves(path):
    subprocess.run(warm(str(path)), check=True, stdin=subprocess.DEVNULL)
