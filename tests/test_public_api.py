"""The public names, and the cost of importing them."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import a2a_adapters

ROOT = Path(__file__).parents[1]
CORE = sorted((ROOT / "a2a_adapters").rglob("*.py"))
PUBLIC_MODULES = [
    "contract.adapter",
    "calling.errors",
    "concurrency.blocking",
    "dialects",
    "plugin",
    "contract.errors",
    "contract.events",
    "serving.server",
    "testing",
]
PLUGINS = sorted((ROOT / "plugins").rglob("*.py"))


def test_all_is_the_public_api():
    names = set(a2a_adapters.__all__)
    assert sorted(names) == sorted(a2a_adapters.__all__), "a name is listed twice"
    for name in names:
        assert getattr(a2a_adapters, name) is not None
    public = {name for name in vars(a2a_adapters) if not name.startswith("_")}
    modules = {name for name in public if f"a2a_adapters.{name}" in sys.modules}
    assert public - modules - {"annotations", "TYPE_CHECKING"} <= names
    assert a2a_adapters.__version__
    with pytest.raises(AttributeError):
        _ = a2a_adapters.nothing


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_public_modules_have_all(name):
    module = importlib.import_module(f"a2a_adapters.{name}")
    assert all(hasattr(module, public) for public in module.__all__)


def test_importing_the_package_is_cheap():
    code = "import a2a_adapters, sys; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = ("a2a.server", "sqlalchemy", "langchain", "langgraph", "uvicorn", "starlette", "httpx")
    assert not [name for name in done.stdout.split() if name.startswith(heavy)]
