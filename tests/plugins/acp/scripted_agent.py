"""A coding agent that does what its prompt says, with the standard library alone.

The first word of a prompt is what it does; anything else it repeats. Its sessions are files in the
folder that the variable AGENT_HOME names, so that another process can load them.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
import uuid
from pathlib import Path

MODE = sys.argv[1] if len(sys.argv) > 1 else ""
SECRET = "hunter2"
HOME = Path(os.environ.get("AGENT_HOME", "."))
ASK = [
    {"optionId": "o1", "name": "Allow", "kind": "allow_once"},
    {"optionId": "o2", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "o3", "name": "Reject", "kind": "reject_once"},
]
LYING = [
    {"optionId": "o1", "name": "Reject", "kind": "allow_once"},
    {"optionId": "o3", "name": "Allow", "kind": "reject_once"},
]

numbers = itertools.count(1)
answers: dict[int, queue.Queue] = {}
cancelled = threading.Event()
sessions: dict[str, list[str]] = {}
folders: dict[str, str] = {}
lock = threading.Lock()


def write(message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def call(method, **params):
    number = next(numbers)
    answers[number] = queue.Queue()
    write({"id": number, "method": method, "params": params})
    return answers[number].get()


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class AgentError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Turn:
    def __init__(self, session, text):
        self.session, self.text = session, text
        self.folder = Path(folders[session])

    def update(self, kind, /, *, session=None, **fields):
        update = {"sessionUpdate": kind, **fields}
        write(
            {
                "method": "session/update",
                "params": {"sessionId": session or self.session, "update": update},
            }
        )

    def say(self, text, session=None):
        self.update("agent_message_chunk", session=session, content={"type": "text", "text": text})

    def ask(self, call_id, title, kind, /, *, options=ASK, **fields):
        tool = {"toolCallId": call_id, "title": title, "kind": kind, **fields}
        answer = call(
            "session/request_permission", sessionId=self.session, toolCall=tool, options=options
        )
        outcome = answer["result"]["outcome"]
        chosen = next((o for o in options if o["optionId"] == outcome.get("optionId")), {})
        return chosen.get("kind", "cancelled")

    def edit(self, name, after="new\n"):
        file = self.folder / name
        before = file.read_text() if file.exists() else None
        diff = {"type": "diff", "path": str(file), "oldText": before, "newText": after}
        self.update(
            "tool_call", toolCallId="t1", title=f"Edit {file}", kind="edit", status="pending",
            content=[diff],
        )  # fmt: skip
        kind = self.ask("t1", f"Edit {file}", "edit", content=[diff])
        if not kind.startswith("allow"):
            self.update("tool_call_update", toolCallId="t1", status="failed")
            return self.say(f"{kind} {name}")
        file.write_text(after)
        self.update("tool_call_update", toolCallId="t1", status="completed", content=[diff])
        return self.say(f"edited {name}")

    def run(self):
        word, _, rest = self.text.partition(" ")
        do = getattr(self, f"do_{word.lower()}", None)
        reason = self.repeat() if do is None else do(rest)
        return reason or ("cancelled" if cancelled.is_set() else "end_turn")

    def repeat(self):
        for number, piece in enumerate(self.text.split(" ")):
            self.say(piece if number == 0 else f" {piece}")

    def do_you(self, _):  # were restarted
        if MODE not in ("same", "other"):
            return self.repeat()
        return self.edit("a.txt", "new\n" if MODE == "same" else "other\n")

    def do_edit(self, name):
        self.edit(name)

    def do_edits(self, names):
        for name in names.split():
            self.edit(name)

    def do_count(self, _):
        # Reports tokens for each call of its model, as Qwen Code does.
        usage = {"inputTokens": 1, "outputTokens": 2}
        for _call in range(2):
            empty = {"type": "text", "text": ""}
            self.update("agent_message_chunk", content=empty, _meta={"usage": usage})

    def do_brief(self, name):
        # Shows the change in its request for permission alone, as some agents do.
        diff = {"type": "diff", "path": str(self.folder / name), "newText": "new\n"}
        self.update("tool_call", toolCallId="t1", title="Edit", kind="edit", status="pending")
        self.ask("t1", "Edit", "edit", content=[diff])
        said = [{"type": "content", "content": {"type": "text", "text": "written"}}]
        self.update("tool_call_update", toolCallId="t1", status="completed", content=said)

    def do_big(self, name):
        self.edit(name, "x" * 300_000)

    def do_replace(self, rest):
        # Replaces all lines of a file with as many others, after a first line that stays.
        name, count = rest.split(" ")
        self.edit(name, "first\n" + "".join(f"new {n}\n" for n in range(int(count))))

    def do_append(self, name):
        self.edit(name, (self.folder / name).read_text() + "last\n")

    def do_ask(self, given):
        fields = json.loads(given)
        self.say(self.ask("t1", fields.pop("title"), fields.pop("kind", "other"), **fields))

    def do_lie(self, _):
        title, given = "Do \x1b[2Jit", {"command": "x"}
        self.say(self.ask("t1", title, "execute", options=LYING, rawInput=given))

    def do_insist(self, _):
        for number in itertools.count():
            if self.ask(f"t{number}", "again", "fetch") == "cancelled":
                break

    def do_flood(self, _):
        # Asks 20 times at once, and notes when four requests are denied.
        answers = queue.Queue()

        def ask(number):
            answers.put(self.ask(f"t{number}", "again", "fetch"))

        for number in range(20):
            threading.Thread(target=ask, args=(number,), daemon=True).start()
        denied = [answers.get() for _ in range(4)]
        (self.folder / "denied.txt").write_text(" ".join(denied))
        for _ in range(16):
            answers.get()

    def do_late(self, _):
        # Takes an allow that comes after a cancel, as some agents do.
        if self.ask("t1", "write", "other").startswith("allow"):
            (self.folder / "late.txt").write_text("written")

    def do_plan(self, _):
        self.update("agent_thought_chunk", content={"type": "text", "text": "thinking"})
        entries = [
            {"content": "look", "priority": "high", "status": "completed"},
            {"content": "change", "priority": "low", "status": "in_progress"},
        ]
        self.update("plan", entries=entries)
        given = {"path": str(self.folder / "a.txt")}
        self.update("tool_call", toolCallId="t1", title="Read it", kind="read", rawInput=given)
        found = [{"type": "content", "content": {"type": "text", "text": "found"}}]
        self.update("tool_call_update", toolCallId="t1", status="completed", content=found)
        self.update("usage_update", used=10, size=100)
        self.say("done")

    def do_fs(self, rest):
        verb, path, *more = rest.split(" ")
        content = {"content": more[0]} if verb == "write" else {}
        if verb == "read" and more:
            content = {"line": int(more[0]), "limit": int(more[1])}
        answer = call(f"fs/{verb}_text_file", sessionId=self.session, path=path, **content)
        self.say(json.dumps(answer.get("result", answer.get("error"))))

    def do_terminal(self, given):
        # Runs a command by its client, and says its output and end.
        answer = call("terminal/create", sessionId=self.session, **json.loads(given))
        if "error" in answer:
            return self.say(json.dumps(answer["error"]))
        about = {"sessionId": self.session, **answer["result"]}
        ended = call("terminal/wait_for_exit", **about)["result"]
        written = call("terminal/output", **about)["result"]
        call("terminal/release", **about)
        gone = call("terminal/output", **about)
        return self.say(json.dumps([ended, written, "error" in gone]))

    def do_kill(self, _):
        # Kills a command, and says how it ended.
        about = {
            "sessionId": self.session,
            **call("terminal/create", sessionId=self.session, command="sleep 600")["result"],
        }
        call("terminal/kill", **about)
        self.say(json.dumps(call("terminal/output", **about)["result"]["exitStatus"]))

    def do_attach(self, _):
        resources = [
            {"uri": "file:///x/a.txt", "text": "text", "mimeType": "text/plain"},
            {"uri": "file:///x/../b.bin", "blob": "Ynl0ZXM="},
            {"uri": "file:///c.bin", "blob": "?"},
        ]
        blocks = [{"type": "resource", "resource": each} for each in resources]
        image = {"type": "image", "data": "cG5n", "mimeType": "image/png"}
        for block in (image, *blocks):
            self.update("agent_message_chunk", content=block)

    def do_background(self, _):
        # Leaves a command running, of which the pid is said.
        command = "sleep 600 & echo $!; sleep 600"
        about = call("terminal/create", sessionId=self.session, command=command)["result"]
        while not (
            said := call("terminal/output", sessionId=self.session, **about)["result"]["output"]
        ):
            time.sleep(0.02)
        self.say(said)
        cancelled.wait()

    def do_spawn(self, _):
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", "print(flush=True); import time; time.sleep(600)"],
            start_new_session=True,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )
        child.stdout.readline()
        self.say(f"{os.getpid()} {child.pid}")
        cancelled.wait()

    def do_hang(self, _):
        self.say("begun")
        cancelled.wait()

    def do_deaf(self, _):
        self.say("begun")
        time.sleep(600)

    def do_die(self, _):
        self.say("begun")
        die()

    def do_junk(self, _):
        with lock:
            sys.stdout.write("not json\n[1, 2]\n" + "[" * 100_000 + "\n\n")
        self.update("nobody_knows", text="x")
        self.update("agent_message_chunk", content={"type": "hologram"})
        self.say("stolen", session="another")
        self.say("fine")

    def do_recall(self, _):
        self.say("; ".join(sessions[self.session][:-1]))

    def do_env(self, _):
        self.say(json.dumps(sorted(os.environ)))

    def do_stop(self, reason):
        return reason

    def do_folder(self, _):
        self.say(str(self.folder))

    def mode(self):
        match MODE:
            case "silent":
                return "end_turn"
            case "failing":
                raise AgentError(-32603, f"the key {SECRET} is wrong")
            case "midway":
                self.say("begun")
                raise AgentError(-32603, f"the key {SECRET} is wrong")
            case "endless":
                self.say("begun")
                cancelled.wait()
                return "cancelled"
            case "signed-out":
                raise AgentError(-32000, "Authentication required")
        return self.run()


def prompt(params):
    session = params["sessionId"]
    text = "".join(block.get("text", f"<{block['type']}>") for block in params["prompt"])
    sessions[session].append(text)
    HOME.joinpath(f"{session}.json").write_text(json.dumps(sessions[session]))
    turn = Turn(session, text)
    reason = turn.mode()
    usage = {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}
    return {"stopReason": reason, **({"usage": usage} if text != "count" else {})}


def load(params):
    session, file = params["sessionId"], HOME / f"{params['sessionId']}.json"
    if MODE == "forgetful" or not file.exists():
        raise AgentError(-32603, "no such session")
    sessions[session] = json.loads(file.read_text())
    folders[session] = params["cwd"]
    Turn(session, "").say("replayed")
    return {}


def create(params):
    if MODE == "fresh" and not HOME.joinpath("ready").exists():
        time.sleep(0.5)
        HOME.joinpath("ready").touch()
        HOME.joinpath("preparing").rmdir()
    session = uuid.uuid4().hex
    sessions[session], folders[session] = [], params["cwd"]
    HOME.joinpath("servers.json").write_text(json.dumps(params["mcpServers"]))
    return {"sessionId": session}


def initialize(params):
    if MODE == "mute":
        time.sleep(600)
    if MODE == "fresh" and not HOME.joinpath("ready").exists():
        HOME.joinpath("preparing").mkdir()  # two at once fail
    return {
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": MODE != "unloadable",
            "promptCapabilities": {"image": True},
        },
    }


METHODS = {
    "initialize": initialize,
    "session/new": create,
    "session/load": load,
    "session/prompt": prompt,
}


def answer(message):
    try:
        write({"id": message["id"], "result": METHODS[message["method"]](message["params"])})
    except AgentError as failure:
        error = {"code": failure.code, "message": str(failure)}
        write({"id": message["id"], "error": error})
    except Exception:
        traceback.print_exc()
        die()


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "session/cancel":
            cancelled.set()
        elif "method" in message:
            if message["method"] == "session/prompt":
                cancelled.clear()
            threading.Thread(target=answer, args=(message,), daemon=True).start()
        else:
            answers[message["id"]].put(message)
    if MODE == "stubborn":
        time.sleep(600)


main()
