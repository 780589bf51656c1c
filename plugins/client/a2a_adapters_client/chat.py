"""`a2a-adapters chat`: a conversation with an agent in the terminal."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from a2a_adapters.cli.exits import exit_code
from a2a_adapters.cli.terminal import echo, one_line
from a2a_adapters.contract.errors import A2AAdaptersError, ConfigurationError, MissingExtraError
from a2a_adapters.contract.parts import Data, Part, Text
from a2a_adapters_client.aliases import complete_agent
from a2a_adapters_client.command import (
    ClientCommand,
    ContextOption,
    SaveOption,
    client_command,
)
from a2a_adapters_client.parts import read_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from a2a_adapters import AgentReply, RemoteAgent
    from a2a_adapters_client.access import Access
    from a2a_adapters_client.answer import AnswerPrinter

_HELP = """\
/new          start a new conversation
/file PATH    send a file with the next message
/task         show the conversation and its waiting task
/cancel       cancel the waiting task
/raw          toggle JSON output of every answer
/quit         quit, like Ctrl-D
//...         send a line that starts with /
Ctrl-C interrupts an answer."""


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
    save: SaveOption = None,
) -> None:
    """Chat with an agent, or with a target served for the duration of the chat.

    Examples:
      a2a-adapters chat localhost:8000
      a2a-adapters chat app:agent --save files
    """
    access.take(words or [], most=0)
    # Importing the client takes a second, which --help must not wait for.
    from a2a_adapters_check.host import as_url, is_address  # noqa: PLC0415

    from a2a_adapters_client.connect import find_agent  # noqa: PLC0415
    from a2a_adapters_client.local import served  # noqa: PLC0415

    typed = access.agent_card
    with nullcontext(as_url(typed)) if is_address(typed) else served(typed) as address:
        access.agent_card = address
        reader, printer = make_reader(), make_printer(save)

        async def talk() -> int:
            found, about = await find_agent(access)
            if sys.stdin.isatty():
                echo(one_line(f"{about.name}: {about.description}"), err=True, bold=True)
                echo("type /help for commands", err=True, dim=True)
            chat = Chat(found, reader, printer, context_id)
            await chat.run()
            return chat.exit_code

        exit_code = asyncio.run(talk())
    if not sys.stdin.isatty():
        raise typer.Exit(exit_code)


class Reader(Protocol):
    """Source of input lines."""

    async def read(self, choices: Sequence[str]) -> str | None:
        """Return the next line, None at the end; `choices` are possible answers."""


class Chat:
    """A conversation with an agent.

    Args:
        agent: The agent.
        reader: Source of input lines.
        printer: Prints the answers.
        context_id: The conversation to continue; "" starts a new one.
    """

    def __init__(
        self, agent: RemoteAgent, reader: Reader, printer: AnswerPrinter, context_id: str
    ) -> None:
        self._agent = agent
        self._reader = reader
        self._printer = printer
        self._conversation = agent.conversation(context_id=context_id)
        self._files: list[Part] = []
        self._reply: AgentReply | None = None
        self._shows_raw = False
        self.exit_code = 0
        """Exit code for piped input: that of the last error."""

    async def run(self) -> None:
        """Handle lines until the end of the input."""
        async with self._agent:
            while (line := await self._reader.read(_choices(self._reply))) is not None:
                try:
                    if not await self._do(line.strip()):
                        return
                except A2AAdaptersError as error:
                    self._printer.end_line()
                    echo(one_line(str(error)), err=True, fg="red")
                    self.exit_code = exit_code(error)

    async def _do(self, line: str) -> bool:
        """Handle a line; return whether the conversation continues."""
        command, _, argument = line.partition(" ")
        match command:
            case "/quit":
                return False
            case "/help":
                echo(_HELP)
            case "/new":
                self._conversation = self._agent.conversation()
                self._reply = None
            case "/raw":
                self._shows_raw = not self._shows_raw
            case "/file":
                self._attach(argument.strip())
            case "/task":
                self._show_task()
            case "/cancel":
                await self._cancel()
            case _ if command.startswith("/") and not command.startswith("//"):
                echo(f"unknown command {command}; type /help for commands", err=True)
            case _ if line or self._files:
                await self._say(line.removeprefix("/") if line.startswith("//") else line)
        return True

    async def _say(self, text: str) -> None:
        message = [*([Text(text)] if text else []), *self._files]
        self._files = []
        self._reply = None
        answering = asyncio.ensure_future(self._printer.show(self._conversation.stream(message)))
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

    def _attach(self, path: str) -> None:
        try:
            file = Path(path).expanduser()
        except RuntimeError as error:
            raise ConfigurationError(f"{path}: unknown user") from error
        self._files.append(read_file(file))
        echo("attached to the next message")

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


def make_printer(folder: Path | None) -> AnswerPrinter:
    """Return a printer that formats answers on a terminal and prints plain text elsewhere."""
    # Importing the client and rich takes a second, which --help must not wait for.
    if not sys.stdout.isatty():
        from a2a_adapters_client.answer import AnswerPrinter  # noqa: PLC0415

        return AnswerPrinter(folder)
    from a2a_adapters_client.markdown import MarkdownPrinter  # noqa: PLC0415

    return MarkdownPrinter(folder)


def make_reader() -> Reader:
    """Return a line reader, with history and completion on a terminal.

    Raises:
        MissingExtraError: prompt_toolkit is missing on a terminal.
    """
    if not sys.stdin.isatty():
        return _Lines()
    return _Prompt([line.split()[0] for line in _HELP.splitlines() if line.startswith("/")])


class _Prompt:
    """Reads lines with history and completion.

    Args:
        commands: Words to complete at the start of a line.

    Raises:
        MissingExtraError: prompt_toolkit is not installed.
    """

    def __init__(self, commands: Sequence[str]) -> None:
        try:
            from prompt_toolkit import PromptSession  # noqa: PLC0415 - an extra
            from prompt_toolkit.completion import WordCompleter  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError("a conversation in a terminal", "chat") from error
        self._commands = commands
        self._completer = WordCompleter
        self._session: PromptSession[str] = PromptSession()

    async def read(self, choices: Sequence[str]) -> str | None:
        """Return the next line, None at Ctrl-D; Ctrl-C discards the current line."""
        completer = self._completer([*choices, *self._commands], sentence=True)
        while True:
            try:
                return await self._session.prompt_async("> ", completer=completer)
            except KeyboardInterrupt:
                continue
            except EOFError:
                return None


class _Lines:
    """Reads piped lines."""

    async def read(self, choices: Sequence[str]) -> str | None:  # noqa: ARG002 - as `Reader`
        return await asyncio.to_thread(sys.stdin.readline) or None


def _choices(reply: AgentReply | None) -> list[str]:
    """Return the possible answers to a question, taken from its schema."""
    if reply is None or not reply.is_question:
        return []
    schemas = (part.value for part in reply.status_parts if isinstance(part, Data))
    return [choice for schema in schemas for choice in _enumerated(schema)]


def _enumerated(schema: object) -> Iterator[str]:
    """Yield the strings of all `enum`s in a JSON Schema."""
    match schema:
        case {"enum": [*choices]}:
            yield from (choice for choice in choices if isinstance(choice, str))
        case dict():
            for inner in schema.values():
                yield from _enumerated(inner)
