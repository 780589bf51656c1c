"""Log records as JSON, and uvicorn's logging with the package's own."""

from __future__ import annotations

import copy
import logging
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from pydantic_core import to_json
from uvicorn.config import LOGGING_CONFIG

__all__ = ["JsonFormatter", "LogFormat", "log_config"]

LogFormat: TypeAlias = Literal["text", "json"]

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


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
            line["exception"] = self.formatException(record.exc_info)
        return to_json(line, fallback=str, inf_nan_mode="null").decode()


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
    return config
