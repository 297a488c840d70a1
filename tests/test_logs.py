"""Does each request leave one line in the log, and nothing in it that must not be kept?"""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from flask.testing import FlaskClient

from app import logs
from tests.clients import Api


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Any:
    """What the process writes to stderr with a format, line by line."""

    def start(log_format: str) -> Any:
        logs.configure(log_format)
        capsys.readouterr()
        return lambda: lines(capsys)

    return start


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
        logs.log.exception("failed")
    found = "\n".join(read())
    assert "Traceback" in found
    assert "value-secret" not in found
