"""What the commands for agents take from the environment, and from where."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import TYPE_CHECKING

from a2a_adapters_client.access import Access
from a2a_adapters_client.variables import PREFIX, SECRETS, read_variables

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_VARIABLES = {"stream", "config"}


def client_settings() -> Iterator[tuple[str, str, str]]:
    """Yield the name, the value and the origin of what is set or has a default; no secrets."""
    files = read_variables()
    for each in fields(Access):
        if each.name in _NO_VARIABLES:
            continue
        name = PREFIX + each.name.upper()
        value, origin = "" if each.default is None else str(each.default), "default"
        if name in os.environ:
            value, origin = os.environ[name], "environment"
        elif name in files:
            value, origin = files[name][0], str(files[name][1])
        if value:
            yield name, "***" if name in SECRETS else value, origin
