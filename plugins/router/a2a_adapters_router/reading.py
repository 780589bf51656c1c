"""Reading of a router's YAML file, with errors by line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from pydantic import ValidationError

from a2a_adapters import ConfigurationError
from a2a_adapters_router.config import RouterConfig
from a2a_adapters_router.litellm_file import SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_core import ErrorDetails

_LITELLMS = {"deployments": "model_list", "aliases": "model_group_alias"}
"""Top-level keys of litellm's files."""


def read_config(path: str | Path) -> RouterConfig:
    """Read a router's file.

    Raises:
        ConfigurationError: The file is unreadable or invalid; the message names the lines.
    """
    file = Path(path)
    try:
        node = yaml.compose(file.read_text("utf-8"), Loader=yaml.SafeLoader)
        content = yaml.SafeLoader("").construct_document(node) if node else None
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:  # its text quotes the line
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigurationError(f"{file}:{line}: invalid YAML: {error.problem}") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise ConfigurationError(f"{file} is not a text file") from None
    if not isinstance(content, dict):
        keys = "`deployments:` or `model_list:`"
        raise ConfigurationError(f"{file} has no settings; start with {keys}")
    try:
        config = RouterConfig.model_validate(content)
    except ValidationError as error:
        lines = [_explained(file, node, wrong) for wrong in error.errors(include_url=False)]
        raise ConfigurationError("\n".join(lines)) from None  # its text quotes values
    if config.history is None:
        return config
    folder = str(file.absolute().parent / config.history.folder)
    history = config.history.model_copy(update={"folder": folder})
    return config.model_copy(update={"history": history})


def _explained(file: Path, node: yaml.Node | None, wrong: ErrorDetails) -> str:
    cause = wrong.get("ctx", {}).get("error")
    path = cause.path if isinstance(cause, SettingError) else wrong["loc"]
    line, where = _line_of(node, path), ".".join(map(str, path))
    reason = wrong["msg"].removeprefix("Value error, ")
    return f"{file}:{line}: {where}: {reason}" if where else f"{file}:{line}: {reason}"


def _line_of(node: yaml.Node | None, path: Sequence[int | str]) -> int:
    """Return the line of a value or of its nearest parent."""
    line = node.start_mark.line + 1 if node else 1
    for step in path:
        match node:
            case yaml.MappingNode():
                names = (str(step), _LITELLMS.get(str(step)))
                found = next(((k, v) for k, v in node.value if k.value in names), None)
                if found is None:
                    break
                line, node = found[0].start_mark.line + 1, found[1]
            case yaml.SequenceNode() if isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                line = node.start_mark.line + 1
            case _:
                break
    return line
