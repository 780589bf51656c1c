"""`a2a-adapters chat`: a conversation with an agent in the terminal."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from a2a_adapters.cli.exits import exit_code
from a2a_adapters.cli.terminal import echo, note, one_line
from a2a_adapters.contract.errors import A2AAdaptersError, ConfigurationError
from a2a_adapters.contract.parts import Data, Part, Text
from a2a_adapters.contract.text import as_text
from a2a_adapters_client.aliases import complete_agent
from a2a_adapters_client.command import (
    ClientCommand,
    ContextOption,
    SaveOption,
    client_command,
)
from a2a_adapters_client.forms import form_of
from a2a_adapters_client.memory import Memory
from a2a_adapters_client.parts import read_file
from a2a_adapters_client.prompt import make_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from a2a_adapters import AgentReply, RemoteAgent
    from a2a_adapters_client.access import Access
    from a2a_adapters_client.answer import AnswerPrinter
    from a2a_adapters_client.forms import Form
    from a2a_adapters_client.memory import Turn
    from a2a_adapters_client.prompt import Reader

_HELP = """\
/new          start a new conversation
/file PATH    send a file with the next message
/save FOLDER  save the files of the last answer
/retry        send the last message again
/card         show the agent's card
/task         show the conversation and its waiting task
/cancel       cancel the waiting task
/raw          toggle JSON output of every answer
/quit         quit, like Ctrl-D
//...         send a line that starts with /
Alt-Enter starts a new line. Ctrl-C interrupts an answer."""


_COMMANDS = [line.split()[0] for line in _HELP.splitlines() if line.startswith("/")]

_SHOWN = 3
"""Number of earlier turns shown when a conversation is resumed."""

app = typer.Typer()


@app.command(cls=ClientCommand)
@client_command(())
def chat(
    access: Access,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="AGENT|MODULE:ATTRIBUTE", show_default=False, autocompletion=complete_agent
        ),
    ] = None,
    context_id: ContextOption = "",
    resumes: Annotated[
        bool,
        typer.Option(
            "--resume", "-c", help="Continue the last conversation, or the last with AGENT."
        ),
    ] = False,
    save: SaveOption = None,
) -> None:
    """Chat with an agent, or with a target served for the duration of the chat.

    Examples:
      a2a-adapters chat localhost:8000
      a2a-adapters chat app:agent --save files
      a2a-adapters chat --resume
    """
    memory, words = Memory(), words or []
    if resumes:
        last = memory.last(access.agent_card or "".join(words))
        access.agent_card, words, context_id = last.agent, [], last.context_id
    access.take(words, most=0)
    # Importing the client takes a second, which --help must not wait for.
    from a2a_adapters_check.host import as_url, is_address  # noqa: PLC0415

    from a2a_adapters_client.connect import find_agent  # noqa: PLC0415
    from a2a_adapters_client.local import served  # noqa: PLC0415

    typed = access.agent_card
    is_remote = is_address(typed)
    with nullcontext(as_url(typed)) if is_remote else served(typed) as address:
        access.agent_card = address
        reader = make_reader(_COMMANDS, memory.lines if sys.stdin.isatty() else None)
        printer = make_printer(save)

        async def talk() -> int:
            found, about = await find_agent(access)
            if sys.stdin.isatty():
                echo(one_line(f"{about.name}: {about.description}"), err=True, bold=True)
                echo("type /help for commands", err=True, dim=True)
            if resumes:
                _show(memory.find(context_id=context_id, limit=_SHOWN))
            keep = partial(memory.add, access.named) if is_remote else None
            chat = Chat(found, reader, printer, context_id, keep, access.skill or None)
            await chat.run()
            if is_remote and chat.context_id and sys.stdin.isatty():
                note(f"resume: {access.again('chat', '--context', chat.context_id)}")
            return chat.exit_code

        exit_code = asyncio.run(talk())
    if not sys.stdin.isatty():
        raise typer.Exit(exit_code)


class Chat:
    """A conversation with an agent.

    Args:
        agent: The agent.
        reader: Source of input lines.
        printer: Prints the answers.
        context_id: The conversation to continue; "" starts a new one.
        keep: Keeps a message and its answer; None keeps none.
        skill: The id of the skill to ask for.
    """

    def __init__(
        self,
        agent: RemoteAgent,
        reader: Reader,
        printer: AnswerPrinter,
        context_id: str,
        keep: Callable[[str, AgentReply], None] | None = None,
        skill: str | None = None,
    ) -> None:
        self._agent = agent
        self._skill = skill
        self._reader = reader
        self._printer = printer
        self._conversation = agent.conversation(context_id=context_id)
        self._keep = keep
        self._files: list[Part] = []
        self._last: list[Part] = []
        self._reply: AgentReply | None = None
        self._form: Form | None = None
        self._shows_raw = False
        self.exit_code = 0
        """Exit code for piped input: that of the last error."""

    @property
    def context_id(self) -> str:
        """The conversation; "" before its first answer."""
        return self._conversation.context_id

    async def run(self) -> None:
        """Handle lines and forms until the end of the input."""
        async with self._agent:
            while True:
                try:
                    if not await self._next():
                        return
                except A2AAdaptersError as error:
                    self._printer.end_line()
                    echo(one_line(str(error)), err=True, fg="red")
                    self.exit_code = exit_code(error)

    async def _next(self) -> bool:
        """Handle a form or a line; return whether the conversation continues."""
        form, self._form = self._form, None
        if form is not None and (data := await self._reader.fill(form)) is not None:
            await self._say([Data(data)])
            return True
        line = await self._reader.read(_choices(self._reply))
        return line is not None and await self._do(line.strip())

    async def _do(self, line: str) -> bool:
        """Handle a line; return whether the conversation continues."""
        command, _, argument = line.partition(" ")
        if command == "/quit":
            return False
        if line.startswith("/") and not line.startswith("//"):
            await self._run(command, argument.strip())
        elif line or self._files:
            text = line.removeprefix("/") if line.startswith("//") else line
            files, self._files = self._files, []
            await self._say([*([Text(text)] if text else []), *files])
        elif self._reply is not None and self._reply.state == "auth-required":
            from a2a_adapters_oauth import LOGGED_IN  # noqa: PLC0415 - comes with a2a-sdk

            await self._say([Text(LOGGED_IN)])
        return True

    async def _run(self, command: str, argument: str) -> None:
        match command:
            case "/help":
                echo(_HELP)
            case "/new":
                self._conversation = self._agent.conversation()
                self._reply = None
            case "/raw":
                self._shows_raw = not self._shows_raw
            case "/file":
                self._attach(argument)
            case "/save":
                self._save(argument)
            case "/retry":
                await self._retry()
            case "/card":
                await self._show_card()
            case "/task":
                self._show_task()
            case "/cancel":
                await self._cancel()
            case _:
                echo(f"unknown command {command}; type /help for commands", err=True)

    async def _say(self, message: list[Part]) -> None:
        self._reply, self._last = None, message
        events = self._conversation.stream(message, skill=self._skill)
        answering = asyncio.ensure_future(self._printer.show(events))
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, answering.cancel)
        try:
            self._reply = await answering
        except asyncio.CancelledError:
            self._printer.end_line()
            echo("stopped", err=True, dim=True)
            return
        finally:
            loop.remove_signal_handler(signal.SIGINT)
        if self._shows_raw:
            self._printer.print_json(self._reply)
        if self._keep is not None:
            self._keep(as_text(message), self._reply)
        self._form = form_of(self._reply.status_parts) if self._reply.is_question else None
        self._show_login(self._reply)

    def _show_login(self, reply: AgentReply) -> None:
        from a2a_adapters_oauth import login_request  # noqa: PLC0415 - comes with a2a-sdk

        if (request := login_request(reply)) is not None:
            for url in request.urls:
                note(f"log in at {one_line(url)}")
            note("press Enter when you have logged in, or type an answer")

    def _attach(self, path: str) -> None:
        self._files.append(read_file(_expanded(path)))
        echo("attached to the next message")

    def _save(self, folder: str) -> None:
        if self._reply is None or not self._reply.files:
            echo("the last answer has no files")
            return
        from a2a_adapters_client.files import keep_files  # noqa: PLC0415 - comes with a2a-sdk

        keep_files(self._reply, _expanded(folder or "."))

    async def _retry(self) -> None:
        if self._last:
            await self._say(self._last)
        else:
            echo("there is no message to send again")

    async def _show_card(self) -> None:
        from a2a_adapters_client.card import profile  # noqa: PLC0415 - imports a server's modules

        for line in profile(await self._agent.card()):
            echo(line)

    def _show_task(self) -> None:
        context_id, task_id = self._conversation.context_id, self._conversation.task_id
        echo(one_line(f"conversation {context_id or 'not started'}"))
        echo(one_line(f"task {task_id} is waiting for input") if task_id else "no task is waiting")

    async def _cancel(self) -> None:
        if not self._conversation.task_id:
            echo("no task is waiting")
            return
        await self._agent.cancel(self._conversation.task_id)
        self._conversation.task_id = ""
        self._reply = None
        echo("cancelled")


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigurationError(f"{path}: unknown user") from error


def _show(turns: Sequence[Turn]) -> None:
    """Print earlier turns of a conversation."""
    for turn in turns:
        echo(f"> {turn.question}\n{turn.answer}", dim=True)


def make_printer(folder: Path | None) -> AnswerPrinter:
    """Return a printer that formats answers on a terminal and prints plain text elsewhere."""
    # Importing the client and rich takes a second, which --help must not wait for.
    if not sys.stdout.isatty():
        from a2a_adapters_client.answer import AnswerPrinter  # noqa: PLC0415

        return AnswerPrinter(folder)
    from a2a_adapters_client.markdown import MarkdownPrinter  # noqa: PLC0415

    return MarkdownPrinter(folder)


def _choices(reply: AgentReply | None) -> list[str]:
    """Return the possible answers to a question, taken from its schema."""
    if reply is None or not reply.is_question:
        return []
    schemas = (part.value for part in reply.status_parts if isinstance(part, Data))
    return [choice for schema in schemas for choice in _enumerated(schema)]


def _enumerated(schema: object) -> Iterator[str]:
    """Yield the strings of all `enum`s in a JSON Schema, and the decisions of a review."""
    match schema:
        case [*items]:
            for item in items:
                yield from _enumerated(item)
        case {"enum": [*choices]} | {"allowed_decisions": [*choices]}:
            yield from (choice for choice in choices if isinstance(choice, str))
        case dict():
            for inner in schema.values():
                yield from _enumerated(inner)
