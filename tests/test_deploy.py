"""The files in `deploy/` fit their schemas, and use existing commands and settings."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

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


def run(*command):
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE, cwd=DEPLOY
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_compose_file_fits_its_schema():
    compose = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    run(*compose, "compose.yaml")


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: manifest["kind"])
def test_a_manifest_fits_its_schema(manifest):
    kubernetes_validate.validate(manifest, "1.31", strict=True)


CHART = DEPLOY / "helm"


def kubernetes(text):
    """Validate the manifests in a text, and return them by their kinds."""
    manifests = [each for each in yaml.safe_load_all(text) if each]
    for manifest in manifests:
        kubernetes_validate.validate(manifest, "1.31", strict=True)
    return {each["kind"]: each for each in manifests}


NETWORK = ["Ingress", "NetworkPolicy"]


@pytest.mark.parametrize("name", ["ingress", "network-policy"])
def test_an_additional_manifest_fits_its_schema(name):
    [kind] = kubernetes((DEPLOY / "kustomize" / f"{name}.yaml").read_text())
    assert kind in NETWORK


def test_kustomize_spreads_the_replicas():
    found = kubernetes(run(needed("kubectl"), "kustomize", str(DEPLOY)))
    kinds = {each["kind"] for each in MANIFESTS}
    assert found.keys() == {*kinds, *NETWORK}
    pod = found["Deployment"]["spec"]["template"]
    for spread in pod["spec"]["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert {each["metadata"]["namespace"] for each in found.values()} == {"agents"}


def chart(*values):
    options = [word for value in values for word in ("--set", value)]
    return run(needed("helm"), "template", "agents", str(CHART), *options)


def test_the_chart_makes_what_the_manifests_have():
    run(needed("helm"), "lint", "--strict", str(CHART))
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
        [needed("helm"), "template", "agents", str(CHART), "--set", value],
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode, done.stdout
    assert "don't meet the specifications of the schema" in done.stderr


POD = next(each for each in MANIFESTS if each["kind"] == "Deployment")["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]
SECRET = next(each for each in MANIFESTS if each["kind"] == "Secret")["stringData"]


def test_the_user_of_the_image_is_a_number_other_than_root():
    [user] = re.findall(r"^USER (.*)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    uid = int(user.partition(":")[0])
    assert uid == CONTAINER["securityContext"]["runAsUser"] > 0


def test_every_variable_is_a_setting():
    text = "\n".join(path.read_text() for path in DEPLOY.iterdir() if path.is_file())
    named = {each.lower() for each in re.findall(r"A2A_ADAPTERS_([A-Z_]+)", text)}
    assert "storage" in named
    assert named - ServerSettings.model_fields.keys() == {"bearer_tokens"}


def test_the_unit_runs_an_existing_command():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "a2a-adapters.service")
    command, *arguments = unit["Service"]["ExecStart"].split()
    assert Path(command).name == "a2a-adapters"
    assert run(*warm("-m", "a2a_adapters", *arguments, "--help")).startswith("Usage:")


def test_the_deployed_agent_answers_and_exports_its_scaling_metric():
    environment = {**os.environ, "A2A_ADAPTERS_BEARER_TOKENS": SECRET["bearer-tokens"]}
    [job] = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text())["scrape_configs"]
    tokens = dict(line.split(": ") for line in SECRET["bearer-tokens"].splitlines())
    scrape = f"{job['authorization']['type']} {tokens['prometheus']}"
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
