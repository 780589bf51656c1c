"""`a2a-adapters router`: checks a router's file and queries its history."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from a2a_adapters import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from a2a_adapters_router.deployment import Price

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def router(
    action: Annotated[
        Literal["check", "spend", "history"],
        typer.Argument(
            help="check: validate the file and print the price of each deployment; "
            "spend: total cost of calls; history: all routing decisions."
        ),
    ],
    file: Annotated[str, typer.Argument(help="The router's YAML file.")] = "router.yaml",
    by: Annotated[
        str, typer.Option(help="Group spend by owner, team, model, provider, outcome or day.")
    ] = "model",
    since: Annotated[
        str, typer.Option(help="Start: an age such as 30m, 12h, 7d or 4w, or a UTC date.")
    ] = "30d",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line.")
    ] = False,
) -> None:
    """Check a router's file, or query its spending and decisions.

    Examples:
      a2a-adapters router check router.yaml
      a2a-adapters router spend router.yaml --by model
    """
    if action == "check":
        _check(file)
        return
    from a2a_adapters_router.history import History, sums  # noqa: PLC0415 - only if wanted
    from a2a_adapters_router.reading import read_config  # noqa: PLC0415 - only if wanted

    config = read_config(file)
    if config.history is None:
        raise ConfigurationError(f"{file} has no `history`; add `history: {{folder: history}}`")
    begin = _time(since)
    decisions = History(config.history).read(begin)
    if action == "history":
        for each in decisions:
            typer.echo(json.dumps(each, ensure_ascii=not as_json) if as_json else _line(each))
        return
    keys = [key.strip() for key in by.split(",")]
    try:
        rows = sums(decisions, keys, config.teams)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--by") from None
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row))
    elif rows:
        _print_table(rows)
    else:
        typer.echo(f"no calls since {begin:%Y-%m-%d %H:%M} UTC")


def _check(file: str) -> None:
    from a2a_adapters_router.router import Router  # noqa: PLC0415 - takes seconds

    found = Router.from_file(file)
    for each in found.config.deployments:
        tariff = found.tariffs[each.id]
        what = each.model or each.agent
        typer.echo(f"{each.id}: {what} at {each.paid_to}, {_costs(tariff.price)}")
    for name, route in found.config.combos.items():
        active = " (active)" if name == found.config.active else ""
        typer.echo(f"combo {name}{active}: {', then '.join(route.route)}")


def _costs(price: Price) -> str:
    if not (price.input or price.output or price.request):
        return "free"
    tokens = f"${price.input:g} in and ${price.output:g} out per million tokens"
    return f"{tokens}, ${price.request:g} per request" if price.request else tokens


def _time(since: str) -> datetime:
    """Return the time given by an age or a date.

    Raises:
        typer.BadParameter: The text is neither.
    """
    try:
        if age := re.fullmatch(r"(\d+)([mhdw])", since):
            return datetime.now(UTC) - timedelta(**{_UNITS[age[2]]: int(age[1])})
        found = datetime.fromisoformat(since)
    except (ValueError, OverflowError):
        reason = f"{since!r} is neither an age such as 7d or 12h nor a date such as 2026-01-31"
        raise typer.BadParameter(reason, param_hint="--since") from None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _line(decision: dict[str, Any]) -> str:
    names = (decision["time"], decision["outcome"], decision["owner"] or "anonymous")
    return _one_line("  ".join((*names, decision["explanation"])))


def _print_table(rows: Sequence[dict[str, Any]]) -> None:
    cells = [list(rows[0]), *([_cell(row[key]) for key in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        typer.echo("  ".join(map(str.ljust, line, widths)).rstrip())


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.6f}"
    return _one_line(f"{value:,}" if isinstance(value, int) else value or "-")


def _one_line(text: Iterable[str]) -> str:
    """Return text without terminal control characters."""
    return "".join(each if each.isprintable() else " " for each in text)
