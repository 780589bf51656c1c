"""The options of `serve`."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
from a2a_adapters_server.serve import serve
from a2a_adapters_server.settings import ServerSettings

OF_THE_COMMAND = {"targets", "config", "push_private", "worker", "reload", "opens", "_verbose"}


def test_each_option_is_a_setting():
    parameters = inspect.signature(serve).parameters.keys()
    assert parameters - ServerSettings.model_fields.keys() == OF_THE_COMMAND


@pytest.mark.parametrize("words", [["--help"], ["serve", "--help"]])
def test_help_imports_no_settings(words):
    code = f"""
import sys
sys.argv = ["a2a-adapters", *{words}]
try:
    import a2a_adapters.__main__
finally:
    print(*sys.modules, sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "a2a_adapters.cli" in loaded
    assert not {"a2a_adapters_server.settings", "a2a_adapters.serving.server"} & loaded
