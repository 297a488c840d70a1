"""Checks of the shape that every error, and every answer, of the API has; and races for one."""

from __future__ import annotations

from typing import Any

from flask import Flask
from werkzeug.test import TestResponse

from tests.clients import Api
from tests.threads import at_once


def problem(answer: TestResponse, status: int) -> list[dict[str, Any]]:
    """Checks the shape that all errors have; returns its entries."""
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json
    assert list(body) == ["type", "title", "status", "detail", "instance", "message", "errors"]
    assert isinstance(body["type"], str)
    assert body["title"]
    assert body["status"] == status
    assert body["message"] == body["detail"] != ""
    assert body["instance"] == answer.request.path
    assert body["errors"]
    for entry in body["errors"]:
        assert set(entry) | {"field"} == {"title", "status", "field", "code"}
        assert entry["status"] == status
        assert entry["title"]
        assert entry["code"]
    always(answer)
    return list(body["errors"])


def always(answer: TestResponse) -> None:
    """Checks the headers that every answer of the API has."""
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Request-Id"]
    assert "RateLimit" in answer.headers
    assert "RateLimit-Policy" in answer.headers
    assert not [name for name, _ in answer.headers if name.startswith("Access-Control")]


def race(
    app: Flask,
    api: Api,
    count: int,
    sent: dict[str, str],
    headers: dict[str, str] | None = None,
    path: str = "/links",
) -> list[TestResponse]:
    """The answers to the same request from `count` threads at once."""
    clients = [Api(app.test_client(), api.key) for _ in range(count)]
    return at_once(lambda mine: mine.post(path, sent, headers=headers), clients)


def fields(entries: list[dict[str, Any]]) -> set[str]:
    return {entry["field"] for entry in entries}
