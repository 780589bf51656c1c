"""Service parameters: headers, over HTTP (A2A 1.0, section 3.2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.contract.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def read_parameters(lines: Sequence[str]) -> Mapping[str, str]:
    """Return service parameters from lines as in HTTP.

    Raises:
        ConfigurationError: A line is none.
    """
    parameters = {}
    for line in lines:
        name, separator, value = line.partition(":")
        if not separator or not name.strip():
            raise ConfigurationError("--svc-param is of the form 'Name: value'")
        parameters[name.strip()] = value.strip()
    return parameters
