"""Storage URLs, checked without the drivers."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from a2a_adapters.contract.errors import ConfigurationError

Kind: TypeAlias = Literal["sqlite", "postgresql"]

_FORMS = "memory:, sqlite:///file.db or postgresql://user:password@host/database"
_FILE = re.compile(r"(?:file:|sqlite:)?/{0,2}([\w.][\w./\\ -]*)")
_ALIASES = {"postgres": "postgresql", "psql": "postgresql", "sqlite3": "sqlite"}


def kind_of(url: str) -> Kind:
    """Return the kind of database that a URL names.

    Raises:
        ConfigurationError: The URL is not supported. The message omits a URL with a host, since it
            may contain a password.
    """
    scheme, separator, rest = url.partition("://")
    if scheme == "sqlite" and separator:
        if not rest.partition("?")[0].startswith("/") or not rest.partition("?")[0].strip("/"):
            raise ConfigurationError(
                "the storage sqlite: needs a file, such as sqlite:///agents.db"
            )
        return "sqlite"
    if scheme == "postgresql" and separator:
        return "postgresql"
    if separator and scheme in _ALIASES:
        raise ConfigurationError(f"unknown storage {scheme}:; use {_ALIASES[scheme]}://...")
    if separator:
        raise ConfigurationError(f"unknown storage {scheme}:; use {_FORMS}")
    if file := _FILE.fullmatch(url):
        raise ConfigurationError(
            f"the storage must be a URL; for the file {file[1]} it is sqlite:///{file[1]}"
        )
    raise ConfigurationError(f"the storage must be a URL: {_FORMS}")
