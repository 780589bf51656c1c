"""What each host asks of a container: simulated, against a `serve` process of its own."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a_adapters_server.sources import gather

from a2a_adapters import ConfigurationError
from tests.platforms.contract import CARD, Place, message, text_of
from tests.support.processes import Server, launched
from tests.support.programs import needed
from tests.support.warm import warm

pytestmark = pytest.mark.timeout(5 * 60)

ROOT = Path(__file__).parents[2]
TOKENS = {"A2A_ADAPTERS_BEARER_TOKENS": "front: secret"}
TOKEN = {"Authorization": "Bearer secret"}
REMOVED = "Bearer e30.e30.SIGNATURE_REMOVED_BY_GOOGLE"
SESSION = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"
ARN = "arn%3Aaws%3Abedrock-agentcore%3Aus-east-1%3A123456789012%3Aruntime%2Fa-1"
INVOCATIONS = f"https://bedrock-agentcore.us-east-1.amazonaws.com/runtimes/{ARN}/invocations"


@dataclass
class Host:
    """A host's contract.

    Attributes:
        address: The public address of the agent, which the card has to name.
        options: The options of `serve` that the documentation names.
        environment: The variables that the host sets, or the documentation does. PORT in a value is
            the port to listen on.
        probes: The health checks that have to be answered with 200: method, path and `Host`.
        headers: The headers that the host's front adds.
        path: The path of requests at the container.
        seconds: The time from SIGTERM to SIGKILL.
    """

    address: str
    options: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    probes: list[tuple[str, str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    path: str = ""
    seconds: float = 10


def forwarded(host: str, **more: str) -> dict[str, str]:
    named = {f"X-Forwarded-{name}": value for name, value in more.items()}
    return {"Host": host, "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7", **named}


HOSTS = {
    "agentcore": Host(
        INVOCATIONS,
        ["--platform", "agentcore", "--port", "PORT"],
        {"AGENTCORE_RUNTIME_URL": f"{INVOCATIONS}/", "PORT": "8080"},
        [("GET", "/ping", "127.0.0.1:9000")],
        {SESSION: "s" * 33, "Host": "runtime.internal"},
    ),
    "cloud-run": Host(
        "https://agent-1234-ew.a.run.app",
        ["--host", "0.0.0.0", "--trust-forwarded"],
        {**TOKENS, "PORT": "PORT", "K_SERVICE": "agent"},
        [("GET", "/livez", "169.254.8.129:8080"), ("GET", "/readyz", "localhost")],
        # The token that IAM has checked is in a header of its own, without its signature.
        {**TOKEN, **forwarded("agent-1234-ew.a.run.app"), "X-Serverless-Authorization": REMOVED},
    ),
    "gke-ingress": Host(
        "https://agents.example.org",
        ["--host", "0.0.0.0", "--trust-forwarded"],
        {**TOKENS, "A2A_ADAPTERS_PORT": "PORT", "A2A_ADAPTERS_LIMITS_KEEP_ALIVE_SECONDS": "620"},
        [("GET", "/", "10.8.0.3"), ("GET", "/healthz", "10.8.0.3")],
        {**TOKEN, **forwarded("agents.example.org")},
        seconds=30,
    ),
    "alb-path-rule": Host(
        "https://agents.example.org/team",
        ["--host", "0.0.0.0", "--root-path", "/team", "--trust-forwarded", "--port", "PORT"],
        TOKENS,
        [("GET", "/", "10.0.1.7"), ("GET", "/team/healthz", "10.0.1.7")],
        {**TOKEN, **forwarded("agents.example.org", Port="443")},
        path="/team",
        seconds=30,
    ),
    "lambda-web-adapter": Host(
        "https://abc.lambda-url.eu-west-1.on.aws",
        ["--allow-host", "*", "--trust-forwarded"],
        {"PORT": "PORT"},
        [("GET", "/", "127.0.0.1:8080")],
        forwarded("abc.lambda-url.eu-west-1.on.aws", Port="443"),
    ),
    "app-runner": Host(
        "https://abc.eu-west-1.awsapprunner.com",
        ["--host", "0.0.0.0", "--trust-forwarded"],
        {**TOKENS, "PORT": "PORT"},
        [("GET", "/", "10.0.1.7"), ("GET", "/healthz", "10.0.1.7")],
        {**TOKEN, **forwarded("abc.eu-west-1.awsapprunner.com")},
    ),
    "container-apps": Host(
        "https://agent.region.azurecontainerapps.io",
        ["--host", "0.0.0.0", "--trust-forwarded", "--port", "PORT"],
        TOKENS,
        [("GET", "/livez", "100.100.0.9"), ("GET", "/readyz", "100.100.0.9")],
        {**TOKEN, **forwarded("agent.region.azurecontainerapps.io")},
        seconds=30,
    ),
    "kagent-byo": Host(
        "http://agent.kagent:8080",
        ["--host", "0.0.0.0", "--allow-unauthenticated", "--allow-host", "*"],
        {"A2A_ADAPTERS_PORT": "PORT", "KAGENT_NAME": "agent", "KAGENT_NAMESPACE": "kagent"},
        [("GET", f"/{CARD}", "10.0.1.7:8080"), ("GET", "/health", "10.0.1.7:8080")],
        {"Host": "agent.kagent:8080"},
        seconds=30,
    ),
    "heroku": Host(
        "https://agent.herokuapp.com",
        ["--host", "0.0.0.0", "--trust-forwarded"],
        {**TOKENS, "PORT": "PORT", "DYNO": "web.1"},
        [],
        {**TOKEN, **forwarded("agent.herokuapp.com", Port="443")},
        seconds=30,
    ),
    "hugging-face": Host(
        "https://user-space.hf.space",
        ["--host", "0.0.0.0", "--trust-forwarded", "--port", "PORT"],
        TOKENS,
        [("GET", "/", "10.0.0.3")],
        {**TOKEN, **forwarded("user-space.hf.space")},
    ),
    "databricks-apps": Host(
        "https://agent-123.aws.databricksapps.com",
        ["--host", "0.0.0.0", "--port", "PORT", "--forwarded-user", "databricks",
         "--trust-forwarded"],
        {"DATABRICKS_APP_PORT": "8000"},
        [],
        {"X-Forwarded-User": "ann@123", **forwarded("agent-123.aws.databricksapps.com")},
        seconds=15,
    ),
    "azure-app-service": Host(
        "https://agent.azurewebsites.net",
        ["--host", "0.0.0.0", "--forwarded-user", "azure", "--trust-forwarded"],
        {"PORT": "PORT", "WEBSITES_PORT": "8000"},
        [("GET", "/", "169.254.129.2")],
        {"X-MS-CLIENT-PRINCIPAL-ID": "3f2a", **forwarded("agent.azurewebsites.net")},
    ),
    "oauth2-proxy": Host(
        "https://agents.example.org",
        ["--forwarded-user", "oauth2-proxy", "--trust-forwarded", "--port", "PORT"],
        {},
        [("GET", "/livez", "10.0.1.7")],
        {"X-Forwarded-User": "ann", **forwarded("agents.example.org", Host="agents.example.org")},
        seconds=30,
    ),
    "tunnel": Host(
        "https://agent.trycloudflare.com",
        ["--allow-host", "agent.trycloudflare.com", "--trust-forwarded", "--port", "PORT"],
        {},
        [],
        forwarded("agent.trycloudflare.com"),
    ),
    "api-gateway": Host(
        "https://abc.execute-api.eu-west-1.amazonaws.com",
        ["--host", "0.0.0.0", "--trust-forwarded", "--port", "PORT"],
        TOKENS,
        [("GET", "/livez", "10.0.1.7")],
        {
            **TOKEN,
            "Host": "10.0.1.7",
            "Forwarded": "for=192.0.2.7;host=abc.execute-api.eu-west-1.amazonaws.com;proto=https",
        },
    ),
}  # fmt: skip


def free_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


@pytest.fixture
def host(request):
    return HOSTS[request.param]


@pytest.fixture
def running(host, tmp_path, monkeypatch):
    """Run the host's container; yield its process and the agent as its clients see it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a2a-adapters.toml").write_text('health_paths = ["/health"]')
    port = free_port()
    options = [port if each == "PORT" else each for each in host.options]
    variables = {name: port if said == "PORT" else said for name, said in host.environment.items()}
    environment = {**os.environ, **variables}
    target = f"{ROOT / 'tests/platforms/agent.py'}:answer"
    command = warm("-m", "a2a_adapters", "serve", target, *options)
    with launched(command, environment) as (process, url):
        assert url.endswith(f":{port}")
        with Place(f"http://127.0.0.1:{port}{host.path}", host.headers) as place:
            yield process, place


