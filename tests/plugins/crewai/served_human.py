"""Serves a crew with `human_input` in a process that tests kill."""

from __future__ import annotations

import sys

import tests.plugins.crewai.conftest  # noqa: F401 - keeps crewai quiet
from a2a_adapters import ServerOptions, serve
from tests.plugins.crewai.support import crew

if __name__ == "__main__":
    target = crew("a draft", human_input=True, name="draft")
    serve({"crew": target}, port=0, options=ServerOptions(storage=sys.argv[1]))
