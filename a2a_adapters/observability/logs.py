"""How `serve` writes its log: a record is one line for every reader, whoever had a say in it."""

from __future__ import annotations

import copy
import json
import logging
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic_core import PydanticSerializationError, to_json
from uvicorn.config import LOGGING_CONFIG
from uvicorn.logging import DefaultFormatter

from a2a_adapters.observability.failures import hide_parameters

if TYPE_CHECKING:
    from types import TracebackType

    ExcInfo: TypeAlias = (
        tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    )

__all__ = ["JsonFormatter", "LogFormat", "TextFormatter", "log_config"]

LogFormat: TypeAlias = Literal["text", "json"]

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
_UNPRINTABLE = re.compile("[^ -~]")


def one_line(text: str) -> str:
    """Return a text with escapes for what ends a line, moves a cursor or cannot be seen."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


class TextFormatter(DefaultFormatter):
    """Makes one line for people of a record; those of a traceback are indented."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text."""
        safe = copy.copy(record)
        safe.msg, safe.args, safe.exc_text = one_line(record.getMessage()), None, None
        colored = vars(safe).pop("color_message", None)
        if isinstance(colored, str) and record.name.startswith("uvicorn"):
            safe.color_message = colored % record.args if record.args else colored
        return super().format(safe)

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802 - the interface has it
        """Return a traceback, each line of it as one line."""
        hide_parameters(ei[1])
        lines = super().formatException(ei).split("\n")
        return "\n".join(f"  {one_line(line)}" for line in lines)


class JsonFormatter(logging.Formatter):
    """Makes one line of JSON of a record: when, how bad, who, what, and the `extra` fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info:
            hide_parameters(record.exc_info[1])
            line["exception"] = self.formatException(record.exc_info)
        try:
            text = to_json(line, fallback=str, inf_nan_mode="null").decode()
        except PydanticSerializationError:  # halves of characters, bytes
            text = json.dumps(line, default=str)
        return text if text.isprintable() else _UNPRINTABLE.sub(_json_escaped, text)


def _json_escaped(found: re.Match[str]) -> str:
    character = found[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]


def log_config(form: LogFormat) -> dict[str, Any]:
    """Return uvicorn's logging configuration with the loggers of this package.

    Its access log is left out: the package's own says more.
    """
    config: dict[str, Any] = copy.deepcopy(LOGGING_CONFIG)
    del config["loggers"]["uvicorn.access"], config["handlers"]["access"]
    del config["formatters"]["access"]
    config["loggers"]["a2a_adapters"] = dict(config["loggers"]["uvicorn"])
    if form == "json":
        config["formatters"]["default"] = {"()": JsonFormatter}
    else:
        config["formatters"]["default"] |= {
            "()": TextFormatter,
            "fmt": "%(asctime)s %(levelprefix)s %(message)s",
        }
    return config
