"""The user's credentials go to agents named by the user, not by a folder's `.env`."""

from __future__ import annotations

import itertools
import json

import pytest
import pytest_asyncio

from a2a_adapters import BearerTokens, ServerOptions, build_app
from a2a_adapters.testing import running

pytestmark = [pytest.mark.timeout(5 * 60), pytest.mark.asyncio(loop_scope="module")]

SOURCES = ["command line", "environment", "--config", "user", "folder"]
"""Origins of a setting, most trusted first."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url():
    options = ServerOptions(authentication=BearerTokens({"s3cret": "ada"}))
    async with running(build_app(lambda text: text, options=options)) as url:
        yield url


@pytest.fixture
def said(tmp_path):
    """Return a writer of settings to their origins; it returns arguments and variables."""

    def said(settings):
        files, arguments, variables = {}, [], {}
        for name, (value, source) in settings.items():
            variable = f"A2ACLI_{name.upper()}"
            match source:
                case "command line":
                    arguments += [f"--{name.replace('_', '-')}={value}"]
                case "environment":
                    variables[variable] = value
                case _:
                    files.setdefault(source, []).append(f"{variable}={value}\n")
        for source, lines in files.items():
            names = {"user": ".config/a2a-cli/.env", "folder": ".env", "--config": "mine"}
            file = tmp_path / names[source]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(lines))
            arguments += ["--config=mine"] if source == "--config" else []
        return arguments, variables

    return said


# `--config` replaces the folder's file.
PAIRS = [pair for pair in itertools.product(SOURCES, SOURCES) if {*pair} != {"--config", "folder"}]


@pytest.mark.parametrize(("agent", "token"), PAIRS)
async def test_a_token_goes_to_agents_of_an_equally_or_more_trusted_origin(
    run, url, said, agent, token
):
    arguments, variables = said({"agent_card": (url, agent), "bearer": ("s3cret", token)})
    done = await run("send", *arguments, "hello", **variables)
    if agent == "folder" != token:
        assert done.returncode == 2
        [line] = done.stderr.splitlines()
        assert line.startswith("a2a-adapters: ")
        assert f".env selects the agent {url}; to send it your --bearer" in line
        assert "s3cret" not in line
    else:
        assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr


@pytest.mark.parametrize("secret", ["api_key", "svc_param", "client_secret"])
async def test_other_credentials_are_protected_as_well(run, url, said, secret):
    settings = {"agent_card": (url, "folder"), secret: ("X: s3cret", "user")}
    _, variables = said(settings)
    login = ["auth", "login", "--client-id", "me"]
    command = login if secret == "client_secret" else ["card", "get"]
    done = await run(*command, "-o", "json", **variables)
    assert done.returncode == 2
    message = json.loads(done.stdout)["error"]["message"]
    assert f"to send it your --{secret.replace('_', '-')}" in message


async def test_a_folder_cannot_disable_tls_verification(run, url, said):
    said({"insecure": ("1", "folder"), "agent_card": (url, "user"), "bearer": ("s3cret", "user")})
    done = await run("send", "hello")
    assert done.returncode == 0
    assert "A2ACLI_INSECURE in" in done.stderr
    assert "WARNING: --insecure" not in done.stderr
