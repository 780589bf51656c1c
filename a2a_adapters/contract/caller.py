"""The caller of an agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters.contract.parts import JSON

CALLER = "a2a_adapters.caller"
"""Key of a request's `Caller` in its ASGI scope and in the state of its call context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a message, as the server's authenticator identified it.

    Claims, scopes and headers may be personal or secret: they are neither logged nor stored, and
    `repr` omits them. A run that is resumed after its process died has only the `owner`.

    Attributes:
        owner: The authenticated user; empty for anonymous callers.
        claims: The verified claims of the caller's token.
        scopes: The scopes that were granted to the token.
        tenant: The tenant that the token names, see `JwtTokens`.
        headers: The request headers named by `ServerOptions.caller_headers`, by lower-case name.
        is_operator: Whether `ServerOptions.operators` names the caller.
    """

    owner: str = ""
    claims: Mapping[str, JSON] = field(default_factory=dict, repr=False)
    scopes: frozenset[str] = field(default=frozenset(), repr=False)
    tenant: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_operator: bool = False
