"""Secrets, which files name and the environment holds."""

from __future__ import annotations

import os

from a2a_adapters import ConfigurationError

FROM_ENVIRONMENT = "os.environ/"
"""How litellm's own files name a variable of the environment."""


def resolved(value: object) -> object:
    """Return a setting, or what the variable holds that it names.

    Raises:
        ConfigurationError: The variable is not set.
    """
    if not isinstance(value, str) or not value.startswith(FROM_ENVIRONMENT):
        return value
    name = value.removeprefix(FROM_ENVIRONMENT)
    if not (found := os.environ.get(name)):
        raise ConfigurationError(f"the environment variable {name} is not set")
    return found
