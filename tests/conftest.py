"""Shared by all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.processes import UV

# Blocks a2a-sdk's spans: they are not under test, and cost more than what is.
os.environ.setdefault("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")

# crewai is large: its tests have an environment of their own, see the Makefile.
collect_ignore = [] if find_spec("crewai") else ["plugins/crewai"]


@pytest.fixture(scope="session")
def old_python(tmp_path_factory):
    """Return the interpreter of an environment with a2a-sdk 0.3, its server included."""
    environment = tmp_path_factory.mktemp("v03") / "venv"
    python = environment / "bin" / "python"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    packages = ["a2a-sdk[grpc,http-server]>=0.3.26,<0.4", "uvicorn"]
    install = [UV, "pip", "install", "--quiet", "--python", python, *packages]
    subprocess.run(install, check=True)
    return str(python)
