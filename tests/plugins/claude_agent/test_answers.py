"""Answers are those of the SDK's own call, and what a hook refuses leaves no trace."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

import pytest
from claude_agent_sdk import AgentDefinition, ClaudeSDKClient, HookMatcher

from a2a_adapters import BlockedError
from a2a_adapters.testing import AnswerContract
from tests.plugins.claude_agent import support
from tests.plugins.claude_agent.support import agent, calling, made, using
from tests.support.answers import Program, check, in_each_way

pytestmark = pytest.mark.thorough

BOMB = AnswerContract.blocked
REFUSAL = "I cannot help."


async def refuse(given, *_):
    """Have the agent answer again."""
    if "bomb" in given.get("last_assistant_message", ""):
        return {"decision": "block", "reason": "Do not talk about this."}
    return {}


async def block(given, *_):
    """End the run."""
    if "bomb" in str(given.get("last_assistant_message", given.get("tool_response"))):
        raise BlockedError("This is not allowed.")
    return {}


async def halt(*_):
    """Stop after a tool."""
    return {"continue_": False, "stopReason": "enough"}


async def redirect(given, *_):
    """Replace the arguments of a tool."""
    changed = {"hookEventName": "PreToolUse", "updatedInput": {"text": "flowers"}}
    return {"hookSpecificOutput": {**changed, "permissionDecision": "allow"}}


def hooked(*answers, event="Stop", hook=refuse, **options):
    """Return an agent with a hook."""
    return agent(*answers, hooks={event: [HookMatcher(hooks=[hook])]}, **options)


def write(text):
    """Write."""
    return f"wrote {text}"


WRITING = {"tools": [support.tool(write)]}


async def bare(target):
    """Return the result of the SDK's own call."""
    async with ClaudeSDKClient(target) as client:
        await client.query("hello")
        *_, result = [message async for message in client.receive_response()]
    return result.structured_output or result.result.strip()


async def nothing(_):
    """Return nothing: the run has no answer."""


class TestAnswers(AnswerContract):
    def guarded(self):
        return hooked(self.blocked, REFUSAL)

    def blocking(self):
        return hooked(self.blocked, hook=block)


def delegate(messages):
    """Ask a subagent, whose model this is, too."""
    if support.results(messages):
        return "The scout says it rains."
    if support.said(messages)[-1] == "hello":
        return SCOUTING
    return "It rains."


def scouted(hook):
    """Return an agent that answers when a hook has accepted what its subagent says."""
    accepted = asyncio.Event()

    async def checking(*given):
        verdict = await hook(*given)
        if not verdict:
            accepted.set()
        return verdict

    async def answer(messages):
        if support.said(messages)[0] != "hello":  # it is the subagent's
            return "It rains." if "Do not talk" in str(messages) else [THOUGHT, BOMB]
        if "tool_result" not in str(messages):
            return SCOUTING
        await accepted.wait()
        return "The scout says it rains."

    hooks = {"SubagentStop": [HookMatcher(hooks=[checking])]}
    return made(support.Fake(answer), agents=SCOUT, hooks=hooks)


def asking_scout():
    """Return an agent that ends while its subagent asks."""
    asked = asyncio.Event()

    async def noting(*_):
        asked.set()
        return {}

    async def answer(messages):
        if support.said(messages)[0] != "hello":  # it is the subagent's
            return "done" if support.results(messages) else calling("write", "c2", text="x")
        if "tool_result" not in str(messages):
            return SCOUTING
        await asked.wait()
        return "The scout is at it."

    hooks = {"PreToolUse": [HookMatcher(matcher="mcp__local__write", hooks=[noting])]}
    tools = {**WRITING, "allowed_tools": []}
    return made(support.Fake(answer), agents=SCOUT, hooks=hooks, **tools)


CONFIGURED = {
    "hooks": {
        "Stop": [
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": f'! grep -q {BOMB.split()[-1]} || (echo "Do not." >&2; exit 2)',
                    }
                ]
            }
        ]
    }
}


