"""Turns functions into commands with the common options and error output."""

from __future__ import annotations

import inspect
import sys
import traceback
from dataclasses import fields
from functools import partial, wraps
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from a2a_adapters.cli.commands import UsageError
from a2a_adapters.cli.exits import USAGE
from a2a_adapters.cli.terminal import echo
from a2a_adapters.contract.errors import A2AAdaptersError, ConfigurationError
from a2a_adapters_client.access import CONNECTION, Access
from a2a_adapters_client.aliases import complete_agent
from a2a_adapters_client.envelope import Problem
from a2a_adapters_client.variables import check_trust

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from a2a.types import TaskState

TASK_FAILED = 6
"""Exit code: the task failed, was rejected or was cancelled."""

TASK_WAITS = 7
"""Exit code: the task is waiting for input or credentials."""

ContextOption = Annotated[
    str,
    typer.Option(
        "--context",
        "--context-id",
        help="Id of the conversation to continue.",
        envvar="A2ACLI_CONTEXT_ID",
    ),
]

SaveOption = Annotated[
    Path | None, typer.Option("--save", help="Folder for the files of the answer.")
]

FailOption = Annotated[
    bool,
    typer.Option(
        "--fail/--no-fail",
        help="Whether to exit with 6 if the task fails, is rejected or cancelled, 7 if it waits.",
        envvar="A2ACLI_FAIL",
        show_envvar=False,
    ),
]

TaskArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[AGENT] TASK", show_default=False, autocompletion=complete_agent),
]

POLLING = frozenset({"poll_interval"})
"""Options of commands that follow tasks."""

MESSAGE = frozenset({"metadata"})
"""Options of commands that send messages."""

OUTPUT = frozenset({"output", "stream", "verbose"})
"""Options of commands that print results."""


class ClientCommand(TyperCommand):
    """A command whose help has the connection's options in a section of their own.

    It reports usage errors as JSON if JSON output is requested.
    """

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            title = "Arguments" if parameter.param_type_name == "argument" else "Options"
            if parameter.name in CONNECTION:
                title = "Connection (or variables such as A2ACLI_TIMEOUT)"
            if (row := parameter.get_help_record(ctx)) is not None:
                sections.setdefault(title, []).append(row)
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line."""
        is_json = _wants_json(args)
        try:
            rest = super().parse_args(ctx, args)
            check_trust(ctx)
        except (UsageError, ConfigurationError) as error:
            if not is_json:
                raise
            hint, message = None, str(error)
            if not isinstance(error, ConfigurationError):
                hint, message = f"{ctx.command_path} --help", error.format_message()
            _report(Problem("A2ACLI_ERR_USAGE", message, USAGE, hint), is_json=True)
            raise typer.Exit(USAGE) from error
        return rest


def _wants_json(args: Sequence[str]) -> bool:
    return any(
        arg in {"-ojson", "--output=json"} or (arg in {"-o", "--output"} and value == "json")
        for arg, value in pairwise([*args, ""])
    )


def client_command(
    takes: Collection[str] = OUTPUT,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that replaces the argument `access` with options.

    Args:
        takes: Fields of `Access` that become options besides those of the connection.
    """
    return partial(_with_options, names=[*takes, *CONNECTION])


def _with_options(function: Callable[..., None], names: Collection[str]) -> Callable[..., None]:
    own_hints = get_type_hints(function, localns={"Access": Access}, include_extras=True)
    own = [
        parameter.replace(annotation=own_hints[name])
        for name, parameter in inspect.signature(function).parameters.items()
        if name != "access"
    ]
    hints = get_type_hints(Access, include_extras=True)
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=field.default,
            annotation=hints[field.name],
        )
        for field in fields(Access)
        if field.name in names
    ]

    @wraps(function)
    def run(**given: Any) -> None:
        access = Access(**{each.name: given.pop(each.name) for each in shared})
        try:
            function(access, **given)
        except A2AAdaptersError as error:
            _end(error, access)

    run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in [*own, *shared]}
    return run


def exit_by(state: TaskState, *, fails: bool) -> None:
    """Exit with the code of a task's state, unless it is completed, running or `fails` is unset."""
    from a2a_adapters.protocol import states  # noqa: PLC0415 - comes with a2a-sdk

    if fails and state in states.INTERRUPTED:
        raise typer.Exit(TASK_WAITS)
    if fails and state in states.TERMINAL - {states.COMPLETED}:
        raise typer.Exit(TASK_FAILED)


def task_id_of(access: Access, words: list[str] | None) -> str:
    """Return the task id in the arguments.

    Raises:
        ConfigurationError: It is missing.
    """
    rest = access.take(words or [], most=1)
    if not rest:
        raise ConfigurationError("name a task: [AGENT] TASK")
    return rest[0]


def _end(error: A2AAdaptersError, access: Access) -> None:
    from a2a_adapters_client.problems import problem_of  # noqa: PLC0415 - comes with a2a-sdk

    if access.debug:
        echo("".join(traceback.format_exception(error)), err=True, nl=False)
    problem = problem_of(error, access)
    _report(problem, is_json=access.is_json)
    raise typer.Exit(problem.exit_code) from error


def _report(problem: Problem, *, is_json: bool) -> None:
    if is_json:
        echo(problem.to_json())
        return
    sys.stdout.flush()
    echo("a2a-adapters: ", err=True, nl=False, fg="red")
    echo(problem.message, err=True)
    if problem.hint:
        echo(f"hint: {problem.hint}", err=True)
