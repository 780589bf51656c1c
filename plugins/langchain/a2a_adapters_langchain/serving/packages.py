"""Tells the code of LangChain's packages, and of other installed ones, from the user's."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection

_OWN = {"langchain", "langgraph", "deepagents", "a2a_adapters_langchain"}
_PARTNER = re.compile(r"(langchain|langgraph|deepagents)_")
"""The prefixes of packages such as `langchain_openai`, which many projects use, too."""

_INSTALLED = re.compile(r"[\\/](site|dist)-packages([\\/]|$)")
"""The folders of installed packages."""


def package_of(module: str) -> str:
    """Return the name of the package of a module."""
    return module.partition(".")[0]


def is_installed(package: str) -> bool:
    """Whether a package is of the standard library, or was installed beside the user's code."""
    if package in sys.stdlib_module_names:
        return True
    module = sys.modules.get(package)
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    return any(_INSTALLED.search(place) for place in places if place)


def is_of_langchain(module: str) -> bool:
    """Whether a module is of LangChain's packages, or of this one."""
    package = package_of(module)
    return package in _OWN or (bool(_PARTNER.match(package)) and is_installed(package))


def is_library(module: str) -> bool:
    """Whether a module is not the user's own."""
    package = package_of(module)
    return package == "a2a_adapters" or is_of_langchain(module) or is_installed(package)


def is_library_for(projects: Collection[str], module: str) -> bool:
    """Whether a module is not the user's own, whose packages may be installed, too."""
    is_own = package_of(module) in projects and not is_of_langchain(module)
    return is_library(module) and not is_own
