"""`flask seed`: the demo account is complete, the same each time, and never replaces a real account."""

from __future__ import annotations

import datetime as dt
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import time_machine
from click.testing import Result
from flask import Flask
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.accounts import keys, services
from app.accounts.models import User
from app.analytics.models import Click, Counter
from app.domains.models import Domain
from app.links.forms import LinkForm
from app.links.models import Alias, Link
from app.links.targeting import TYPES
from app.notifications.models import NotificationHandler
from app.notifications.transport import chosen_transports
from app.operations.demo.links import CONTENT
from app.pixels.models import Pixel
from app.pixels.provider import all_providers
from app.projects.models import Project
from tests.users import create_user

NOW = dt.datetime(2026, 11, 20, 15, 30, tzinfo=dt.UTC)
SMALL = ("--clicks", "400", "--days", "30")
# fields that only the API and browser forms send
NOT_STORED = {"type", "is_bulk", "location_urls", "password", "pixels_ids", "email_reports", "tags"}

Seed = Callable[..., Result]


@pytest.fixture(autouse=True)
def _a_day() -> Iterator[None]:
    with time_machine.travel(NOW):
        yield


@pytest.fixture
def seed(app: Flask, session: Session) -> Seed:
    def run(*arguments: str) -> Result:
        session.rollback()
        done = app.test_cli_runner().invoke(args=["seed", *arguments])
        session.rollback()
        return done

    return run


def said(done: Result, what: str) -> str:
    found = re.search(rf"^{what}: +(\S+)$", done.stdout, re.MULTILINE)
    assert found, done.output
    return found[1]


LINK_KEYS = {
    *("url", "page", "title", "project", "share", "launch", "most", "until", "fields", "later", "moments"),
    *("later_moments", "attached", "targeting"),
}


def test_every_row_of_the_table_says_what_is_read() -> None:
    for row in CONTENT["links"]:
        needed = {"url", "targeting"} if "targeting" in row else {"url", "page", "title"}
        assert needed <= row.keys() <= LINK_KEYS, row
        assert row.get("attached") in {None, "domain", "pictures", "pixels", "handlers"}, row
    for kind in ("lands", "agents", "referrers", "campaigns", "bots"):
        assert all(row["weight"] > 0 and row.keys() == CONTENT[kind][0].keys() for row in CONTENT[kind]), kind


