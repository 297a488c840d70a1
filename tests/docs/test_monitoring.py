"""docs/monitoring.md: each metric is in its table, and each field of log lines is written as it says."""

from __future__ import annotations

import ast
import json
import re
import threading
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.accounts import keys
from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core import logging as core_logging
from app.core.extensions import db
from app.core.folders import ROOT
from app.operations.exposition import METRICS, PREFIX
from tests.clients import Api
from tests.docs.pages import names_after, rows_after, text_of

PAGE = "monitoring.md"


def test_every_metric_is_in_the_table() -> None:
    rows = [[name.strip("`"), kind, says] for name, kind, says in rows_after(PAGE, "metrics")]
    assert rows == [[PREFIX + metric.name, metric.kind, metric.help] for metric in METRICS]


@pytest.fixture
def written(
    api: Api, app: Flask, client: FlaskClient, alice: User, capsys: pytest.CaptureFixture[str]
) -> list[dict[str, Any]]:
    """The lines of requests with and without an account, of an audited change, and of an error in a thread."""
    core_logging.configure("json")
    capsys.readouterr()
    try:
        api.get("/links", headers={"X-Request-Id": "the-one"})
        client.get("/none")
        with app.test_request_context(headers={"X-Request-Id": "another"}):
            app.preprocess_request()
            keys.create_key(access_of(alice), "laptop")
            db.session.commit()
        api.post("/domains", {"host": "go.example"})
        thread = threading.Thread(target=lambda: None)
        error = ValueError("wrong")
        core_logging.log_thread_exception(threading.ExceptHookArgs([ValueError, error, None, thread]))
    finally:
        core_logging.configure("text")
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def fields(kind: str) -> set[str]:
    return set(names_after(PAGE, f"log fields: {kind}"))


def test_every_line_has_the_fields_that_the_page_names(written: list[dict[str, Any]]) -> None:
    of_requests = [line for line in written if "method" in line or line["event"] == "audit"]
    assert len(of_requests) >= 4
    assert all(fields("every line") <= line.keys() for line in of_requests)
    assert all(fields("every line") - {"request_id"} <= line.keys() for line in written)


def test_a_request_has_these_fields_and_no_other(written: list[dict[str, Any]]) -> None:
    found = [line for line in written if line["event"] == "request"]
    known = fields("every line") | fields("request")
    assert {name for line in found for name in line} == known
    assert all(line.keys() >= known - {"user"} for line in found)


def test_an_audited_change_has_no_other_fields(written: list[dict[str, Any]]) -> None:
    found = [line for line in written if line["event"] == "audit"]
    assert found
    names = {name for line in found for name in line} - fields("every line")
    assert {"action", "account_id"} <= names <= fields("audit")


def test_audit_fields_are_those_that_the_code_logs() -> None:
    from app.audit import services

    logged = set(services.LOGGED) - {"request_id"} | {"action", "changes"}
    assert fields("audit") == logged


def keywords_of_logging() -> set[str]:
    """The names of keyword arguments of all calls that write a line."""
    found = set()
    for path in sorted((ROOT / "app").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                target = node.func.value
                if isinstance(target, ast.Name) and target.id == "log":
                    found |= {keyword.arg for keyword in node.keywords if keyword.arg}
    return found - {"exc_info", "extra", "stacklevel"}


def test_every_field_of_the_code_is_on_the_page() -> None:
    documented = set().union(*(fields(kind) for kind in ("every line", "request", "audit", "others")))
    assert sorted(keywords_of_logging() - documented) == []
    assert fields("others") - {"exception", "repeated"} <= keywords_of_logging()


def test_every_attribute_of_a_span_is_on_the_page() -> None:
    """As the modules that begin spans spell them; what a process says of itself is not among them."""
    texts = [path.read_text() for path in ROOT.glob("app/**/*.py")]
    named = re.compile(r'"((?:http|db|error|waypost)\.[a-z_.]+)":|set_attribute\("([a-z.]+)"')
    used = {"".join(name) for text in texts if re.search(r"tracing\b", text) for name in named.findall(text)}
    rows = text_of(PAGE).partition("<!-- spans -->\n")[2].partition("\n## ")[0]
    written = set(re.findall(r"`((?:http|db|error|waypost)\.[a-z_.]+)`", rows))
    assert written == used - {"waypost.process"}
