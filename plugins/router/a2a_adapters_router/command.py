"""`a2a-adapters router check`: what is wrong with a router's file, and what its models cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from a2a_adapters_router.config import Price


def router(
    action: Annotated[Literal["check"], typer.Argument(help="What to do.")],  # noqa: ARG001
    file: Annotated[str, typer.Argument(help="The router's YAML file.")],
) -> None:
    """Say what is wrong with a router's file, line by line; else what each deployment costs."""
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