class TestTheDemo:
    def test_says_how_to_get_in(self, seed: Seed, session: Session) -> None:
        done = seed("--email", "Demo@example.org", *SMALL)
        assert (done.exit_code, done.stderr) == (0, "")
        user = services.authenticate(said(done, "E-mail"), said(done, "Password"))
        key = keys.find_key(said(done, "API key"))
        assert said(done, "Sign in") == "http://127.0.0.1:8000/login"
        assert user is not None
        assert key is not None
        assert (key.user, user.email, user.is_admin) == (user, "demo@example.org", True)

    def test_has_as_many_links_and_clicks_as_asked_for(self, seed: Seed, session: Session) -> None:
        assert "45 links, 400 clicks and " in seed("--links", "45", *SMALL).stdout
        assert session.scalar(select(func.count()).select_from(Link)) == 45
        assert session.scalar(select(func.sum(Counter.clicks))) == 400
        assert session.scalar(select(func.count()).where(~Click.is_bot)) == 400
        assert (session.scalar(select(func.count()).where(Click.is_bot)) or 0) > 0

    def test_uses_every_field_of_a_link(self, seed: Seed, session: Session) -> None:
        seed(*SMALL)
        links = list(session.scalars(select(Link)))
        blank = Link()
        fields = [
            name
            for name in LinkForm(None, owner=None)._fields
            if hasattr(Link, name) and name not in NOT_STORED
        ]
        unused = [
            name
            for name in fields
            if all(getattr(link, name) in {getattr(blank, name), None, False} for link in links)
        ]
        assert [name for name in unused if name not in {"is_enabled", "http_status_code"}] == []
        assert {link.http_status_code for link in links} == {301, 302, 307, 308}
        assert {link.targeting_type for link in links} == {None, *TYPES}
        assert [link.url for link in links if not link.is_enabled] == ["old-shop"]
        assert any(link.password_hash for link in links)
        assert any(link.tag_rows for link in links)
        assert max(len(link.pixels) for link in links) == len(all_providers())
        assert max(len(link.handlers) for link in links) == len(chosen_transports())

    def test_has_every_pixel_and_every_handler_and_tells_no_one(self, seed: Seed, session: Session) -> None:
        seed(*SMALL)
        assert sorted(session.scalars(select(Pixel.type))) == sorted(all_providers())
        handlers = list(session.scalars(select(NotificationHandler)))
        assert sorted(handler.type for handler in handlers) == sorted(chosen_transports())
        assert not any(handler.is_enabled for handler in handlers)
        addresses = [value for handler in handlers for value in handler.settings.values() if "//" in value]
        assert all(address.startswith("https://example.com/") for address in addresses)

    @pytest.mark.databases
    def test_run_again_it_replaces_the_account(self, seed: Seed, session: Session, bob: User) -> None:
        before = seed(*SMALL)
        after = seed("--links", "12", *SMALL)
        assert after.exit_code == 0
        assert [user.email for user in services.list_users()] == [
            "alice@example.com",
            "bob@example.com",
            "demo@example.com",
        ]
        assert keys.find_key(said(before, "API key")) is None
        assert keys.find_key(said(after, "API key")) is not None
        user = services.list_users()[-1]
        for model, count in [
            (Link, 12),
            (Pixel, 9),
            (NotificationHandler, len(chosen_transports())),
            (Project, 3),
            (Domain, 1),
            (Alias, 12),
        ]:
            assert session.scalar(select(func.count()).select_from(model)) == count, model
        mine = (Click.workspace_id == user.id, ~Click.is_bot)
        assert session.scalar(select(func.count()).where(*mine)) == 400

    def test_an_admin_stays_one(self, seed: Seed, session: Session) -> None:
        seed(*SMALL)
        create_user("bob@example.com", "correct horse battery staple")
        session.commit()
        seed(*SMALL)
        assert {user.email: user.is_admin for user in services.list_users()} == {
            "bob@example.com": False,
            "demo@example.com": True,
        }


def test_no_line_of_the_audit_log_hides_how_to_sign_in(
    seed: Seed, session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert seed(*SMALL).exit_code == 0
    assert [line.message for line in caplog.records if line.name == "waypost.audit"] == []


def test_an_account_of_a_person_is_left_alone(
    seed: Seed, session: Session, alice: User, make_link: Callable[..., Link]
) -> None:
    make_link(alice, "mine")
    done = seed("--email", "ALICE@example.com", *SMALL)
    assert done.exit_code == 1
    assert "has an account that no seed has made" in done.stderr
    assert [link.url for link in session.scalars(select(Link))] == ["mine"]


def test_nor_is_one_that_has_a_demos_address(seed: Seed, session: Session) -> None:
    seed(*SMALL, "--links", "1")
    demo = services.list_users()[0]
    session.delete(demo)
    session.commit()
    create_user("demo@example.com", "correct horse battery staple")
    session.commit()
    assert seed(*SMALL).exit_code == 1


def test_pictures_go_with_the_demo_that_had_them(seed: Seed, session: Session, data_dir: Path) -> None:
    for _ in range(2):
        seed(*SMALL)
        assert len([path for path in (data_dir / "uploads").iterdir() if path.is_file()]) == 2


@pytest.mark.parametrize("arguments", [("--links", "0"), ("--clicks", "-1"), ("--days", "0"), ("--rng", "x")])
def test_what_makes_no_sense_is_refused(seed: Seed, session: Session, arguments: tuple[str, str]) -> None:
    assert seed(*arguments).exit_code == 2
    assert services.list_users() == []


def test_an_address_that_is_none_is_refused(seed: Seed, session: Session) -> None:
    done = seed("--email", "nonsense")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "email: " in done.stderr


def test_the_least_is_enough(seed: Seed, session: Session) -> None:
    assert seed("--links", "1", "--clicks", "0", "--days", "1").exit_code == 0
    assert session.scalar(select(func.count()).select_from(Link)) == 1
