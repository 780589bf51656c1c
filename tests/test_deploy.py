"""The files in `deploy/` fit their schemas, and use existing commands and settings."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from shutil import which
from threading import Thread

import httpx
import kubernetes_validate
import pytest
import yaml
from a2a_adapters_server.settings import ServerSettings
from a2a_adapters_server.sources import gather

from tests.support.processes import PATIENCE, started
from tests.support.programs import needed
from tests.support.warm import warm

pytestmark = pytest.mark.timeout(5 * 60)

DEPLOY = Path(__file__).parents[1] / "deploy"
MANIFESTS = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


def run(*command, **variables):
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE, cwd=DEPLOY,
        env=os.environ | variables,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


COMPOSE = pytest.mark.parametrize("name", ["compose.yaml", "dbos.yaml", "temporal.yaml"])


@COMPOSE
def test_a_compose_file_fits_its_schema(name):
    compose = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    run(*compose, name)


def test_workers_of_dbos_keep_their_names_when_their_containers_are_replaced():
    services = yaml.safe_load((DEPLOY / "dbos.yaml").read_text())["services"]
    workers = [each for each in services.values() if "durable_agents.py" in each.get("command", ())]
    assert len({worker["hostname"] for worker in workers}) == len(workers) == 3


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: manifest["kind"])
def test_a_manifest_fits_its_schema(manifest):
    kubernetes_validate.validate(manifest, "1.31", strict=True)


CHART = DEPLOY / "helm"


def validated(text):
    """Validate the manifests in a text, and return them."""
    manifests = [each for each in yaml.safe_load_all(text) if each]
    for manifest in manifests:
        kubernetes_validate.validate(manifest, "1.31", strict=True)
    return manifests


def kubernetes(text):
    """Validate the manifests in a text, and return them by their kinds."""
    return {each["kind"]: each for each in validated(text)}


def installed(name):
    """Return the path of a program that no package of Debian or Python brings, or skip the test."""
    return which(name) or pytest.skip(f"{name} is not installed")


def test_the_ingress_fits_its_schema():
    assert list(kubernetes((DEPLOY / "kustomize" / "ingress.yaml").read_text())) == ["Ingress"]


def test_kustomize_adds_the_ingress():
    found = kubernetes(run(installed("kubectl"), "kustomize", str(DEPLOY)))
    kinds = {each["kind"] for each in MANIFESTS}
    assert found.keys() == {*kinds, "Ingress"}
    pod = found["Deployment"]["spec"]["template"]
    for spread in pod["spec"]["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert {each["metadata"]["namespace"] for each in found.values()} == {"agents"}


@pytest.mark.parametrize("engine", ["dbos", "temporal"])
def test_a_component_of_kustomize_adds_workers_of_an_engine(engine, tmp_path):
    folder = shutil.copytree(DEPLOY, tmp_path / "deploy")
    chosen, line = folder / "kustomization.yaml", r"(?m)^# (components: \[kustomize/)\w+\].*$"
    chosen.write_text(re.sub(line, rf"\g<1>{engine}]", chosen.read_text()))
    found = validated(run(installed("kubectl"), "kustomize", str(folder)))
    named = {
        (each["kind"], each["metadata"]["name"]): each["spec"] for each in found if "spec" in each
    }
    assert named["Deployment", "agents"]["replicas"] == 2
    assert named["HorizontalPodAutoscaler", "agents"]["minReplicas"] == 2
    kind = "StatefulSet" if engine == "dbos" else "Deployment"  # DBOS resumes by the pod's name
    [server], [worker] = (
        named[each]["template"]["spec"]["containers"]
        for each in (("Deployment", "agents"), (kind, "workers"))
    )
    assert worker["securityContext"] == server["securityContext"] == CONTAINER["securityContext"]
    _, script = worker["command"]
    assert (DEPLOY / script).exists()
    assert f"{Path(script).stem}:agent" in server["command"]
    variables = [{each["name"] for each in container["env"]} for container in (server, worker)]
    assert variables[1] <= variables[0]
    for name in ("agents", "workers"):
        policy = named["NetworkPolicy", name]
        assert policy["policyTypes"] == ["Ingress", "Egress"]
        assert ({"port": 7233} in policy["egress"][0]["ports"]) == (engine == "temporal")


def chart(*values):
    options = [word for value in values for word in ("--set", value)]
    return run(installed("helm"), "template", "agents", str(CHART), *options)


def test_the_chart_makes_what_the_manifests_have():
    run(installed("helm"), "lint", "--strict", str(CHART))
    least = kubernetes(chart())
    assert least.keys() == {"Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service"}
    most = kubernetes(
        chart("ingress.enabled=true", "ingress.tlsSecret=x", "autoscaling.enabled=true")
    )
    assert most.keys() == {*least, "HorizontalPodAutoscaler", "Ingress"}
    assert "replicas" not in most["Deployment"]["spec"]
    pod = least["Deployment"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    for name in ("securityContext", "resources", "lifecycle", "startupProbe", "livenessProbe"):
        assert container[name] == CONTAINER[name]
    grace = {each["name"]: each.get("value") for each in container["env"]}
    seconds = float(grace["A2A_ADAPTERS_LIMITS_SHUTDOWN_SECONDS"])
    assert pod["terminationGracePeriodSeconds"] > 2 * seconds + 5


def test_the_settings_of_the_chart_exist():
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    variables = {f"A2A_ADAPTERS_{name.upper()}": str(v) for name, v in values["settings"].items()}
    found = gather({"target": "app:agent"}, environment=variables)
    assert found.settings().limits.shutdown_seconds == values["settings"]["limits_shutdown_seconds"]
    assert set(found.origins.values()) == {*variables, "the command line"}


@pytest.mark.parametrize("value", ["image.tag=", "settings.Port=1", "autoscaling.metric=cpu"])
def test_the_chart_refuses_wrong_values(value):
    done = subprocess.run(
        [installed("helm"), "template", "agents", str(CHART), "--set", value],
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode, done.stdout
    assert "don't meet the specifications of the schema" in done.stderr


POD = next(each for each in MANIFESTS if each["kind"] == "Deployment")["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]
TOKENS = {"ann": "secret", "prometheus": "figures"}


def test_the_user_of_the_image_is_a_number_other_than_root():
    [user] = re.findall(r"^USER (.*)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    uid = int(user.partition(":")[0])
    assert uid == CONTAINER["securityContext"]["runAsUser"] > 0


@COMPOSE
def test_a_compose_file_publishes_nothing_without_tls(name):
    services = yaml.safe_load((DEPLOY / name).read_text())["services"]
    ports = [port for each in services.values() for port in each.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


@COMPOSE
def test_a_database_password_may_have_any_characters(name):
    services = yaml.safe_load((DEPLOY / name).read_text())["services"]
    assert "$" not in services["agents"]["environment"]["A2A_ADAPTERS_STORAGE"]
    assert "PGPASSWORD" in services["agents"]["environment"]
    assert "PGPASSWORD" in {each["name"] for each in CONTAINER["env"]}


def test_the_manifests_hold_no_secret_and_isolate_and_spread_the_pods():
    kinds = {each["kind"]: each for each in MANIFESTS}
    assert "Secret" not in kinds
    labels = kinds["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert kinds["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    spread = {each["topologyKey"] for each in POD["topologySpreadConstraints"]}
    assert spread == {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}
    assert POD["automountServiceAccountToken"] is False


@pytest.mark.skipif(not which("systemd-analyze"), reason="systemd is not installed")
def test_the_unit_exposes_little():
    unit = DEPLOY / "a2a-adapters.service"
    analysed = run("systemd-analyze", "security", "--offline=true", str(unit))
    [level] = re.findall(r"exposure level for \S+: ([0-9.]+)", analysed)
    assert float(level) < 2.5, analysed


def test_the_proxy_has_connections_for_many_streams(tmp_path):
    nginx = needed("nginx", "nginx", "/usr/sbin/nginx")
    text = (DEPLOY / "nginx.conf").read_text()
    [connections] = re.findall(r"worker_connections (\d+);", text)
    assert int(connections) >= 16_384
    local = text.replace("listen 8000", "listen 127.0.0.1:8000")
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid; error_log stderr;\n{local}")
    run(nginx, "-t", "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path))


def test_every_variable_is_a_setting():
    text = "\n".join(path.read_text() for path in DEPLOY.iterdir() if path.is_file())
    named = {each.lower() for each in re.findall(r"A2A_ADAPTERS_([A-Z_]+)", text)}
    assert "storage" in named
    assert named - ServerSettings.model_fields.keys() == {"bearer_tokens"}


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()


@pytest.mark.parametrize("variable", ["PORT", "A2A_ADAPTERS_PORT"])
def test_the_image_checks_its_health_at_the_port_that_a_variable_names(variable):
    text = (DEPLOY.parent / "Dockerfile").read_text()
    [check] = re.findall(r"HEALTHCHECK .*\\\n +CMD (.*)", text)
    with HTTPServer(("127.0.0.1", 0), Healthy) as server:
        answering = Thread(target=server.handle_request)
        answering.start()
        run(sys.executable, *json.loads(check)[1:], **{variable: str(server.server_port)})
        answering.join()


def test_the_unit_runs_an_existing_command():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "a2a-adapters.service")
    command, *arguments = unit["Service"]["ExecStart"].split()
    assert Path(command).name == "a2a-adapters"
    assert run(*warm("-m", "a2a_adapters", *arguments, "--help")).startswith("Usage:")


def test_the_deployed_agent_answers_and_exports_its_scaling_metric():
    bearer = "\n".join(f"{user}: {token}" for user, token in TOKENS.items())
    environment = {**os.environ, "A2A_ADAPTERS_BEARER_TOKENS": bearer}
    [job] = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text())["scrape_configs"]
    scrape = f"{job['authorization']['type']} {TOKENS['prometheus']}"
    arguments = [
        "--config",
        str(DEPLOY / "a2a-adapters.toml"),
        "--host",
        "127.0.0.1",
        "--port",
        "0",
    ]
    with started(warm("-m", "a2a_adapters", "serve", *arguments), environment) as url:
        token = "Authorization: Bearer secret"
        said = run(*warm("-m", "a2a_adapters", "send", url, "Ann", "--header", token))
        assert said == "Hello, Ann!\n"
        base = url.partition("/agents")[0]
        shown = httpx.get(f"{base}/metrics", headers={"Authorization": scrape}, timeout=60)
        probes = {
            name: httpx.get(base + CONTAINER[name]["httpGet"]["path"], timeout=60).json()["status"]
            for name in ("startupProbe", "readinessProbe", "livenessProbe")
        }
        expected = {"startupProbe": "alive", "readinessProbe": "ready", "livenessProbe": "alive"}
        assert probes == expected
        assert httpx.get(f"{base}/healthz", timeout=60).json() == {"status": "ready"}
    metric = MANIFESTS[-1]["spec"]["metrics"][0]["pods"]["metric"]["name"]
    assert f"\n{metric}{{" in shown.text
