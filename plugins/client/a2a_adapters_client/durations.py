"""Times as people type them."""

from __future__ import annotations

import re

import typer

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
_ONE = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|)")


def seconds(text: str | float) -> float:
    """Return the seconds of `90`, `1m30s`, `1.5h` or `200ms`.

    Raises:
        typer.BadParameter: It is no time, or none at all.
    """
    found = _ONE.findall(str(text))
    if "".join(number + unit for number, unit in found) != str(text) or not found:
        raise typer.BadParameter(f"{text!r} is no time, as in 90, 30s, 5m or 1h30m")
    total = sum(float(number) * _SECONDS[unit] for number, unit in found)
    if total <= 0:
        raise typer.BadParameter("it has to be longer than nothing")
    return float(total)
