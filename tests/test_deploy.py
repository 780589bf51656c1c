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

from tests.support.processes import PATIENCE, started
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
