"""How servers are verified, and who we are for them."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from a2a_adapters.cli.terminal import note
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters_client.oauth.store import Store

if TYPE_CHECKING:
    from pathlib import Path


def unverified(*, has_secret: bool) -> ssl.SSLContext:
    """Return what takes any server for the right one, and warn of that.

    Args:
        has_secret: Whether the command line has credentials; those of logins are seen here.
    """
    is_sent = has_secret or Store().read()
    secret = ", and credentials are sent to whoever answers" if is_sent else ""
    note(f"WARNING: --insecure: certificates are not verified{secret}")
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def add_certificate(context: ssl.SSLContext, certificate: Path, key: Path | None) -> None:
    """Let servers see who we are.

    Raises:
        ConfigurationError: The files hold no certificate and key.
    """
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"{certificate} holds no certificate and key") from error
