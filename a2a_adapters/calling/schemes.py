"""Which credentials a card asks for, in words (A2A 1.0, section 4.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.protocol.shown import quote

if TYPE_CHECKING:
    from a2a.types import AgentCard, SecurityScheme

_LENGTH = 60
_SHOWN = 5


def wanted_credentials(card: AgentCard) -> str:
    """Return what has to be sent to an agent, "" if its card does not say."""
    ways = [list(way.schemes) for way in card.security_requirements]
    ways = ways or [[name] for name in card.security_schemes]
    told = [
        " and ".join(_credential(card.security_schemes[name]) for name in names[:_SHOWN])
        for names in ways[:_SHOWN]
        if names and all(name in card.security_schemes for name in names)
    ]
    return " or ".join(told)


def _credential(scheme: SecurityScheme) -> str:
    match scheme.WhichOneof("scheme"):
        case "http_auth_security_scheme":
            name = scheme.http_auth_security_scheme.scheme
            return f"{quote(name, _LENGTH)} credentials in the header Authorization"
        case "api_key_security_scheme":
            key = scheme.api_key_security_scheme
            return f"an API key in the {quote(key.location, _LENGTH)} {quote(key.name, _LENGTH)}"
        case "oauth2_security_scheme":
            return "a token of OAuth 2.0"
        case "open_id_connect_security_scheme":
            url = scheme.open_id_connect_security_scheme.open_id_connect_url
            return f"a token of OpenID Connect ({quote(url, 2 * _LENGTH)})"
        case "mtls_security_scheme":
            return "a client certificate (mutual TLS)"
        case _:
            return "credentials it does not describe"
