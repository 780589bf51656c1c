"""Measures an agent under the load of many conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl, lazy_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters_bench.load import Figures, Load, measure

__all__ = ["Figures", "Load", "measure"]

__getattr__ = lazy_names(__name__, dict.fromkeys(__all__, "load"))


@hookimpl
def a2a_commands() -> Mapping[str, str]:
    """Return the command `bench`."""
    return {"bench": "a2a_adapters_bench.command:bench"}
