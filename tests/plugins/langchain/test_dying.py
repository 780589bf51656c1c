"""A graph's process dies at each call of its checkpointer in turn; the next process resumes."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.plugins.sql.conftest import new_url
from tests.support.warm import warm

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    ("graph", "engine", "moments"),
    [
        ("branches", "sqlite", ["before", "after"]),
        ("questions", "sqlite", ["before", "after"]),
        ("questions", "postgresql", ["after"]),
        *((graph, "sqlite", ["after"]) for graph in ("breakpoints", "workflow", "agent")),
    ],
)
def test_answers_equal_those_of_runs_without_crashes(graph, engine, moments, tmp_path):
    arguments = [graph, engine, new_url(engine, tmp_path), *moments]
    command = warm("-m", "tests.plugins.langchain.dying", *arguments)
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    unharmed, *died = map(json.loads, process.stdout.splitlines())
    _, (state, answer), done = unharmed
    assert state == "TASK_STATE_COMPLETED"
    wrong = [line for line in died if line[1] != [state, answer]]
    assert not wrong, f"{len(wrong)} of {len(died)}, not as {answer!r}"
    # Only unfinished nodes run again.
    for name, _, counted in died:
        assert counted.keys() == done.keys(), name
        assert all(done[node] <= n <= 2 * done[node] for node, n in counted.items()), name


def test_crashes_before_the_first_node_do_not_fail_the_task(tmp_path):
    arguments = ["branches", "sqlite", new_url("sqlite", tmp_path)]
    command = warm("-m", "tests.plugins.langchain.dying", *arguments)
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    [_, (state, _), done] = json.loads(process.stdout)
    assert state == "TASK_STATE_COMPLETED"
    assert done["plan"] == 1
