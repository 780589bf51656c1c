"""Get tokens for agents from the authorization server oidc-provider; needs node and npm."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT))

import httpx  # noqa: E402 - as below
import pytest  # noqa: E402
from a2a_adapters_jwt import JwtTokens  # noqa: E402
from a2a_adapters_oauth import ClientCredentials, SigningKey, TokenExchange  # noqa: E402
from joserfc.jwk import ECKey  # noqa: E402

from a2a_adapters import AgentRequest, RemoteAgent, RemoteAuthError, ServerOptions, build_app  # noqa: E402
from a2a_adapters.testing import running  # noqa: E402
from tests.support.processes import Server  # noqa: E402 - found only now

FOLDER = ROOT / ".demo" / "authorization"
NODE = FOLDER / "node_modules" / "node" / "bin" / "node"
AGENT_B = "https://agent-b.example"
SECRET = "s3cret/+ :%"
KEY = ECKey.generate_key("P-256")
USERS = [f"user-{number}" for number in range(10)]


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "server.mjs"):
        shutil.copy(HERE / name, FOLDER)
    subprocess.run(["npm", "install", "--silent", "--no-audit"], cwd=FOLDER, check=True)
    keys = {"keys": [{**KEY.as_dict(private=False), "alg": "ES256", "use": "sig"}]}
    environment = {**os.environ, "CLIENT_SECRET": SECRET, "CLIENT_KEYS": json.dumps(keys)}
    with Server([str(NODE), str(FOLDER / "server.mjs")], environment) as server:
        try:
            asyncio.run(use(server.said(r"listening on (\S+)")[1]))
        finally:
            server.terminate()


async def use(login: str) -> None:
    tokens = JwtTokens(f"{login}/jwks", issuer=login, audience=AGENT_B, user_claim="client_id")
    users = JwtTokens(f"{login}/jwks", issuer=login, audience=AGENT_B, scopes=["read"])
    async with AsyncExitStack() as stack:
        for_programs = await stack.enter_async_context(running(served(tokens)))
        for_users = await stack.enter_async_context(running(served(users)))
        await programs(login, for_programs)
        await on_behalf(login, for_users)


def served(tokens: JwtTokens):
    return build_app(names_caller, options=ServerOptions(authentication=tokens))


async def names_caller(request: AgentRequest):
    """Name the caller."""
    actor = request.caller.claims.get("act", {}).get("sub", "nobody")
    yield f"{request.owner} through {actor} for {' '.join(sorted(request.caller.scopes))}"


async def programs(login: str, url: str) -> None:
    """Call an agent as three clients, at the endpoint of the server's metadata."""
    key = SigningKey(KEY.as_pem(private=True))
    for name, secret in (("basic", SECRET), ("post", SECRET), ("signing", key)):
        auth = ClientCredentials(
            name,
            secret,
            scopes=["read"],
            issuer=login,
            resource=AGENT_B,
            secret_in_body=name == "post",
        )
        async with RemoteAgent(url, auth=auth) as agent:
            answer = (await agent.send("hi")).text
        assert answer == f"{name} through nobody for read", answer
        print(f"client credentials, {name}: OK")


async def on_behalf(login: str, url: str) -> None:
    """Call an agent for several users at once."""
    exchange = TokenExchange(
        scopes=["read"],
        resource=AGENT_B,
        issuer=login,
        client_id="basic",
        client_secret=SECRET,
    )
    async with httpx.AsyncClient() as http, RemoteAgent(url) as agent:

        async def call(user: str) -> str:
            token = (await http.get(f"{login}/login", params={"user": user})).text
            return (await agent.as_user(exchange.on_behalf_of(token)).send("hi")).text

        answers = await asyncio.gather(*map(call, USERS))
        assert answers == [f"{user} through basic for read" for user in USERS], answers
        print("token exchange for several users: OK")
        with pytest.raises(RemoteAuthError, match="invalid_grant"):
            await agent.as_user(exchange.on_behalf_of("nonsense")).send("hi")
        print("a refused exchange: OK")


if __name__ == "__main__":
    main()
