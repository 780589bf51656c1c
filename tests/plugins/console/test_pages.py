"""The console's files over HTTP."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import a2a_adapters_console
import httpx
import pytest
from a2a_adapters_console import Console

from a2a_adapters import ConfigurationError, ServerOptions, build_app
from a2a_adapters.plugin import Plugins
from a2a_adapters.security import BearerTokens
from a2a_adapters.testing import running
from tests.plugins.console.vendored import vendored
from tests.support.requests import serving

STATIC = Path(a2a_adapters_console.__file__).parent / "static"
OWN = [path for path in STATIC.iterdir() if path.is_file()]


def echo(text: str) -> str:
    """Echo."""
    return text


@pytest.fixture
async def http():
    app = build_app(echo, options=ServerOptions(console=True))
    async with running(app) as url, httpx.AsyncClient(base_url=url) as http:
        yield http


async def test_files_have_strict_headers_and_an_etag(http):
    for name in ("", "app.js", "style.css", "icon.svg", "vendor/preact.js", "agents.json"):
        answer = await http.get(f"/console/{name}")
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        tag = answer.headers["etag"]
        known = await http.get(f"/console/{name}", headers={"If-None-Match": f'"x", W/{tag}'})
        assert (known.status_code, known.content) == (304, b"")


async def test_the_url_without_a_slash_redirects_to_the_page(http):
    answer = await http.get("/console")
    assert (answer.status_code, answer.headers["location"]) == (307, "console/")


async def test_only_the_files_are_served(http):
    for name in ("pages.py", "../pages.py", "%2e%2e/pages.py", "static", "vendor/"):
        assert (await http.get(f"/console/{name}")).status_code == 404
    assert (await http.post("/console/", json={})).status_code in {404, 405}


async def test_the_page_lists_agents_with_their_paths(http):
    assert (await http.get("/console/agents.json")).json() == {
        "agents": [{"name": "echo", "path": "../", "url": "", "check": "check/0"}],
        "look": {"view": "console"},
    }
    several = build_app({"one": echo, "two": echo}, options=ServerOptions(console=True))
    async with running(several) as url, httpx.AsyncClient(base_url=url) as other:
        agents = (await other.get("/console/agents.json")).json()["agents"]
        assert [agent["path"] for agent in agents] == ["../agents/one/", "../agents/two/"]


async def test_a_look_of_its_own(tmp_path):
    logo = tmp_path / "logo.png"
    logo.write_bytes(b"png")
    look = Console(title="Desk", logo=logo, colour="#0a5fa5", view="chat")
    app = build_app(echo, options=ServerOptions(console=True), dialects=[look])
    async with running(app) as url, httpx.AsyncClient(base_url=url) as http:
        found = (await http.get("/console/agents.json")).json()["look"]
        assert found == {
            "title": "Desk", "logo": "logo.png", "colour": "#0a5fa5", "view": "chat"
        }  # fmt: skip
        answer = await http.get("/console/logo.png")
    assert (answer.content, answer.headers["content-type"]) == (b"png", "image/png")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        build_app(echo, dialects=[Console(logo=tmp_path / "none.svg")])


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"colour": "blue"}, "of the form '#0a5fa5', not 'blue'"),
        ({"colour": "#ffcc00"}, "too light for white text: its contrast is 1"),
        ({"logo": "logo.exe"}, "must be a file with .svg"),
        ({"view": "users"}, "must be 'console' or 'chat'"),
    ],
)
def test_a_wrong_look_is_refused(settings, fault):
    with pytest.raises(ConfigurationError, match=re.escape(fault)):
        Console(**settings)


async def test_apps_have_no_console_by_default():
    async with serving(echo) as http:
        assert (await http.get("/console/")).status_code == 404


async def test_the_page_is_public_but_the_agent_is_not():
    options = ServerOptions(authentication=BearerTokens({"secret-of-ada": "ada"}), console=True)
    async with running(build_app(echo, options=options)) as url, httpx.AsyncClient() as http:
        assert (await http.get(f"{url}/console/")).status_code == 200
        assert (await http.post(f"{url}/", json={})).status_code == 401


async def test_other_origins_are_refused(http):
    answer = await http.get("/console/", headers={"Host": "evil.example"})
    assert answer.status_code == 421


def test_our_files_are_small_and_plain():
    assert sum(path.stat().st_size for path in OWN) < 120_000
    for path in OWN:
        text = path.read_text()
        assert "innerHTML" not in text
        for name in re.findall(r'from "(\./[^"]+)"', text):
            assert (STATIC / name).is_file()


def test_our_files_create_no_markup_from_text():
    for path in STATIC.glob("*.js"):
        text = path.read_text()
        assert not re.search(
            r"dangerously|outerHTML|insertAdjacentHTML|document\.write|\beval\b", text
        )


def test_libraries_match_the_list_and_have_licences():
    licences = (STATIC / "vendor" / "LICENSES.txt").read_text()
    assert "The MIT License" in licences
    assert "Apache License" in licences
    listed = tomllib.loads(Path(__file__).with_name("vendored.toml").read_text())
    files = {path.name for path in (STATIC / "vendor").iterdir()} - {"LICENSES.txt"}
    assert files == listed.keys()
    for name, entry in listed.items():
        content = (STATIC / "vendor" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["sha256"], name
        assert entry.keys() == {"package", "version", "licence", "source", "made", "sha256"}
        assert f"{entry['package']} {entry['version']} (" in licences
        assert name in licences
        assert entry["source"] in licences
        assert entry["licence"] in {"MIT", "Apache-2.0", "BSD-3-Clause"}
        assert entry["version"] in vendored().values()
        for bundled in re.findall(r"[\w@/-]+ \d+\.\d+\.\d+", entry["made"]):
            package, version = bundled.split()
            assert package == "esbuild" or vendored()[package] == version


async def test_without_its_plugin_the_console_is_refused(monkeypatch):
    monkeypatch.setenv("A2A_ADAPTERS_DISABLE_PLUGINS", "console")
    plugins = Plugins()
    plugins.discover()
    monkeypatch.setattr("a2a_adapters.serving.served_dialects.installed_plugins", lambda: plugins)
    with pytest.raises(ConfigurationError, match="disabled by A2A_ADAPTERS_DIS"):
        build_app(echo, options=ServerOptions(console=True))
