"""Reauthentication: keys, exports and deletions need a password typed within the last ten minutes."""

from __future__ import annotations

import datetime as dt
import html
import re
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
import time_machine

from app.accounts.models import ApiKey, User
from app.accounts.workspaces import access_of
from app.core.clock import now
from app.core.extensions import db
from app.dashboard.auth.reauthentication import RECENT
from app.import_export.models import LinkImport
from app.links.models import Link
from app.trash.models import Trashed
from tests.dashboard.conftest import HTMX, Desk
from tests.factories import PASSWORD, Factory

LATER = RECENT + dt.timedelta(seconds=1)
FIELD = 'name="own_password"'


def count(model: Any) -> int:
    db.session.rollback()
    return int(db.session.query(model).count())


@pytest.fixture
def rows(alice: User, bob: User, factory: Factory, desk: Desk) -> dict[str, Any]:
    """One row of each kind, all owned by alice, and a link in the trash."""
    made = {
        "link": factory.link(alice).id,
        "pixel": factory.pixel(alice).id,
        "handler": factory.handler(alice).id,
        "project": factory.project(alice).id,
        "domain": factory.domain(alice).id,
        "key": factory.key(alice)[0].id,
        "bob": bob.id,
    }
    gone = factory.link(alice)
    assert desk.post(f"/links/{gone.id}/delete", {}).status_code == 303
    return {**made, "trashed": db.session.query(Trashed).one().id}


# each: the page with the form, which is also the form's action, and the other fields that it sends
FORMS: dict[str, tuple[str, dict[str, str]]] = {
    "create a key": ("/keys/new", {"name": "new", "scope": "read"}),
    "revoke a key": ("/keys/{key}/revoke", {}),
    "delete a link": ("/links/{link}/delete", {}),
    "delete a pixel": ("/pixels/{pixel}/delete", {}),
    "delete a handler": ("/handlers/{handler}/delete", {}),
    "delete a project": ("/projects/{project}/delete", {}),
    "delete a domain": ("/domains/{domain}/delete", {}),
    "delete for good": ("/trash/{trashed}/delete", {}),
    "empty the trash": ("/trash/empty", {}),
    "delete a user": ("/users/{bob}/delete", {}),
    "disable a user": ("/users/{bob}/disable", {}),
    "make a user admin": ("/users/{bob}/admin", {}),
    "invite somebody": ("/users/invitations/new", {"email": "eve@example.com"}),
}


@pytest.mark.parametrize(("name", "headers"), [*zip(FORMS, cycle([{}, HTMX]), strict=False)])
def test_a_form_asks_for_the_password(
    desk: Desk, rows: dict[str, Any], name: str, headers: dict[str, str], database_state: Callable[[], Any]
) -> None:
    path, sent = FORMS[name]
    path = path.format(**rows)
    assert FIELD not in desk.get(path, headers=headers).text, "it was typed a moment ago"
    with time_machine.travel(now() + LATER):
        assert FIELD in desk.get(path, headers=headers).text
        before = database_state()
        for password, problem in (
            (None, "You last typed it more than 10 minutes ago."),
            ("", "can&#39;t be empty"),
            ("a guess", "not your current password"),
        ):
            data = sent if password is None else {**sent, "own_password": password}
            answer = desk.post(path, data, headers=headers)
            assert (answer.status_code, problem in answer.text, FIELD in answer.text) == (422, True, True)
            assert all(f'value="{value}"' in answer.text for key, value in sent.items() if key != "scope")
        assert database_state() == before
        answer = desk.post(path, {**sent, "own_password": PASSWORD}, headers=headers)
        assert answer.status_code in {200, 303}
        assert FIELD not in answer.text
        assert database_state() != before


@pytest.fixture
def database_state() -> Callable[[], Any]:
    """Everything in the database that a form of FORMS could change."""

    def read() -> Any:
        db.session.rollback()
        tables = ["link", "pixel", "notification_handler", "project", "domain", "trashed", "invitation"]
        counts = [db.session.execute(db.text(f"SELECT count(*) FROM {name}")).scalar() for name in tables]
        users = db.session.query(User.is_admin, User.disabled_datetime, User.deleted_datetime).all()
        keys = db.session.query(ApiKey.revoked_datetime).all()
        return counts, sorted(map(str, users)), sorted(map(str, keys))

    return read


def test_typed_once_it_holds_for_ten_minutes(desk: Desk, rows: dict[str, Any]) -> None:
    with time_machine.travel(now() + LATER) as moment:
        key = {"name": "one", "scope": "read"}
        assert desk.post("/keys/new", {**key, "own_password": PASSWORD}).status_code == 200
        moment.shift(RECENT - dt.timedelta(seconds=2))
        assert desk.post("/keys/new", key).status_code == 200
        moment.shift(3)
        assert desk.post("/keys/new", key).status_code == 422


# --------------------------------------------------------------------- bulk


