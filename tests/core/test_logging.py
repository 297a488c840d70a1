"""Logging: each request leaves one line, without what must not be kept; repeated warnings one line a minute."""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import structlog
from flask.testing import FlaskClient

from app.cli import serve
from app.core import logging as core_logging
from app.core.config import Settings
from app.core.logging import MAX_WARNINGS, RepeatFilter
from tests.clients import Api


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    """The lines that the process writes to stderr in a format."""

    def start(log_format: str, log_level: str = "info") -> Any:
        core_logging.configure(log_format, log_level)
        capsys.readouterr()
        return lambda: lines(capsys)

    yield start
    core_logging.configure("text")


SECRETS = ["q-secret", "192.0.2.9", "r-secret", "agent-secret"]


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_one_line_a_request(api: Api, client: FlaskClient, written: Any, log_format: str) -> None:
    read = written(log_format)
    hidden = {"Referer": "https://r-secret.example/", "User-Agent": "agent-secret", "X-Request-Id": "the-one"}
    elsewhere = {"REMOTE_ADDR": "192.0.2.9"}
    api.get("/links?search=q-secret", headers=hidden, environ_base=elsewhere)
    api.post("/pixels", {"name": "q-secret"}, headers=hidden, environ_base=elsewhere)
    client.get("/nothing/here?q-secret", headers=hidden, environ_base=elsewhere)
    found = read()
    assert len(found) == 3
    for line, path, status in zip(
        found, ["/api/links", "/api/pixels", "/nothing/here"], [200, 422, 404], strict=True
    ):
        assert "the-one" in line
        assert path in line
        assert str(status) in line
        assert not [secret for secret in [*SECRETS, api.key] if secret in line]


def test_json_lines_can_be_read(api: Api, written: Any) -> None:
    read = written("json")
    api.get("/links", headers={"X-Request-Id": "the-one"})
    (line,) = read()
    found = json.loads(line)
    assert found["event"] == "request"
    assert found["request_id"] == "the-one"
    assert (found["method"], found["path"], found["status"], found["user"]) == ("GET", "/api/links", 200, 1)
    assert found["ms"] > 0
    assert found["level"] == "info"


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_path_makes_no_second_line(client: FlaskClient, written: Any, log_format: str) -> None:
    read = written(log_format)
    client.get("/a/%0AERROR%20forged%1b[31m")
    assert len(read()) == 1


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_lines_of_libraries_belong_to_the_request_too(written: Any, log_format: str) -> None:
    read = written(log_format)
    logging.getLogger("some.library").warning("it is %s", "so\nso")
    (line,) = read()
    assert "some.library" in line
    assert "it is" in line


def fail(text: str) -> None:
    raise RuntimeError(len(text))


def test_a_traceback_shows_no_values(written: Any) -> None:
    read = written("text")
    text = "value-secret"
    try:
        fail(text)
    except RuntimeError:
        core_logging.log.exception("failed")
    found = "\n".join(read())
    assert "Traceback" in found
    assert "value-secret" not in found


def test_health_checks_are_logged_at_debug_unless_they_fail(client: FlaskClient, written: Any) -> None:
    read = written("text")
    client.get("/healthz")
    assert read() == []
    assert client.get("/readyz").status_code == 503  # there is no worker
    assert "/readyz" in "".join(read())
    read = written("text", "debug")
    client.get("/healthz")
    assert any("DEBUG request" in line and "/healthz" in line for line in read())


def test_the_level_leaves_out_what_is_below(client: FlaskClient, written: Any) -> None:
    read = written("text", "warning")
    client.get("/nothing")
    core_logging.log.warning("worse")
    (line,) = read()
    assert "WARNING worse" in line


def test_migrations_are_one_line(written: Any) -> None:
    read = written("text")
    logging.getLogger("alembic.runtime.migration").info("Running upgrade a -> b")
    assert read() == []


def test_a_start_in_json_is_all_json_and_holds_no_token(
    settings: Settings, written: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    written("json")
    serve.announce(replace(settings, log_format="json"), "http://127.0.0.1:8000/setup?token=hidden")
    out, err = capsys.readouterr()
    found = [json.loads(line) for line in err.splitlines()]
    assert [one["event"] for one in found] == ["listening", "no account yet"]
    assert out == ""
    assert "hidden" not in err


def test_what_ends_a_thread_or_the_process_is_a_line_too(
    written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((sys, "excepthook"), (threading, "excepthook"), (warnings, "showwarning")):
        monkeypatch.setattr(module, name, getattr(module, name))
    read = written("json")
    core_logging.log_uncaught()
    thread = threading.Thread(target=fail, args=("value-secret",), name="a thread")
    thread.start()
    thread.join()
    sys.excepthook(*error_of(fail, "value-secret"))
    logging.captureWarnings(capture=False)
    found = [json.loads(line) for line in read()]
    assert [one["event"] for one in found] == [
        "a thread ends with an error",
        "the process ends with an error",
    ]
    assert found[0]["thread"] == "a thread"
    assert all("RuntimeError" in one["exception"] for one in found)
    assert all(one["level"] == "critical" for one in found)
    assert "value-secret" not in str(found)


def error_of(function: Callable[..., None], *arguments: object) -> tuple[Any, Any, Any]:
    try:
        function(*arguments)
    except RuntimeError as error:
        return type(error), error, error.__traceback__
    raise AssertionError("it raised nothing")


# --- repeated warnings


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
    monkeypatch.setattr("app.core.logging.time.monotonic", lambda: found[0])
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
        log.warning("handler %s is turned off", name)
    for _ in range(2):
        log.error("it failed")
        log.info("request")
    assert kept.lines == [
        "handler a is turned off",
        "handler b is turned off",
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


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_the_line_of_a_request_is_as_others(written: Any, log_format: str) -> None:
    """It is written by a shorter way, with the same fields in the same order."""
    read = written(log_format)
    fields = {"method": "GET", "path": "/api/links", "status": 200, "ms": 1.5, "user": 7}
    with structlog.contextvars.bound_contextvars(request_id="the-one"):
        core_logging.log.info("request", **fields)
        core_logging.log_event(logging.INFO, "request", fields)
    usual, short = (re.sub(r"[0-9:.T-]{26,27}Z", "now", line) for line in read())
    assert short == usual


def test_the_line_of_a_request_is_left_out_below_its_level(written: Any) -> None:
    read = written("text", "warning")
    core_logging.log_event(logging.INFO, "request", {"status": 200})
    assert not read()
