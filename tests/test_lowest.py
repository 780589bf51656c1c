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
    assert floor(name) == Version(PINS[name]), "add to VERSIONED what this can break"


def test_the_listed_files_exist():
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", "")
    lists = re.findall(r"^(?:MOSTLY_OURS|(?:UN)?VERSIONED) [:+]= (.*)", makefile, re.MULTILINE)
    names = re.findall(r"[\w/]+(?:\.py)?(?=[\s)]|$)", " ".join(lists))
    files = [name for name in names if name.endswith(".py")]
    assert len(files) > 20
    assert [name for name in files if not (ROOT / "tests" / name).is_file()] == []
