"""The Makefile's settings for `make lowest` are correct."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PINS = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE))


def floor(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [project["dependencies"], *project["optional-dependencies"].values()]
    wanted = [Requirement(line) for lines in listed for line in lines]
    return next(
        Version(bound.version)
        for each in wanted
        if each.name == name
        for bound in each.specifier
        if bound.operator == ">="
    )


@pytest.mark.parametrize("name", ["a2a-sdk", "httpcore", "httpx", "mcp"])
def test_the_main_environment_has_the_lowest_version(name):
    assert floor(name) == Version(PINS[name]), "add to MEETING what this can break"


def test_what_is_listed_exists():
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", "")
    [listed] = re.findall(r"^MEETING := (.*)", makefile, re.MULTILINE)
    names = listed.split()
    assert len(names) > 20
    assert [name for name in names if not (ROOT / "tests" / name).exists()] == []
