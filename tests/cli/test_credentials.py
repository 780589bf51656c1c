"""Credentials in files and in the environment."""

from __future__ import annotations

import pytest
from a2a_adapters_server.credentials import authenticator

from a2a_adapters import ConfigurationError, ServerOptions, UnauthenticatedError

TOKENS, KEYS = "A2A_ADAPTERS_BEARER_TOKENS", "A2A_ADAPTERS_API_KEYS"


async def test_files_and_the_environment(tmp_path):
    file = tmp_path / "tokens"
    file.write_text("# ann has two\n ann : one \nann: two\n\n")
    both = authenticator(file, None, {KEYS: "bob: three"})
    assert await both.authenticate({"authorization": "Bearer one"}) == "ann"
    assert await both.authenticate({"authorization": "Bearer two"}) == "ann"
    assert await both.authenticate({"x-api-key": "three"}) == "bob"
    # A file precedes the variable.
    only = authenticator(file, None, {TOKENS: "eve: four"})
    with pytest.raises(UnauthenticatedError):
        await only.authenticate({"authorization": "Bearer four"})
    assert authenticator(None, None, {}) is None


async def test_a_file_of_windows_is_read_as_any_other(tmp_path):
    file = tmp_path / "tokens"
    file.write_bytes("\ufeffann: one\r\nbob: two\r\n".encode())
    known = authenticator(file, None, {})
    assert await known.authenticate({"authorization": "Bearer one"}) == "ann"
    assert await known.authenticate({"authorization": "Bearer two"}) == "bob"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"ann: one\nhunter2\n", "line 2 of .* is not of the form"),
        (b": hunter2", "line 1 of .* is not of the form"),
        (b"ann: hunter2\nbob: hunter2\n", "line 2 of .* repeats"),
        (b"# nobody\n\n", "could not be used"),
        (b"ann: hunter2 hunter2", "cannot be sent"),
        (b"ann: \xffhunter2", "not UTF-8"),
    ],
)
def test_errors_do_not_reveal_secrets(tmp_path, content, problem):
    file = tmp_path / "keys"
    file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=problem) as raised:
        authenticator(None, file, {})
    assert "hunter2" not in str(raised.value)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        authenticator(tmp_path / "none", None, {})


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o640, 0o604, 0o620, 0o602])
def test_a_file_that_other_users_can_access_is_logged_once(tmp_path, caplog, mode):
    tokens, keys = tmp_path / "tokens", tmp_path / "keys"
    for file, secret in ((tokens, "t0ken"), (keys, "k3y")):
        file.write_text(f"ann: {secret}\n")
        file.chmod(0o600)
    tokens.chmod(mode)
    assert authenticator(tokens, keys, {}) is not None
    assert caplog.text.count("chmod 600") == (mode & 0o077 != 0)
    assert str(keys) not in caplog.text
    assert "t0ken" not in caplog.text


ARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/agents/50dc6c495c0c9188"


@pytest.mark.parametrize(
    ("front", "header"),
    [
        ("azure", "x-ms-client-principal-id"),
        ("databricks", "x-forwarded-user"),
        ("oauth2-proxy", "x-forwarded-user"),
        ("X-Auth-Request-Email", "x-auth-request-email"),
    ],
)
async def test_a_front_names_the_user(front, header):
    both = authenticator(None, None, {TOKENS: "bob: three"}, front)
    assert await both.authenticate({header: "ann"}) == "ann"
    assert await both.authenticate({"authorization": "Bearer three"}) == "bob"
    with pytest.raises(ConfigurationError, match="--trust-forwarded"):
        ServerOptions(authentication=both)
    assert ServerOptions(authentication=both, trust_forwarded=True).authentication is both


@pytest.mark.parametrize(("front", "audience"), [("iap", "/projects/1/apps/x"), ("alb", ARN)])
async def test_a_front_that_signs_needs_its_audience_but_no_trust(front, audience):
    signed = authenticator(None, None, {}, front, audience)
    assert ServerOptions(authentication=signed).authentication is signed
    with pytest.raises(UnauthenticatedError):
        await signed.authenticate({"x-forwarded-user": "ann"})
    with pytest.raises(ConfigurationError, match="needs forwarded_audience"):
        authenticator(None, None, {}, front)


def test_unknown_fronts_are_refused():
    with pytest.raises(ConfigurationError, match="use alb, azure, databricks, iap, oauth2-proxy"):
        authenticator(None, None, {}, "oauth-proxy")
