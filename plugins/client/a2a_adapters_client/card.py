"""`a2a-adapters card get`: prints agent cards (a2a-cli 0.2, section 10.1)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from a2a_adapters.cli.terminal import echo
from a2a_adapters_client.aliases import complete_agent
from a2a_adapters_client.command import ClientCommand, client_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from a2a.types import AgentCard

    from a2a_adapters_client.access import Access

# ruff: noqa: PLC0415 - as in `task`


_UNSUPPORTED = -32004


class CardGroup(TyperGroup):
    """Accepts the former `card URL` as `card get URL`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line."""
        if args and args[0] not in self.commands and args[0] not in {"-h", "--help"}:
            echo("`card AGENT` is now `card get AGENT`, and --json is -o json", err=True)
            args = ["get"] + ["--output=json" if arg == "--json" else arg for arg in args]
        return super().parse_args(ctx, args)


card = typer.Typer(help="Show agent cards.", cls=CardGroup, no_args_is_help=True)


@card.callback()
def _options() -> None: ...


@card.command(cls=ClientCommand)
@client_command()
def get(
    access: Access,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="AGENT|MODULE:ATTRIBUTE", show_default=False, autocompletion=complete_agent
        ),
    ] = None,
    validate: Annotated[
        bool, typer.Option("--validate", help="Validate the card against the A2A schema.")
    ] = False,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Fail unless a key of the host signed the card."),
    ] = False,
    trusted_keys: Annotated[
        list[str] | None,
        typer.Option(
            "--trusted-keys",
            metavar="FILE|URL",
            help="PEM file, or file or URL of a key set, one of whose keys must have signed.",
        ),
    ] = None,
    extended: Annotated[
        bool, typer.Option("--extended", help="Print the extended card for authenticated callers.")
    ] = False,
    origins: Annotated[
        bool,
        typer.Option(
            "--origins",
            help="Print where the fields of a target's card come from. Without a target, of the "
            "settings in this folder; or of the agent with this name there.",
        ),
    ] = False,
) -> None:
    """Print the card of a running agent, or of a target without serving it.

    Examples:
      a2a-adapters card get localhost:8000
      a2a-adapters card get app:agent -o json
      a2a-adapters card get --origins
    """
    from a2a_adapters_client.signatures import read_keys

    if origins:
        asyncio.run(_print_origins(access, access.agent_card or "".join(words or [])))
        return
    access.take(words or [], most=0)
    keys = [read_keys(place) for place in trusted_keys or ()]
    asyncio.run(_get(access, validate=validate, verify=verify, keys=keys, extended=extended))


async def _get(
    access: Access,
    *,
    validate: bool,
    verify: bool,
    keys: Sequence[str | Mapping[str, Any]],
    extended: bool,
) -> None:
    from a2a_adapters import CardSignatureError
    from a2a_adapters.calling.card import parse_card
    from a2a_adapters_client.connect import remote_options
    from a2a_adapters_client.credentials import Credentials
    from a2a_adapters_client.output import Output
    from a2a_adapters_client.reference import find_card
    from a2a_adapters_client.signatures import VERIFIED, verdict, verified

    if _is_target(access.agent_card):
        content: Any = await _made(access.agent_card)
        found, url = parse_card(json.dumps(content).encode(), access.agent_card), None
    elif extended:
        found, content, url = *await _extended(access), None
    else:
        options = remote_options(access)
        place = await find_card(access.agent_card, Credentials(access, options), options)
        found, url = parse_card(place.content, access.agent_card), place.url
        content = json.loads(place.content)
    if validate:
        _validate(found)
    if keys:
        signed = await verified(found, url, replace(remote_options(access), trusted_keys=keys))
    else:
        signed = await verdict(content, url, remote_options(access))
    if verify and not signed.startswith(VERIFIED):
        raise CardSignatureError(f"the signature of the card is {signed}")
    Output(access).document(content, profile(found, signed, verbose=access.verbose))


def _validate(card: AgentCard) -> None:
    """Raise an error if required fields are missing (A2A 1.0, section 4.4.1)."""
    from a2a_adapters_check.schema import missing

    from a2a_adapters.calling.card import InvalidCardError
    from a2a_adapters.protocol.encoding import to_dict

    if lacking := list(missing(to_dict(card), card.DESCRIPTOR)):
        raise InvalidCardError(f"the card lacks fields required by A2A 1.0: {', '.join(lacking)}")


async def _extended(access: Access) -> tuple[AgentCard, Any]:
    from a2a.types import GetExtendedAgentCardRequest

    from a2a_adapters import RemoteRefusedError
    from a2a_adapters.protocol.encoding import to_dict
    from a2a_adapters_client.connect import connected

    async with connected(access) as agent:
        if not agent.card.capabilities.extended_agent_card:
            raise RemoteRefusedError("the agent has no extended card", code=_UNSUPPORTED)
        request = GetExtendedAgentCardRequest()
        found = await agent.call(
            lambda: agent.client.get_extended_agent_card(request, context=agent.context)
        )
    return found, to_dict(found)


def _is_target(reference: str) -> bool:
    """Return whether a reference is `module:attribute` and not `host:port`."""
    source, _, attribute = reference.rpartition(":")
    return "://" not in reference and bool(source) and attribute.replace(".", "").isidentifier()


async def _made(path: str) -> dict[str, object]:
    from a2a.server.request_handlers.response_helpers import agent_card_to_dict

    from a2a_adapters.protocol.card import build_card
    from a2a_adapters_client.derived import derive

    about = (await derive(path)).about
    return agent_card_to_dict(build_card(about, "http://127.0.0.1:8000"))


async def _print_origins(access: Access, name: str) -> None:
    from a2a_adapters.contract.errors import ConfigurationError
    from a2a_adapters_client.derived import derive, derive_from_settings
    from a2a_adapters_client.output import Output, field

    if "://" in name:
        raise ConfigurationError("a running agent does not tell the origins of its card")
    found = await (derive(name) if _is_target(name) else derive_from_settings(name))
    lines = (field(each, origin) for each, origin in found.origins.items())
    Output(access).document(found.origins, lines)


def profile(card: AgentCard, signature: str = "", *, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of a card.

    Args:
        card: The card.
        signature: The verdict on its signatures; "" leaves it out.
        verbose: Whether to print full skills instead of their names.
    """
    from a2a_adapters.calling.auth import wanted_credentials
    from a2a_adapters_client.output import field

    yield field("Name", card.name)
    yield field("Description", card.description)
    yield field("Version", card.version)
    if card.provider.organization:
        yield field("Provider", card.provider.organization)
    for interface in card.supported_interfaces:
        binding = f"{interface.protocol_binding} {interface.protocol_version}".strip()
        yield field("Interface", f"{binding} {interface.url}")
    capabilities = card.capabilities
    yield field("Streaming", _yes(capabilities.streaming))
    yield field("Push-Notifications", _yes(capabilities.push_notifications))
    yield field("Extended-Card", _yes(capabilities.extended_agent_card))
    for extension in capabilities.extensions:
        required = " (required)" if extension.required else ""
        yield field("Extension", extension.uri + required)
    yield field("Input", ", ".join(card.default_input_modes))
    yield field("Output", ", ".join(card.default_output_modes))
    yield field("Credentials", wanted_credentials(card) or "none")
    if signature:
        yield field("Signature", signature)
    for skill in card.skills:
        yield field("Skill", f"{skill.name}: {skill.description}")
        if verbose:
            yield field("Skill-Id", skill.id)
            yield field("Tags", ", ".join(skill.tags))
            for example in skill.examples:
                yield field("Example", example)


def _yes(value: bool) -> str:
    return "yes" if value else "no"
