"""Errors of public names whose framework is missing or broken."""

from __future__ import annotations

import sys

import pytest

from a2a_adapters import MissingExtraError, lazy_names


@pytest.fixture
def needing(tmp_path, monkeypatch):
    """Return the `__getattr__` of a package with one module that imports a given one."""

    def make(import_line):
        package = tmp_path / "needing_package"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "module.py").write_text(f"{import_line}\nname = 1\n")
        monkeypatch.syspath_prepend(tmp_path)
        for loaded in ("needing_package", "needing_package.module"):
            monkeypatch.delitem(sys.modules, loaded, raising=False)
        return lazy_names(
            "needing_package", {"name": "module"}, frameworks=("json", "no_such"), extra="some"
        )

    return make


def test_a_framework_that_is_not_installed_is_to_be_installed(needing):
    with pytest.raises(MissingExtraError, match="some"):
        needing("import no_such")("name")


def test_a_missing_module_of_an_installed_framework_is_named(needing):
    with pytest.raises(ModuleNotFoundError, match=r"json\.no_such") as raised:
        needing("import json.no_such")("name")
    assert not isinstance(raised.value, MissingExtraError)
