"""The packages of the wheel."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]


def test_the_wheel_has_every_plugin():
    plugins = {str(path.relative_to(ROOT)) for path in ROOT.glob("plugins/*/a2a_adapters_*")}
    assert plugins | {"a2a_adapters"} == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_marked_as_typed(package):
    assert (ROOT / package / "py.typed").is_file()