def plugged(folder, path="hooks/hooks.json"):
    """Return a plugin with a hook in a file."""
    plugin = folder / "guard"
    for name, content in {
        ".claude-plugin/plugin.json": {"name": "guard", "version": "1.0.0", "hooks": f"./{path}"},
        path: CONFIGURED,
    }.items():
        file = plugin / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content))
    return {"type": "local", "path": str(plugin)}


SCOUT = {"scout": AgentDefinition(description="Looks.", prompt="Look.")}
SCOUTING = using("Agent", description="look", prompt="look", subagent_type="scout")
THOUGHT = {"type": "thinking", "thinking": "pondering"}


PROGRAMS = [
    Program(
        name="an agent ends while its subagent asks",
        target=asking_scout,
        bare=bare,
        messages=("hello", "yes"),
    ),
    Program(
        name="a hook has the agent answer again",
        target=lambda: hooked(BOMB, REFUSAL),
        bare=bare,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a hook of the settings has the agent answer again",
        target=lambda: agent(BOMB, REFUSAL, settings=json.dumps(CONFIGURED)),
        bare=bare,
        blocked=BOMB,
        is_kept=True,
    ),
    *(
        Program(
            name=f"a hook of a plugin has the agent answer again, {path}",
            target=lambda path=path: agent(
                BOMB, REFUSAL, plugins=[plugged(Path(tempfile.mkdtemp()), path)]
            ),
            bare=bare,
            blocked=BOMB,
            is_kept=True,
        )
        for path in ("hooks/hooks.json", "guard.json", "config/of/hooks.json", "config/hooks")
    ),
    Program(
        name="a hook raises",
        target=lambda: hooked(BOMB, hook=block),
        bare=nothing,
        state="rejected",
        blocked=BOMB,
    ),
    Program(
        name="a hook raises after a tool",
        target=lambda: hooked(
            calling("write", text=BOMB), "done", event="PostToolUse", hook=block, **WRITING
        ),
        bare=nothing,
        state="rejected",
        blocked="wrote",
    ),
    Program(
        name="a hook ends the run after a tool",
        target=lambda: hooked(
            ["Let me see.", calling("write", text="x")], event="PostToolUse", hook=halt, **WRITING
        ),
        bare=bare,
    ),
    Program(
        name="a hook changes a call",
        target=lambda: hooked(
            calling("write", text=BOMB), "It rains.", event="PreToolUse", hook=redirect, **WRITING
        ),
        bare=bare,
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="several messages",
        target=lambda: agent(["Let me see.", calling("write", text="x")], "Done.", **WRITING),
        bare=bare,
    ),
    Program(
        name="structured output",
        target=lambda: agent(
            ["Well.", using("StructuredOutput", city="Rome", degrees=20)],
            "Done.",
            output_format={
                "type": "json_schema",
                "schema": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
                    "required": ["city", "degrees"],
                },
            },
        ),
        bare=bare,
    ),
    Program(
        name="reasoning",
        target=lambda: agent([THOUGHT, "It rains."]),
        bare=bare,
        blocked="pondering",
        is_kept=True,
        is_reported=True,
    ),
    Program(name="nothing", target=lambda: made(support.Fake(lambda _: " ")), bare=bare),
    Program(
        name="a subagent",
        target=lambda: made(support.Fake(delegate), agents=SCOUT),
        bare=bare,
    ),
    Program(
        name="a hook refuses an answer with thoughts",
        target=lambda: hooked([THOUGHT, BOMB], REFUSAL),
        bare=bare,
        blocked=f"pondering {BOMB}",
        is_kept=True,
    ),
    Program(
        name="a hook blocks an answer with thoughts",
        target=lambda: hooked([THOUGHT, BOMB], hook=block),
        bare=nothing,
        state="rejected",
        blocked=f"pondering {BOMB}",
    ),
    Program(
        name="a hook has a subagent answer again",
        target=lambda: scouted(refuse),
        bare=bare,
        blocked=f"pondering {BOMB}",
        is_kept=True,
    ),
]


@in_each_way
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_call(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)
