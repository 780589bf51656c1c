"""Imports the targets named on the command line."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.contract.plugins import extra_of, installed_plugins

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


def load_targets(arguments: Sequence[str]) -> object:
    """Import `module:attribute`, or several `name=module:attribute` as a mapping.

    It also sets up the process's log, for commands of plugins that serve targets.

    Raises:
        ConfigurationError: One of several has no name or a duplicate one, or an import fails.
    """
    from a2a_adapters.observability.logs import log_process  # noqa: PLC0415 - a slow import

    log_process("text", is_loading=True)
    paths = parse_targets(arguments)
    target: object
    if isinstance(paths, str):
        target = load_target(paths)
    else:
        target = {name: load_target(path) for name, path in paths.items()}
    log_process("text")
    return target


def parse_targets(arguments: Sequence[str]) -> str | dict[str, str]:
    """Return the path of a single target, or those of several by name.

    Raises:
        ConfigurationError: One of several has no name or a duplicate one.
    """
    if len(arguments) == 1 and not _is_named(arguments[0]):
        return arguments[0]
    paths: dict[str, str] = {}
    for argument in arguments:
        name, _, path = argument.partition("=")
        if not _is_named(argument):
            raise ConfigurationError(f"{argument!r} needs a name, as in poet={argument}")
        if name in paths:
            raise ConfigurationError(f"there are two agents named {name!r}")
        paths[name] = path
    return paths


def _is_named(argument: str) -> bool:
    """Return whether an argument names its target; text after a colon belongs to the target."""
    return "=" in argument.partition(":")[0]


def load_target(path: str) -> object:
    """Import `module:attribute` or `folder/file.py:attribute`, or create a plugin's target.

    Modules are searched in the current folder first.

    Raises:
        ConfigurationError: There is no such module or attribute, or its import fails.
    """
    if (target := installed_plugins().target(path)) is not None:
        return target
    source, _, attribute = path.rpartition(":")
    if not source or not attribute:
        raise ConfigurationError(
            f"{path!r} is not of the form module:attribute, as in app:chain or folder/app.py:chain"
        )
    if "/" in source and not source.endswith(".py"):
        raise ConfigurationError(
            f"{source} is not a module: name its file, {source}.py:{attribute}"
        )
    installed_plugins().prepare_process()
    sys.path.insert(0, str(Path.cwd()))
    found: object = _import_file(Path(source)) if source.endswith(".py") else _import(source)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ConfigurationError(f"{source} has no attribute {part!r}")
        found = getattr(found, part)
    return found


def _import_file(file: Path) -> ModuleType:
    module = _import(_module_of(file))
    imported = getattr(module, "__file__", None)
    if not imported or not file.samefile(imported):
        raise ConfigurationError(
            f"{file} has the name of another module, {imported or 'of Python itself'}: "
            "rename it, or make its folder a package with an __init__.py"
        )
    return module


def _module_of(file: Path) -> str:
    """Return a file's module name, and add its folder, or its package's, to the import path."""
    if not file.is_file():
        raise ConfigurationError(f"there is no file {file}")
    folder = file.resolve().parent
    names = [file.stem]
    while (folder / "__init__.py").exists():
        names.insert(0, folder.name)
        folder = folder.parent
    sys.path.insert(0, str(folder))
    return ".".join(names)


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name.partition(".")[0]:
            hint = "run this in its folder, or name the file"
        else:
            extra = extra_of(error.name or "")
            hint = f"pip install 'a2a-adapters[{extra}]'" if extra else "install it"
        raise ConfigurationError(f"there is no module {error.name!r}; {hint}") from error
    except Exception as error:
        raise ConfigurationError(
            f"importing {name} failed: {type(error).__name__}: {error}"
        ) from error
