"""Tests use public interfaces: private names are counted per file, and none is added.

A line that has no other way carries a comment `# private: ` with the reason.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent
PRIVATE = re.compile(r"(?:.*\.)?_[a-zA-Z]\w*(?<!__)")
PATCHES = {"delattr", "getattr", "hasattr", "object", "patch", "setattr"}

LEFT = {
    "attack/floods.py": 1,
    "bindings/test_bindings.py": 1,
    "plugins/crewai/test_omniroute.py": 1,
    "plugins/crewai/test_streaming.py": 1,
    "plugins/langchain/dying.py": 3,
    "plugins/langchain/test_cancel.py": 1,
    "plugins/mcp/small_server.py": 1,
    "plugins/mcp/test_command.py": 1,
    "plugins/mcp/test_hostile.py": 1,
    "plugins/mcp/test_offering.py": 2,
    "plugins/mcp/test_serving.py": 2,
    "plugins/mcp/tool_server.py": 1,
    "plugins/omniroute/test_langchain.py": 2,
    "plugins/openai_agents/test_serving.py": 1,
    "plugins/sql/replicas/conftest.py": 2,
    "plugins/sql/replicas/test_bus.py": 3,
    "plugins/sql/replicas/test_closing.py": 2,
    "plugins/sql/replicas/test_losses.py": 10,
    "plugins/sql/replicas/test_order.py": 3,
    "plugins/sql/replicas/test_outages.py": 2,
    "plugins/sql/replicas/test_races.py": 3,
    "plugins/sql/replicas/test_shared.py": 3,
    "plugins/sql/replicas/test_turns.py": 2,
    "plugins/sql/served_history.py": 2,
    "plugins/sql/served_resume.py": 2,
    "plugins/sql/test_bulk.py": 1,
    "plugins/sql/test_cancelled.py": 3,
    "plugins/sql/test_checkpoints.py": 3,
    "plugins/sql/test_commits.py": 20,
    "plugins/sql/test_database.py": 1,
    "plugins/sql/test_outage.py": 1,
    "plugins/sql/test_push.py": 1,
    "plugins/sql/test_takeover.py": 2,
    "bindings/test_wire.py": 1,
    "runtime/push/test_delivery.py": 1,
    "runtime/test_robustness.py": 2,
    "runtime/test_slots.py": 6,
    "security/test_body.py": 1,
    "security/test_extended_card.py": 1,
    "plugins/jwt/test_tokens.py": 13,
    "security/test_memory.py": 2,
    "support/warm/process.py": 2,
    "support/warm/relay.py": 1,
    "test_docs.py": 1,
}
"""The number of private names that are left in each file, which may only shrink."""


def is_private(node):
    """Whether a node reads another object's private attribute, or names one to patch."""
    if isinstance(node, ast.Attribute):
        own = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
        return not own and bool(PRIVATE.fullmatch(node.attr))
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    texts = [a.value for a in node.args[:2] if isinstance(a, ast.Constant)]
    return name in PATCHES and any(isinstance(t, str) and PRIVATE.fullmatch(t) for t in texts)


def count(source):
    """Return how many private names a test file uses without a reason on the line."""
    lines = source.splitlines()
    found = [node for node in ast.walk(ast.parse(source)) if is_private(node)]
    return sum("# private: " not in lines[node.end_lineno - 1] for node in found)


def test_private_names_are_counted_unless_a_comment_gives_the_reason():
    assert count("a._b\na.b._c()\nsetattr(a, '_b', 1)\nmonkeypatch.setattr('a.b._c', 1)") == 4
    assert count("self._b\na.__name__\na._b  # private: the library has no other way") == 0


def test_no_private_name_is_added_and_those_left_are_listed():
    files = {path.relative_to(TESTS).as_posix(): path for path in TESTS.rglob("*.py")}
    found = Counter({name: count(path.read_text()) for name, path in files.items()})
    assert found == Counter(LEFT)
