"""The log of `serve`: one line per record, whatever text it contains."""

from __future__ import annotations

import copy
import json
import logging
import re
import sys
import threading
import warnings
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic_core import to_json
from uvicorn.logging import DefaultFormatter

from a2a_adapters.contract.errors import A2AAdaptersError
from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.observability.failures import hide_parameters

if TYPE_CHECKING:
    from types import TracebackType

    ExcInfo: TypeAlias = (
        tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    )

LogFormat: TypeAlias = Literal["text", "json"]

logger = logging.getLogger("a2a_adapters")

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
_UNPRINTABLE = re.compile("[^ -~]")


def one_line(text: str) -> str:
    """Return text with escapes for line ends, control and invisible characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _message(record: logging.LogRecord) -> str:
    """Return a record's message, even if its arguments do not match."""
    try:
        return record.getMessage()
    except Exception:
        return f"{_text(record.msg)} % {_text(record.args)}"


def _text(value: object) -> str:
    """Return a value as text, even if its `repr` fails."""
    try:
        return value if isinstance(value, str) else repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


class TextFormatter(DefaultFormatter):
    """Formats a record as one line of text, followed by an indented traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text."""
        safe = copy.copy(record)
        safe.msg, safe.args, safe.exc_text = one_line(_message(record)), None, None
        colored = vars(safe).pop("color_message", None)
        if isinstance(colored, str) and record.name.startswith("uvicorn"):
            safe.color_message = colored % record.args if record.args else colored
        return super().format(safe)

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802 - the interface has it
        """Return an indented traceback."""
        hide_parameters(ei[1])
        return self.formatStack(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802 - the interface has it
        """Return an indented stack."""
        return "\n".join(f"  {one_line(line)}" for line in stack_info.split("\n"))


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON, including its `extra` fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info:
            hide_parameters(record.exc_info[1])
            line["exception"] = self.formatException(record.exc_info)
        try:
            text = to_json(line, fallback=str, inf_nan_mode="null").decode()
        except Exception:  # unpaired surrogates, bytes, cycles
            text = json.dumps({name: _text(value) for name, value in line.items()})
        return text if text.isprintable() else _UNPRINTABLE.sub(_json_escaped, text)


def _json_escaped(found: re.Match[str]) -> str:
    character = found[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]


def log_server(form: LogFormat) -> None:
    """Let the server's loggers (uvicorn's, ours and those of plugins) write to standard error.

    Other loggers belong to the process in which the server is embedded.
    """
    handler = _handler(form)
    for name in ("uvicorn", logger.name, *installed_plugins().packages()):
        each = logging.getLogger(name)
        each.handlers, each.propagate = [handler], False
        each.setLevel(logging.INFO)


def log_process(form: LogFormat, *, is_loading: bool = False) -> None:
    """Format the whole log of a process that only serves.

    It includes libraries, warnings and uncaught exceptions. Handlers that write to standard output
    or error are replaced, with their levels and filters; other handlers are kept.

    Args:
        form: The format.
        is_loading: Whether the target has not been imported yet. Its own `logging.basicConfig()`
            needs a root logger without handlers; call this again after the import.
    """
    for each in (logging.root, *logging.root.manager.loggerDict.values()):
        if isinstance(each, logging.Logger):
            each.handlers[:] = [_formatted(handler, form) for handler in each.handlers]
    log_server(form)
    logging.lastResort = _handler(form)
    logging.lastResort.setLevel(logging.WARNING)
    # Otherwise the first `logging.warning()` would install a handler with another format.
    if not is_loading and not logging.root.handlers:
        logging.root.addHandler(_handler(form))
    warnings.showwarning = _log_warning
    sys.excepthook = _log_uncaught
    sys.unraisablehook = threading.excepthook = _log_lost


def _handler(form: LogFormat) -> logging.Handler:
    handler = logging.StreamHandler()
    text = "%(asctime)s %(levelprefix)s %(message)s"
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter(text))
    return handler


def _formatted(handler: logging.Handler, form: LogFormat) -> logging.Handler:
    """Return a replacement for a handler of standard output or error, or the handler itself."""
    console = getattr(handler, "console", None)  # rich
    stream = getattr(console or handler, "file" if console else "stream", None)
    if stream not in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        return handler
    ours = _handler(form)
    ours.setLevel(handler.level)
    ours.filters = handler.filters
    return ours


def _log_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: object = None,  # noqa: ARG001 - as above
    line: str | None = None,  # noqa: ARG001 - as above
) -> None:
    place = f"{filename}:{lineno}"
    logging.getLogger("py.warnings").warning("%s: %s: %s", place, category.__name__, message)


def _log_uncaught(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:
    if issubclass(kind, SystemExit):  # a normal end of a thread
        return
    if issubclass(kind, A2AAdaptersError) and trace is not None:
        _cut(trace)
    logger.critical("uncaught exception", exc_info=(kind, error or kind(), trace))


def _cut(trace: TracebackType) -> None:
    """Remove this package's lines from the end of a traceback: the error's text says more."""
    at: TracebackType | None = trace
    last = None
    while at is not None:
        if not at.tb_frame.f_globals.get("__name__", "").startswith("a2a_adapters"):
            last = at
        at = at.tb_next
    if last is not None:
        last.tb_next = None


def _log_lost(lost: sys.UnraisableHookArgs | threading.ExceptHookArgs) -> None:
    _log_uncaught(lost.exc_type, lost.exc_value, lost.exc_traceback)
