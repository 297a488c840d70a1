"""HTTP client of the contract tests."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from typing import Any

import requests

SECONDS = 90
PERSON = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
)
THERE = "https://example.com/there"
# the contract's own seconds for an outside server; one started here may run on a machine that stalls
PATIENCE = float(os.environ.get("CONTRACT_PATIENCE", "1" if "CONTRACT_URL" in os.environ else "30"))


class Client:
    """One base URL and one key (or none). Redirects are returned, not followed."""

    def __init__(self, url: str, key: str | None) -> None:
        self.url, self.key = url.rstrip("/"), key
        self.session = requests.Session()
        self.session.trust_env = False
        self.made: list[str] = []

    def call(
        self, method: str, path: str, headers: dict[str, str] | None = None, **sent: Any
    ) -> requests.Response:
        """`path` begins after `/api`."""
        mine = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return self.session.request(
            method, f"{self.url}/api{path}", headers={**mine, **(headers or {})},
            allow_redirects=False, timeout=SECONDS, **sent,
        )  # fmt: skip

    def get(self, path: str, **options: Any) -> requests.Response:
        return self.call("GET", path, **options)

    def post(self, path: str, fields: Any = None, **options: Any) -> requests.Response:
        """Sends fields as multipart, as the original description does."""
        parts = [(name, (None, str(value))) for name, value in pairs(fields or {})]
        answer = self.call("POST", path, **({"files": parts} if parts else {}), **options)
        self.remember(path, answer)
        return answer

    def remember(self, path: str, answer: requests.Response) -> None:
        if answer.status_code == 201:
            data = answer.json()["data"]
            self.made += [f"{path.rstrip('/')}/{number}" for number in data.get("ids", [data["id"]])]

    def make(self, path: str, **fields: Any) -> int:
        answer = self.post(path, fields)
        assert answer.status_code == 201, answer.text
        return int(answer.json()["data"]["id"])

    def link(self, **fields: Any) -> int:
        return self.make("/links", **{"location_url": THERE, "url": alias(), **fields})

    def data(self, path: str) -> Any:
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def tidy(self) -> None:
        for path in reversed(self.made):
            self.call("DELETE", path)

    def visit(self, link_id: int, method: str = "GET", more: str = "", **options: Any) -> requests.Response:
        """Opens a link as a human visitor does, without earlier cookies."""
        headers = {"User-Agent": PERSON, **options.pop("headers", {})}
        address = self.data(f"/links/{link_id}")["short_url"] + more
        return requests.request(
            method, address, headers=headers, allow_redirects=False, timeout=SECONDS,
            proxies={"http": "", "https": ""}, **options,
        )  # fmt: skip


def pairs(fields: Any) -> list[tuple[str, Any]]:
    listed = fields.items() if isinstance(fields, dict) else fields
    return [(name, one) for name, value in listed for one in (value if isinstance(value, list) else [value])]


def alias() -> str:
    return f"c-{secrets.token_hex(8)}"


def problem(answer: requests.Response, status: int) -> list[dict[str, Any]]:
    """Checks the shape that every error has; returns its entries."""
    assert answer.status_code == status, (answer.status_code, answer.text)
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert {"type", "title", "status", "detail", "instance", "message", "errors"} <= set(body)
    assert body["status"] == status
    assert body["message"] == body["detail"]
    assert body["errors"]
    assert all({"title", "status", "code"} <= set(one) for one in body["errors"])
    found: list[dict[str, Any]] = body["errors"]
    return found


def fields(answer: requests.Response, status: int = 422) -> set[str]:
    return {str(one.get("field")) for one in problem(answer, status)}


def eventually(wanted: Callable[[], bool], seconds: float) -> bool:
    """Whether it becomes true within so many seconds (times `CONTRACT_PATIENCE`)."""
    until = time.monotonic() + seconds * PATIENCE
    while not wanted():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
