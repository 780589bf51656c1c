"""The workflows, templates, packages and metadata of the repository."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
PINS = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "github-actions": [GITHUB / "actions" / "setup" / "action.yml"],
    "dependabot": [GITHUB / "dependabot.yml"],
    "github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "github-issue-forms": sorted((GITHUB / "ISSUE_TEMPLATE").glob("[!c]*.yml")),
    "citation-file-format": [ROOT / "CITATION.cff"],
}


def targets():
    """Return the Makefile's targets that `make help` lists."""
    return set(re.findall(r"(?m)^([a-z-]+):.*##", (ROOT / "Makefile").read_text()))


@pytest.mark.parametrize(("schema", "files"), SCHEMAS.items(), ids=str)
def test_a_file_fits_the_schema_of_its_reader(schema, files):
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*check, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_targets_of_the_makefile(workflow):
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    run = set()
    for job in jobs:
        run.update(job.get("strategy", {}).get("matrix", {}).get("target", []))
        for step in job["steps"]:
            for command in re.findall(r"(?m)^\s*make (.+)$", step.get("run", "")):
                run.update(re.findall(r"(?<!\S)[a-z-]+(?!\S)", command))
    assert run
    assert run <= targets()


@pytest.mark.parametrize("path", [*WORKFLOWS, GITHUB / "actions/setup/action.yml"], ids=str)
def test_actions_are_pinned_to_a_commit(path):
    used = re.findall(r"uses: (.+)", path.read_text())
    pinned = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [each for each in used if not each.startswith("./") and not pinned.fullmatch(each)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_no_checkout_leaves_its_token_to_later_steps(workflow):
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    steps = [step for job in jobs for step in job["steps"]]
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step.get("with", {}).get("persist-credentials") is False for step in checkouts)


@pytest.mark.parametrize("path", [*WORKFLOWS, GITHUB / "actions/setup/action.yml"], ids=str)
def test_names_of_branches_and_titles_are_no_part_of_a_command(path):
    about = yaml.safe_load(path.read_text())
    jobs = about["jobs"].values() if "jobs" in about else [about["runs"]]
    commands = [step.get("run", "") for job in jobs for step in job["steps"]]
    assert [each for each in commands if "${{" in each] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_of_forks_get_no_secrets_and_may_only_read(workflow):
    about = yaml.safe_load(workflow.read_text())
    triggers = about[True]  # YAML takes `on` for a boolean
    assert {*triggers} <= {"push", "pull_request", "schedule", "workflow_dispatch"}
    assert about["permissions"] in ({}, {"contents": "read"})
    writing = [job for job in about["jobs"].values() if "write" in str(job.get("permissions"))]
    assert not writing or "pull_request" not in triggers


def test_ci_tests_the_pythons_of_the_classifiers():
    listed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    jobs = yaml.safe_load((GITHUB / "workflows" / "ci.yml").read_text())["jobs"]
    for job in ("tests", "smoke"):
        assert set(listed) <= set(jobs[job]["strategy"]["matrix"]["python"])
    assert PROJECT["requires-python"] == f">={listed[0]}"


def test_pre_commit_runs_the_commands_of_make_lint():
    [recipe] = re.findall(r"(?m)^lint:.*\n((?:\t.+\n)+)", (ROOT / "Makefile").read_text())
    commands = [line.replace("$(VENV)", ".venv").strip() for line in recipe.splitlines()]
    [repository] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    hooks = [hook["entry"].replace(" --force-exclude", "") for hook in repository["hooks"]]
    assert hooks == commands


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"]
    assert f"\n## [{PROJECT['version']}]" in (ROOT / "CHANGELOG.md").read_text()


def test_make_help_lists_every_target():
    makefile = (ROOT / "Makefile").read_text()
    [phony] = re.findall(r"(?m)^\.PHONY: ((?:.*\\\n)*.*)$", makefile)
    assert set(phony.replace("\\\n", " ").split()) == targets()


def test_the_wheel_has_every_plugin_and_its_types():
    packages = SETTINGS["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    plugins = {str(path.relative_to(ROOT)) for path in ROOT.glob("plugins/*/a2a_adapters_*")}
    assert plugins | {"a2a_adapters"} == set(packages)
    assert [each for each in packages if not (ROOT / each / "py.typed").is_file()] == []


def floor(name):
    listed = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    wanted = [Requirement(line) for lines in listed for line in lines]
    return next(
        Version(bound.version)
        for each in wanted
        if each.name == name
        for bound in each.specifier
        if bound.operator == ">="
    )


@pytest.mark.parametrize("name", ["a2a-sdk", "httpcore", "httpx", "mcp"])
def test_the_main_environment_has_the_lowest_version(name):
    assert floor(name) == Version(PINS[name]), "add to MEETING what this can break"


def test_make_lowest_runs_files_that_exist():
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", "")
    [listed] = re.findall(r"^MEETING := (.*)", makefile, re.MULTILINE)
    names = listed.split()
    assert len(names) > 20
    assert [name for name in names if not (ROOT / "tests" / name).exists()] == []
