"""Checks of the shape that every error, and every answer, of the API has."""

from __future__ import annotations

from typing import Any

from werkzeug.test import TestResponse


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


def fields(entries: list[dict[str, Any]]) -> set[str]:
    return {entry["field"] for entry in entries}