@pytest.mark.parametrize("host", HOSTS, indirect=True)
def test_a_container_fulfils_the_contract(host, running, tmp_path):
    process, place = running
    root = place.url.removesuffix(host.path)
    for verb, path, name in host.probes:
        probe = httpx.request(verb, root + path, headers={"Host": name}, timeout=60)
        assert probe.status_code == 200, (path, probe.text)
    card = place.card()
    assert card["url"] == f"{host.address}/"
    assert all(each["url"].startswith(host.address) for each in card["supportedInterfaces"])
    place.check_calls()
    let_go = tmp_path / "go"
    os.mkfifo(let_go)
    with place.stream(f"wait {let_go}") as stream:
        stream.until("begun ")
        process.send_signal(signal.SIGTERM)
        while place.http.get(f"{root}/readyz").status_code == 200:
            pass
        let_go.write_text("")
        assert stream.rest() == "begun done"
    process.wait(host.seconds)


def test_nginx_offers_it_below_a_path_with_the_settings_of_the_page(tmp_path):
    program, port = needed("nginx", "nginx", "/usr/sbin/nginx"), free_port()
    page = (ROOT / "docs/hosting.md").read_text()
    [location] = re.findall(r"```nginx\n(.*?)```", page, re.DOTALL)
    [options] = re.findall(r"For `serve (.*)` behind nginx", page)
    target = f"{ROOT / 'tests/platforms/agent.py'}:answer"
    with launched(warm("-m", "a2a_adapters", "serve", target, *options.split())) as (_, url):
        settings = tmp_path / "nginx.conf"
        own = location.replace("http://127.0.0.1:8000", url.rstrip("/"))
        folders = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        settings.write_text(
            f"pid {tmp_path}/pid; error_log stderr; events {{}}\n"
            f"http {{ access_log off; {folders} server {{ listen 127.0.0.1:{port}; {own} }} }}"
        )
        command = [program, "-c", str(settings), "-p", str(tmp_path)]
        subprocess.run(command, check=True)  # it returns once it listens
        try:
            with Place(f"http://127.0.0.1:{port}/team") as place:
                assert place.card()["url"] == f"{place.url}/"
                place.check_calls()
        finally:
            subprocess.run([*command, "-s", "stop"], check=True)


