"""One structured line per event, on the standard library's logging.

Fields travel as `extra={...}` on the record, so any handler or formatter sees them. Two formatters
are at hand: `key=value` for people and JSON for machines.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from oxmill.observe.bus import Bus
from oxmill.observe.events import Happening

WORKER: Final = logging.getLogger("oxmill.worker")
Style = Literal["text", "json"]

_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has; anything else is a field of ours or of the user's."""
_LONG: Final = frozenset({"traceback", "stack"})
"""Fields of many lines, which follow below the line."""


class LogLines:
    """Writes a line for every event that its logger lets through."""

    def __init__(self, logger: logging.Logger = WORKER) -> None:
        self._logger = logger

    def attach(self, bus: Bus) -> None:
        """Listen to the events whose level is enabled now; the others cost nothing."""
        told = [
            kind for kind in Happening.__subclasses__() if self._logger.isEnabledFor(kind.level)
        ]
        bus.subscribe(self.write, *told)

    def write(self, event: Happening) -> None:
        """Write one event."""
        fields = {
            name: value
            for name in event.__struct_fields__
            if (value := getattr(event, name)) not in ((), "", None)
        }
        logger, level = self._logger, event.level
        if logger.isEnabledFor(level):
            # As `logger.log`, without a search for the caller, which is always this line.
            logger.handle(
                logger.makeRecord(
                    logger.name, level, __file__, 0, event.words, (), None, "write", fields
                )
            )


class TextFormatter(logging.Formatter):
    """`12:00:00.123 WARNING run failed job=… task=…`, long fields below."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as text."""
        moment = time.strftime("%H:%M:%S", time.localtime(record.created))
        head = f"{moment}.{int(record.msecs):03} {record.levelname:<8} {record.getMessage()}"
        short, long = [head], []
        for name, value in _fields(record):
            if name in _LONG:
                long.append(str(value).rstrip())
            else:
                short.append(f"{name}={_plain(value)}")
        if record.exc_info:
            long.append(self.formatException(record.exc_info))
        return "\n".join([" ".join(short), *long])


class JsonFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as JSON."""
        line: dict[str, Any] = {
            "time": round(record.created, 6),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **dict(_fields(record)),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


def set_up_logging(style: Style = "text", level: int = logging.INFO) -> None:
    """Send Oxmill's lines to standard error. For programs that do not set up logging themselves;
    calling it again changes style and level."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    handler.set_name("oxmill")
    logger = logging.getLogger("oxmill")
    for old in [each for each in logger.handlers if each.get_name() == "oxmill"]:
        logger.removeHandler(old)
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False


def _fields(record: logging.LogRecord) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in vars(record).items() if name not in _OWN)


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    text = ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    simple = text.isprintable() and text and not any(mark in text for mark in ' "=')
    return text if simple else msgspec.json.encode(text).decode()
