"""The packages of the wheel, and where CONTRIBUTING.md finds things in them."""

from __future__ import annotations

import re
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


@pytest.mark.parametrize(
    ("name", "place"),
    re.findall(r"(?m)^\| .+ \| `([\w.]+)` in `(\S+)` \|$", (ROOT / "CONTRIBUTING.md").read_text()),
)
def test_the_guide_for_contributors_names_places_that_exist(name, place):
    folder = ROOT if place.startswith("plugins/") else ROOT / "a2a_adapters"
    [file] = folder.glob(place.replace("...", "*"))
    for each in name.split("."):
        assert re.search(rf"(?m)^\s*(?:async )?(?:def|class) {each}\b", file.read_text())