@pytest.mark.parametrize("host", ["agentcore"], indirect=True)
def test_agentcore_keeps_a_busy_session_alive_and_names_the_conversation(running, tmp_path):
    _, place = running
    ping = f"{place.url}/ping"
    idle = httpx.get(ping).json()
    os.mkfifo(tmp_path / "go")
    assert idle["status"] == "Healthy"
    with place.stream(f"wait {tmp_path / 'go'}") as stream:
        stream.until("begun ")
        busy = httpx.get(ping).json()
        assert busy["status"] == "HealthyBusy"
        assert busy["time_of_last_update"] >= idle["time_of_last_update"]
        (tmp_path / "go").write_text("")
        stream.rest()
    asked = place.rpc("SendMessage", message("ask"))["task"]
    assert asked["contextId"] == "s" * 33
    other = place.rpc("SendMessage", message("hello", contextId="own"))["task"]
    assert other["contextId"] == "own"
    reply = message("Ann", taskId=asked["id"])
    assert text_of(place.rpc("SendMessage", reply)["task"]) == "Hello, Ann!"
    sent = {"message": message("hello")["message"]}
    rest = place.http.post(f"{place.url}/message:send", headers={"A2A-Version": "1.0"}, json=sent)
    assert rest.json()["task"]["contextId"] == "s" * 33


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the files of processes")
@pytest.mark.parametrize(("workers", "is_warned"), [(1, False), (2, True)])
def test_workers_that_share_a_port_without_a_storage_are_warned(
    workers, is_warned, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    made = "from a2a_adapters import build_app\napp = build_app(lambda text: text, name='echo')\n"
    (tmp_path / "served.py").write_text(made)
    port = ["--port", "0", "--workers", str(workers)]
    server = Server(warm("-m", "uvicorn", "served:app", *port), None)
    try:
        server.said("Application startup complete")
        if is_warned:
            server.said("other processes answer at the same port")
        server.terminate()
        assert ("other processes" in server.ended()) == is_warned
    finally:
        server.close()


def settings(environment: dict[str, str], **given: Any) -> Any:
    return gather(given, environment=environment)


def test_the_settings_of_agentcore(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = settings({"A2A_ADAPTERS_PLATFORM": "agentcore", "PORT": "8080"}, target="app:agent")
    assert (found.settings().port, found.origin("port")) == (9000, "the platform agentcore")
    assert found.settings().host == "0.0.0.0"
    own = settings({}, platform="agentcore", target="app:agent", host="127.0.0.1")
    assert own.settings().host == "127.0.0.1"
    several = settings({}, platform="agentcore", agents={"one": {"target": "app:agent"}})
    with pytest.raises(ConfigurationError, match=r"agentcore calls the root only: name one agent"):
        several.settings().load(None)
    with pytest.raises(ConfigurationError, match="no platform 'azure'; use agentcore"):
        settings({}, platform="azure")
