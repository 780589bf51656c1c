"""Serves agents that know their callers: `... KEYS STORAGE NAME...`, in this order."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys

from a2a_adapters_jwt import JwtTokens

from a2a_adapters import (
    InputRequired,
    Limits,
    OutboundPolicy,
    PushOptions,
    ServerOptions,
    TextDelta,
    serve,
)
from a2a_adapters.plugin import Adapter, AgentDescription
from tests.attack.forgery import AUDIENCE, ISSUER


class Witness(Adapter):
    """Tells what it knows about its caller: at once, after a question, or when it is resumed."""

    resumes = True

    def __init__(self, name: str) -> None:
        self._name = name

    def describe(self):
        return AgentDescription(name=self._name, description="Knows its callers.")

    async def stream(self, request):
        if request.text == "ask" and not request.resuming:
            yield InputRequired("what?", durable=True)
        elif request.text == "hang":
            yield TextDelta(".")
            await asyncio.Event().wait()
        else:
            yield TextDelta(known(request.caller))

    async def resume(self, request):
        yield TextDelta(known(request.caller))


def known(caller) -> str:
    """Return what is known, with a digest of the team, which is secret."""
    team = caller.claims.get("team", "")
    about = [caller.owner, digest(team), caller.tenant, dict(caller.headers), caller.is_operator]
    return json.dumps(about)


def digest(team: str) -> str:
    return hashlib.sha256(team.encode()).hexdigest() if team else ""


if __name__ == "__main__":
    keys, storage, *names = sys.argv[1:]
    tokens = JwtTokens(keys, issuer=ISSUER, audience=AUDIENCE, tenant_claim="org")
    options = ServerOptions(
        storage=storage,
        limits=Limits(lease_seconds=2, sweep_seconds=0.5),
        authentication=tokens,
        caller_headers=["x-plan"],
        operators=["role:admin"],
        push=PushOptions(outbound=OutboundPolicy(allow_private=True)),
    )
    serve({name: Witness(name) for name in names}, port=0, options=options)
