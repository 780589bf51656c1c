"""How remote agents are called."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.net import OutboundPolicy

if TYPE_CHECKING:
    import ssl
    from collections.abc import Collection, Mapping, Sequence

    from a2a_adapters.contract.parts import JSON

__all__ = ["AgentOptions", "RemoteOptions", "SendOptions"]

_MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOptions:
    """Limits and choices for calling a remote agent. Times are in seconds.

    Attributes:
        timeout: How long the answer to one message may take; its task is cancelled then.
        connect_timeout: How long connecting may take.
        idle_timeout: How long an open stream may be silent, heartbeats included, before it
            counts as broken and is subscribed to again.
        retries: How often a request is sent again when the agent could not be connected to,
            or said that it is busy (HTTP 429 and 503), and a message that may have been
            received, where `resend` allows that.
        resend: Whether a message is sent again, under its id, when the connection broke before
            anything came back. None does so if the card says that the agent knows messages by
            their ids; True is for other agents that do. One that does not may answer it twice.
        answer_bytes: How large one answer may be, a stream as a whole.
        answer_values: How many JSON values one answer may hold, or one event of a stream.
        card_bytes: How large a card may be.
        outbound: Which hosts other than the agent's own a card may name.
        trusted_hosts: Servers other than that of the agent's card that get its credentials, and
            to which `outbound` does not apply: `host:port`, or `host` for all of its ports.
        progress: Whether steps and tool calls of the agent are asked for, if it offers them.
        status_text: Whether messages of a working status are the answer's text as it grows, as
            google-adk, strands and langgraph-api stream it, rather than `Progress`.
        accepted_output_modes: Media types the answer may have; empty for any.
        conversations: How many conversations are remembered.
        extensions: URIs of extensions to activate where the agent has them.
        bindings: Which bindings to use, the preferred one first: "JSONRPC", "HTTP+JSON", "GRPC".
            Without any, or where the agent offers none of them, it is the first one of its card
            that is not gRPC.
        tls: How servers are verified over HTTP, and which certificate they are shown; by default
            the usual authorities, and none.
    """

    timeout: float = 900
    connect_timeout: float = 10
    idle_timeout: float = 120
    retries: int = 3
    resend: bool | None = None
    answer_bytes: int = 64 * _MEBIBYTE
    answer_values: int = 100_000
    card_bytes: int = _MEBIBYTE
    outbound: OutboundPolicy = field(default_factory=OutboundPolicy)
    trusted_hosts: Collection[str] = ()
    progress: bool = False
    status_text: bool = False
    accepted_output_modes: Sequence[str] = ()
    conversations: int = 10_000
    extensions: Sequence[str] = ()
    bindings: Sequence[str] = ()
    tls: ssl.SSLContext | None = None


class AgentOptions(TypedDict, total=False):
    """What classes that call an agent by its URL take besides; None is as if it was not given.

    Attributes:
        timeout: How long an answer may take, in seconds; see `RemoteOptions.timeout`.
        max_retries: See `RemoteOptions.retries`.
        headers: Headers of every request, as by `HeadersAuth`.
    """

    timeout: float | None
    max_retries: int | None
    headers: Mapping[str, str] | None


class SendOptions(TypedDict, total=False):
    """What a message to an agent may have besides.

    Attributes:
        metadata: Entries of the message's metadata.
        timeout: How long the answer may take, in seconds, in place of `RemoteOptions.timeout`.
        headers: Headers of the message's requests, for servers that get the agent's credentials;
            they replace those of the same name.
    """

    metadata: Mapping[str, JSON] | None
    timeout: float | None
    headers: Mapping[str, str] | None


def checked_timeout(seconds: float) -> float:
    """Return a time that an answer may take.

    Raises:
        ConfigurationError: It is not positive.
    """
    if not seconds > 0:
        raise ConfigurationError(f"timeout is a number of seconds above 0, not {seconds}")
    return seconds
