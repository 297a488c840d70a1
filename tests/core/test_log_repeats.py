"""Repeated warnings: one line a minute."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from app.core.log_repeats import MAX_WARNINGS, RepeatFilter


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.addFilter(RepeatFilter())

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(str(record.msg) if isinstance(record.msg, dict) else record.getMessage())


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    handler = Kept()
    logger = logging.getLogger("waypost.repeats")
    logger.propagate = False
    monkeypatch.setattr(logger, "level", logging.INFO)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


@pytest.fixture
def log(kept: Kept) -> logging.Logger:
    return logging.getLogger("waypost.repeats")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found = [1000.0]
    monkeypatch.setattr("app.core.log_repeats.time.monotonic", lambda: found[0])
    return found


def test_once_a_minute_and_then_how_often(log: logging.Logger, kept: Kept, clock: list[float]) -> None:
    for _ in range(5):
        log.warning("no answer from %s", "redis")
    clock[0] += 59
    log.warning("no answer from redis")
    assert kept.lines == ["no answer from redis"]
    clock[0] += 1
    log.warning("no answer from redis")
    assert kept.lines[1:] == ["no answer from redis (5 more times since the last line)"]
    clock[0] += 60
    log.warning("no answer from redis")
    assert kept.lines[2:] == ["no answer from redis"]


def test_another_warning_and_every_error_pass(log: logging.Logger, kept: Kept, clock: list[float]) -> None:
    for name in ("a", "b", "a"):
        log.warning("handler %s is switched off", name)
    for _ in range(2):
        log.error("it failed")
        log.info("request")
    assert kept.lines == [
        "handler a is switched off",
        "handler b is switched off",
        *["it failed", "request"] * 2,
    ]


def test_events_are_compared_without_their_time_and_request(
    log: logging.Logger, kept: Kept, clock: list[float]
) -> None:
    for number in range(3):
        log.warning({"event": "full disk", "timestamp": str(number), "request_id": str(number)})
    clock[0] += 61
    log.warning({"event": "full disk", "timestamp": "9", "request_id": "9"})
    assert len(kept.lines) == 2
    assert "2 more times" in kept.lines[1]


def test_so_many_are_remembered_and_no_more(log: logging.Logger, kept: Kept, clock: list[float]) -> None:
    for number in range(MAX_WARNINGS + 10):
        log.warning("odd %d", number)
    [own] = [one for one in kept.filters if isinstance(one, RepeatFilter)]
    assert len(own.said) == MAX_WARNINGS
    log.warning("odd 0")
    assert kept.lines[-1] == "odd 0"