class TestMany:
    def select(self, desk: Desk, links: list[Link], do: str = "delete") -> dict[str, str]:
        page = desk.post("/links/many", {"do": do, "ids": ",".join(str(link.id) for link in links)})
        return hidden(page.text)

    def test_deleting_asks(self, desk: Desk, alice: User, factory: Factory) -> None:
        links = [factory.link(alice) for _ in range(3)]
        with time_machine.travel(now() + LATER):
            sent = self.select(desk, links)
            assert "own_password" in sent
            assert desk.post("/links/many/go", sent).status_code == 422
            assert desk.post("/links/many/go", {**sent, "own_password": "a guess"}).status_code == 422
            assert count(Link) == 3
            assert desk.post("/links/many/go", {**sent, "own_password": PASSWORD}).status_code == 303
            assert count(Link) == 0

    def test_changing_does_not(self, desk: Desk, alice: User, factory: Factory) -> None:
        with time_machine.travel(now() + LATER):
            sent = self.select(desk, [factory.link(alice)], "change")
            assert "own_password" not in sent
            assert desk.post("/links/many/go", {**sent, "is_enabled": "0"}).status_code == 303

    def test_what_was_begun_goes_on_however_long_it_takes(
        self, desk: Desk, alice: User, factory: Factory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("app.dashboard.links.bulk.SECONDS", -1)
        monkeypatch.setattr("app.dashboard.links.bulk.bulk_edit.BATCH_SIZE", 1)
        links = [factory.link(alice) for _ in range(3)]
        first = desk.post("/links/many/go", self.select(desk, links))
        assert count(Link) == 2
        sent = hidden(first.text)
        with time_machine.travel(now() + LATER):
            forged = {**sent, "permit": "WzFd.aaaa.bbbb"}
            assert desk.post("/links/many/go", forged).status_code == 422
            assert desk.post("/links/many/go", {**sent, "permit": ""}).status_code == 422
            assert count(Link) == 2
            assert desk.post("/links/many/go", sent).status_code == 200
            assert count(Link) == 1


def hidden(page: str) -> dict[str, str]:
    """The named inputs of a page's form, as they would be sent."""
    found = re.findall(r'<input[^>]*\bname="([a-z_]+)"[^>]*\bvalue="([^"]*)"', page)
    return {name: html.unescape(value) for name, value in found if name != "csrf_token"}


# ------------------------------------------------------------------------ downloads

FILES = {
    "links as CSV": "/links/export.csv?search=a&page=2",
    "links as JSON": "/links/export.json",
    "statistics": "/statistics/export.csv?type=overview",
    "single visits": "/statistics/export.csv?type=clicks",
    "audit log": "/account/audit-log/file.csv",
    "audit log of the workspace": "/workspace/audit-log/file.csv",
    "audit log of the instance": "/instance/audit-log/file.ndjson",
}


ELSEWHERE = [
    "",
    "https://evil.example/",
    "//evil.example",
    "/promo",
    "/dashboard/../promo",
    "/dashboard/a\r\nX: y",
    "/dashboard/export.csv/../../promo",
    "javascript:alert(1)",
    "/dashboard\\evil",
]


class TestDownloads:
    @pytest.mark.parametrize("name", FILES)
    def test_a_file_comes_after_the_password(self, desk: Desk, name: str) -> None:
        path = FILES[name]
        assert "attachment" in desk.get(path).headers["Content-Disposition"]
        with time_machine.travel(now() + LATER):
            page = desk.get(path)
            assert (page.status_code, "Content-Disposition" in page.headers) == (403, False)
            sent = hidden(page.text)
            assert sent["next"] == f"/dashboard{path}"
            wrong = desk.post("/account/password-again", {**sent, "own_password": "a guess"})
            assert (wrong.status_code, "not your current password" in wrong.text) == (422, True)
            assert hidden(wrong.text)["next"] == sent["next"]
            assert desk.get(path).status_code == 403
            done = desk.post("/account/password-again", {**sent, "own_password": PASSWORD})
            assert (done.status_code, done.headers["Refresh"]) == (200, f"0; url={sent['next']}")
            assert "attachment" in desk.get(path).headers["Content-Disposition"]

    def test_so_do_failed_rows(self, desk: Desk, session: Any, alice: User) -> None:
        job = LinkImport(**access_of(alice).row_columns, name="links.csv", file="0" * 32 + ".csv")
        session.add(job)
        session.commit()
        path = f"/imports/{job.id}/failed.csv"
        assert "attachment" in desk.get(path).headers["Content-Disposition"]
        with time_machine.travel(now() + LATER):
            page = desk.get(path)
            assert (page.status_code, hidden(page.text)["next"]) == (403, f"/dashboard{path}")

    def test_so_does_that_of_everything(self, desk: Desk) -> None:
        with time_machine.travel(now() + LATER):
            assert FIELD in desk.get("/account/data").text
            for headers in ({}, HTMX):
                assert desk.post("/account/data", {}, headers=headers).status_code == 422
            assert desk.post("/account/data", {"own_password": PASSWORD}).status_code == 303

    def test_it_leads_nowhere_else(self, desk: Desk) -> None:
        for address in ELSEWHERE:
            sent = {"next": address, "own_password": PASSWORD}
            answer = desk.post("/account/password-again", sent)
            assert (answer.status_code, "Refresh" in answer.headers) == (404, False), address


def test_every_export_and_deletion_of_the_dashboard_is_among_these(app: Any) -> None:
    """A new page that deletes or exports must ask for the password too, and must be added here."""
    known = {"users_change", "links_many_go", "account_delete", "passkeys_new", "workspace_revoke"}
    known |= {"workspace_delete"}  # asks for the password each time
    found = {
        rule.endpoint.removeprefix("dashboard.").removesuffix("_write")
        for rule in app.url_map.iter_rules()
        if re.search(r"delete|revoke|empty|export|/file|/failed|keys/new", rule.rule)
        and rule.rule.startswith("/dashboard/")
    }
    assert found - known == {
        "shares_revoke",
        "keys_new",
        "keys_revoke",
        "links_delete",
        "pixels_delete",
        "handlers_delete",
        "projects_delete",
        "domains_delete",
        "trash_erase",
        "trash_empty",
        "links_export",
        "imports_failed",
        "statistics_file",
        "links_statistics_file",
        "projects_statistics_file",
        "account_data_file",
        "account_audit_log_file",
        "workspace_audit_log_file",
        "instance_audit_log_file",
        "invitations_revoke",
    }
