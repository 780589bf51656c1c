"""Programs of users with the frameworks pass strict type checkers, without their plugins."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import has

ROOT = Path(__file__).parents[1]
PROGRAMS = {"main": "autogen_agentchat", "crews": "crewai", "frameworks": "google.adk"}
pytestmark = [pytest.mark.thorough, pytest.mark.timeout(10 * 60)]


@pytest.mark.parametrize("name", [name for name, module in PROGRAMS.items() if has(module)])
def test_a_users_program_passes_type_checkers(name, tmp_path):
    program = shutil.copy(ROOT / "tests" / "typed" / f"{name}.py", tmp_path)
    settings = {"typeCheckingMode": "strict", "reportMissingTypeStubs": False}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    cache = Path(sys.prefix) / ".mypy_cache" / "programs"
    bin_ = Path(sys.executable).parent
    for checker in (
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}"],
        [bin_ / "basedpyright", "--pythonpath", sys.executable],
    ):
        checked = subprocess.run(
            [*checker, program], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr
