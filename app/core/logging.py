"""Logging of a process: processors, formats, the handler that writes to stderr, and its filter of repeats."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Mapping
from types import TracebackType

import structlog
from structlog.typing import Processor

# a warning passes once in so many seconds
REPEAT_SECONDS = 60.0
MAX_WARNINGS = 500  # warnings that are remembered, by their first 500 characters: about half a megabyte
LONGEST = 500
OF_ONE_LINE = frozenset({"timestamp", "request_id"})  # these differ between lines of the same warning

STDLIB_LOG = logging.getLogger("waypost")
log = structlog.stdlib.get_logger(STDLIB_LOG.name)
stamp_time = structlog.processors.TimeStamper(fmt="iso", utc=True)

SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    stamp_time,
    structlog.processors.StackInfoRenderer(),
    structlog.processors.format_exc_info,  # a plain traceback: the other kind shows values of variables
]


def configure(log_format: str, log_level: str = "info") -> None:
    """Sends everything that this process logs, libraries too, to stderr as lines of `text` or `json`."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = OurHandler(sys.stderr)
    handler.setFormatter(formatter(log_format))
    handler.addFilter(RepeatFilter())
    root = logging.getLogger()
    for old in [other for other in root.handlers if isinstance(other, OurHandler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(log_level.upper())
    # a line for each migration is of use only for debugging one
    logging.getLogger("alembic").setLevel(logging.DEBUG if log_level == "debug" else logging.WARNING)


def log_uncaught() -> None:
    """Logs errors that end this process or a thread of it, which Python would print in its own format."""
    sys.excepthook = log_exception
    threading.excepthook = log_thread_exception
    logging.captureWarnings(capture=True)


def log_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    log.critical("the process ends with an error", exc_info=(kind, error, trace))


def log_thread_exception(found: threading.ExceptHookArgs) -> None:
    if found.exc_value is not None and not issubclass(found.exc_type, SystemExit):
        name = found.thread.name if found.thread else "?"
        exc_info = (found.exc_type, found.exc_value, found.exc_traceback)
        log.critical("a thread ends with an error", thread=name, exc_info=exc_info)


def log_event(level: int, event: str, fields: Mapping[str, object]) -> None:
    """Logs what `log.log` would, in half its time: for the one line that each request has.

    It leaves out what that line never has: arguments, a trace, and the place in the code.
    """
    if not STDLIB_LOG.isEnabledFor(level):
        return
    line = structlog.contextvars.merge_contextvars(STDLIB_LOG, "", {**fields, "event": event})
    line["level"], line["logger"] = logging.getLevelName(level).lower(), STDLIB_LOG.name
    stamp = stamp_time(STDLIB_LOG, "", line)
    (wrapped,), extra = structlog.stdlib.ProcessorFormatter.wrap_for_formatter(STDLIB_LOG, "", stamp)
    record = logging.LogRecord(STDLIB_LOG.name, level, "", 0, wrapped, (), None)
    vars(record).update(extra["extra"])
    STDLIB_LOG.handle(record)


class OurHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Our handler, known by its class: a second application in one process must not log lines twice."""


def formatter(log_format: str) -> logging.Formatter:
    render: Processor = text_line if log_format == "text" else structlog.processors.JSONRenderer()
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
    )


def text_line(_logger: object, _name: str, event: structlog.typing.EventDict) -> str:
    """`time level event name=value …`; a traceback follows on lines of its own."""
    trace = event.pop("exception", None)
    head = [event.pop("timestamp", ""), event.pop("level", "").upper(), escape_text(event.pop("event", ""))]
    rest = [f"{name}={escape_text(value)}" for name, value in event.items()]
    return " ".join([*head, *rest]) + (f"\n{trace}" if trace else "")


def escape_text(value: object) -> str:
    """The value as text on one line, without control characters that a terminal would act on."""
    text = str(value)
    return text if text.isprintable() else repr(text)


class RepeatFilter(logging.Filter):
    """Passes each warning of the same logger and text once a minute, with the number of those held back.

    All other levels always pass.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()
        self.said: dict[tuple[str, str], tuple[float, int]] = {}  # when it was logged, and how often since

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno != logging.WARNING:
            return True
        key, now = (record.name, text_of(record)[:LONGEST]), time.monotonic()
        with self.lock:
            last, held_back = self.said.get(key, (None, 0))
            if last is not None and now - last < REPEAT_SECONDS:
                self.said[key] = last, held_back + 1
                return False
            self.said.pop(key, None)  # to the end: the oldest go first
            self.said[key] = now, 0
            if len(self.said) > MAX_WARNINGS:
                del self.said[next(iter(self.said))]
        if held_back:
            add_note(record, f"{held_back} more times since the last line")
        return True


def text_of(record: logging.LogRecord) -> str:
    """The text of a line without what differs each time: the time and the request."""
    if isinstance(record.msg, dict):
        return str({name: value for name, value in record.msg.items() if name not in OF_ONE_LINE})
    return record.getMessage()


def add_note(record: logging.LogRecord, note: str) -> None:
    if isinstance(record.msg, dict):
        record.msg = {**record.msg, "repeated": note}
    else:
        record.msg, record.args = f"{record.getMessage()} ({note})", ()
