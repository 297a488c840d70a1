"""Pages of the audit log: owners see their own entries, admins the instance's, and both can download them."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import re

import pytest
from flask import Flask
from sqlalchemy import insert
from wtforms.fields.core import UnboundField

from app.accounts import keys
from app.accounts.forms import AccountForm, WorkspaceForm
from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.analytics.statistics import TYPES
from app.audit.models import AuditEntry
from app.core.clock import now
from app.dashboard.admin import audit_log
from app.dashboard.statistics.views import CLICKS
from app.domains import services as domains
from app.domains.forms import DomainForm
from app.input.forms import ResourceForm
from app.notifications.forms import HandlerForm
from tests.dashboard.conftest import Desk

OWN, INSTANCE = "/account/audit-log", "/instance/audit-log"


@pytest.fixture
def bobs(app: Flask, bob: User) -> Desk:
    """Bob's dashboard. Bob is no admin."""
    return Desk(app.test_client(), bob.email).sign_in()


def labels(page: str) -> list[str]:
    return re.findall(r'<span class="badge [a-z]*">([^<]+)</span>', page)


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


def test_an_owner_sees_their_own_entries_alone(desk: Desk, bobs: Desk, make_key, bob: User) -> None:
    make_key(bob, name="zz-deploy")
    page = bobs.get(OWN).text
    assert labels(page) == ["API key created", "Signed in", "User created"]
    assert "zz-deploy" in page
    assert "alice@example.com" not in page
    assert bobs.get(INSTANCE).status_code == 404
    assert bobs.get(f"{INSTANCE}/file.csv").status_code == 404


def test_an_admin_sees_the_instance_without_what_owners_keep(
    desk: Desk, bob: User, make_handler, make_link, session
) -> None:
    domains.create(access_of(bob), {"host": "secret-project.example"})
    session.commit()
    page = desk.get(INSTANCE).text
    assert "Domain created" in page
    assert "secret-project" not in page
    assert "secret-project" not in desk.get(f"{INSTANCE}/file.csv").text
    assert "secret-project" not in desk.get(f"{INSTANCE}/file.ndjson").text


def test_an_owner_does_not_see_who_else_did_it(desk: Desk, bobs: Desk, bob: User) -> None:
    environ = {"REMOTE_ADDR": "203.0.113.77"}
    desk.post(f"/users/{bob.id}/admin", {}, environ_overrides=environ)
    page, file = bobs.get(OWN).text, bobs.get(f"{OWN}/file.csv").text
    assert "Made admin" in page
    assert "Another user of this Waypost" in page
    for seen in (page, file):
        assert "alice@example.com" not in seen
        assert "203.0.113" not in seen
    instance = desk.get(INSTANCE).text
    assert "alice@example.com" in instance
    assert "203.0.113.0/24" in instance


FILTERS = {
    "by kind": ("group=keys", ["API key created"]),
    "by another kind": ("group=domains", []),
    "from tomorrow": (f"from={now() + dt.timedelta(days=2):%Y-%m-%d}", []),
    "until the day before yesterday": (f"until={now() - dt.timedelta(days=2):%Y-%m-%d}", []),
    "today": (f"from={now() - dt.timedelta(days=1):%Y-%m-%d}&group=keys", ["API key created"]),
}


@pytest.mark.parametrize("path", [OWN, INSTANCE])
def test_filters(desk: Desk, alice: User, make_key, path: str) -> None:
    make_key(alice)
    for name, (query, wanted) in FILTERS.items():
        assert labels(desk.get(f"{path}?{query}").text) == wanted, name
        file = desk.get(f"{path}/file.csv?{query}").text
        assert [row["action"] for row in csv_rows(file)] == ["api_key.created"] * len(wanted), name


def test_files_hold_every_entry_and_no_formula(desk: Desk, alice: User, session) -> None:
    for name in ("=1+1", "@SUM(A1)", "plain"):
        keys.create_key(access_of(alice), name)
    entry = {"action": "sign_out", "account_id": alice.id, "datetime": now() - dt.timedelta(days=1)}
    session.execute(insert(AuditEntry), [entry] * 2500)
    session.commit()
    answer = desk.get(f"{OWN}/file.csv")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="audit-log.csv"'
    rows = csv_rows(answer.text)
    names = [row["object_name"] for row in rows if row["action"] == "api_key.created"]
    assert names == ["plain", "'@SUM(A1)", "'=1+1"]
    assert len([row for row in rows if row["action"] == "sign_out"]) == 2500
    lines = [json.loads(line) for line in desk.get(f"{OWN}/file.ndjson").text.splitlines()]
    # the second file has an entry about the download of the first
    assert [line["action"] for line in lines][:2] == ["audit_log.exported"] * 2
    assert len(lines) == len(rows) + 1
    assert desk.get(f"{OWN}/file.exe").status_code == 422


@pytest.mark.parametrize(
    "form", [HandlerForm, DomainForm, AccountForm, WorkspaceForm], ids=lambda form: form.__name__
)
def test_every_field_of_a_form_has_a_label(form: type[ResourceForm]) -> None:
    own = {name for name in vars(form) if isinstance(getattr(form, name), UnboundField)}
    assert own and not own - audit_log.LABELS.keys() - {"password", "current_password"}


@pytest.mark.parametrize("report", [*TYPES, CLICKS])
def test_every_report_has_a_word(report: str) -> None:
    assert report in audit_log.VALUES["report"]
