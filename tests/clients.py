"""Test clients that share no session with the test: for pages, and for the API."""

from __future__ import annotations

import contextvars
from typing import Any

from flask import has_app_context
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.core.extensions import db


class ApartClient(FlaskClient):
    """A client whose requests share nothing with the test: no application context, no session.

    What the test has written is committed before the request, and what it knows of rows is read anew
    after it, as between two real processes. Answers are read whole, so that no file stays open.
    """

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        if has_app_context():
            db.session.commit()
        kwargs.setdefault("buffered", True)
        return contextvars.Context().run(super().open, *args, **kwargs)


class Api:
    """A client of the JSON API with one key. Paths begin after `/api`: `api.get("/links/1")`."""

    def __init__(self, client: FlaskClient, key: str | None) -> None:
        self.client = client
        self.key = key

    def open(
        self, method: str, path: str, headers: dict[str, str] | None = None, **kwargs: Any
    ) -> TestResponse:
        mine = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return self.client.open(f"/api{path}", method=method, headers={**mine, **(headers or {})}, **kwargs)

    def get(self, path: str, **kwargs: Any) -> TestResponse:
        return self.open("GET", path, **kwargs)

    def post(self, path: str, data: Any = None, json: Any = None, **kwargs: Any) -> TestResponse:
        """`data` (a mapping, or bytes with a `content_type`) goes as multipart, `json` as JSON."""
        if json is not None:
            return self.open("POST", path, json=json, **kwargs)
        if data is not None:
            kwargs.setdefault("content_type", "multipart/form-data")
        return self.open("POST", path, data=data, **kwargs)

    def delete(self, path: str, **kwargs: Any) -> TestResponse:
        return self.open("DELETE", path, **kwargs)
