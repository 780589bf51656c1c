"""Hooks of plugins are found wherever Claude Code reads them, in files read once per change."""

from __future__ import annotations

import json
import time

import pytest
from a2a_adapters_claude_agent import adapt
from a2a_adapters_claude_agent.serving import plugins
from claude_agent_sdk import ClaudeAgentOptions

HOOKS = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "check"}]}]}}
NO_HOOKS = {"hooks": {"stop": [{"hooks": [{"type": "command", "command": "check"}]}]}}


def write(folder, files):
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content))


def holds(folder):
    """Whether a plugin holds back the answer of its agent."""
    options = ClaudeAgentOptions(plugins=[{"type": "local", "path": str(folder)}])
    return adapt(options).holds_text


MANIFEST = ".claude-plugin/plugin.json"


@pytest.mark.parametrize(
    ("files", "is_held"),
    [
        ({"hooks/hooks.json": HOOKS}, True),
        ({"hooks/hooks.json": NO_HOOKS}, False),
        ({MANIFEST: HOOKS}, True),
        ({"plugin.json": HOOKS}, True),
        ({MANIFEST: {"hooks": [{"Stop": []}]}}, True),
        ({MANIFEST: {"hooks": "./checks"}, "checks": HOOKS}, True),
        ({MANIFEST: {"hooks": ["./a", "./b"]}, "a": NO_HOOKS, "b": HOOKS}, True),
        ({MANIFEST: {"hooks": ["./missing", 1, None, "\0"]}}, False),
        ({MANIFEST: ["hooks"]}, False),
        ({"checks": HOOKS}, False),
        ({"hooks/hooks.json": {"modules": ["./check.js"]}}, True),
        ({"other/any.json": {"modules": ["./check.js"]}}, False),
        ({"skills/a/hooks/hooks.json": HOOKS}, True),
    ],
)
def test_hooks_are_found_where_they_are_read(files, is_held, tmp_path):
    write(tmp_path, files)
    assert holds(tmp_path) is is_held


def test_hooks_are_found_behind_links(tmp_path):
    write(tmp_path / "shared", {"hooks.json": HOOKS})
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin" / "hooks").symlink_to(tmp_path / "shared")
    (tmp_path / "plugin" / "itself").symlink_to(tmp_path / "plugin")
    assert holds(tmp_path / "plugin")


def test_a_plugin_that_is_missing_has_no_hooks(tmp_path):
    assert not holds(tmp_path / "missing")


@pytest.mark.parametrize("name", ["hooks/hooks.json", MANIFEST, "hooks/new.json"])
def test_changes_are_seen_at_once(name, tmp_path):
    write(tmp_path, {"hooks/hooks.json": NO_HOOKS, MANIFEST: {}})
    for content in (HOOKS, NO_HOOKS, HOOKS):  # of equal size
        write(tmp_path, {name: content})
        assert holds(tmp_path) is (content == HOOKS)
    (tmp_path / name).unlink()
    assert not holds(tmp_path)


def test_files_that_have_not_changed_are_read_once(tmp_path, monkeypatch):
    write(tmp_path, {"hooks/hooks.json": NO_HOOKS, MANIFEST: {"hooks": "./checks"}, "checks": {}})
    seen = []
    monkeypatch.setattr(plugins, "read", lambda file: seen.append(file.name) or file.read_text())
    later = time.time_ns() + 10**10
    monkeypatch.setattr(plugins.time, "time_ns", lambda: later)
    assert [holds(tmp_path) for _ in range(3)] == [False] * 3
    assert sorted(seen) == ["checks", "hooks.json", "plugin.json"]
    write(tmp_path, {"checks": HOOKS})
    assert holds(tmp_path)
    assert sorted(seen) == ["checks", "checks", "hooks.json", "plugin.json"]
