"""Public names that are loaded on first use: importing a package must not import a framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from a2a_adapters.contract.errors import MissingExtraError

__all__ = ["lazy_names"]


def lazy_names(
    package: str, modules: Mapping[str, str], *, frameworks: Sequence[str] = (), extra: str = ""
) -> Callable[[str], Any]:
    """Return a package's `__getattr__` (PEP 562), which imports the module that has a name.

    Args:
        package: The package's name.
        modules: The module of each name, relative to the package.
        frameworks: What these modules need that may not be installed; the first by all of them.
        extra: The extra that installs it. The `__getattr__` raises `MissingExtraError` without.
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            if frameworks:
                import_module(frameworks[0])
            return getattr(import_module(f"{package}.{modules[name]}"), name)
        except ModuleNotFoundError as error:
            if error.name in frameworks:  # not a module of one that is installed, but too old
                raise MissingExtraError(f"{name} of {package}", extra) from error
            raise

    return load
