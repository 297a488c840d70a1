"""`flask seed`: the demo account is complete, the same each time, and never replaces a real account."""

from __future__ import annotations

import datetime as dt
import logging
import re
from collections import Counter as Count
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import time_machine
from click.testing import Result
from flask import Flask
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.accounts import keys, services
from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.analytics.models import Click, Counter, Term
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


def content(session: Session) -> list[Any]:
    """The content of the account, without ids and what is random each time."""
    user = services.list_users()[-1]
    links = list(
        session.scalars(
            select(Link).where(Link.workspace_id == access_of(user).workspace_id).order_by(Link.id)
        )
    )
    names = {link.id: link.title for link in links}
    columns = [
        name
        for name in LinkForm(None, owner=access_of(user))._fields
        if hasattr(Link, name) and not name.startswith("cloaking_")
    ]
    shown = [
        [getattr(link, name) for name in columns if name not in {"url", "project_id", "domain_id"}]
        for link in links
    ]
    terms = {term.id: term.value for term in session.scalars(select(Term))}
    clicks = session.scalars(select(Click).where(Click.user_id == user.id).order_by(Click.id))
    visits = [
        (
            names[c.link_id],
            c.time_ms,
            c.visitor,
            *(
                terms.get(getattr(c, f"{name}_id"))
                for name in (
                    "country_code",
                    "city_name",
                    "agent",
                    "referrer_host",
                    "utm_source",
                    "destination",
                )
            ),
        )
        for c in clicks
    ]
    return [shown, visits]


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


@pytest.mark.databases
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

    def test_has_life(self, seed: Seed, session: Session) -> None:
        seed("--clicks", "3000", "--days", "60")
        clicks = list(session.scalars(select(Click).where(~Click.is_bot).order_by(Click.id)))
        times = [dt.datetime.fromtimestamp(click.time_ms / 1000, dt.UTC) for click in clicks]
        assert times == sorted(times)
        assert NOW - dt.timedelta(days=60, seconds=1) <= times[0]
        assert times[-1] <= NOW
        on_weekends = sum(time.weekday() > 4 for time in times)
        assert on_weekends < len(times) * 0.2  # of 2/7 of the days
        visitors = {click.visitor for click in clicks}
        assert len(visitors) < len(clicks)
        assert len(visitors) < len({(click.visitor, click.link_id) for click in clicks})  # some see two links
        for name in (
            "country_code",
            "city_name",
            "agent",
            "language",
            "referrer_host",
            "utm_source",
            "destination",
        ):
            assert len({getattr(click, f"{name}_id") for click in clicks}) > 4, name
        launch = session.scalars(select(Link).where(Link.url == "launch")).one()
        by_day = Count(
            time.date() for time, click in zip(times, clicks, strict=True) if click.link_id == launch.id
        )
        [(_, most)] = by_day.most_common(1)
        assert most > 3 * sum(by_day.values()) / len(by_day)

    def test_nothing_was_clicked_when_it_could_not_be(self, seed: Seed, session: Session) -> None:
        seed("--clicks", "3000", "--days", "60")
        counts = {row.link_id: row.clicks for row in session.execute(select(Counter.link_id, Counter.clicks))}
        for link in session.scalars(select(Link)):
            ends = session.execute(
                select(func.min(Click.time_ms), func.max(Click.time_ms)).where(Click.link_id == link.id)
            ).one()
            first, last = (
                None if ms is None else dt.datetime.fromtimestamp(ms / 1000, dt.UTC) for ms in ends
            )
            assert counts.get(link.id, 0) <= (link.clicks_limit or 3000)
            assert first is None or link.datetime <= first
            assert link.start_date is None or first is None or link.start_date <= first
            assert link.end_date is None or last is None or last <= link.end_date
        used_up = session.scalars(select(Link).where(Link.url == "first-25")).one()
        assert counts[used_up.id] == used_up.clicks_limit == 25

    @pytest.mark.full
    def test_the_same_number_tells_the_same_story(self, seed: Seed, session: Session) -> None:
        seed("--rng", "7", *SMALL)
        first = content(session)
        with time_machine.travel(NOW):
            assert seed("--rng", "7", *SMALL).exit_code == 0
        assert content(session) == first
        with time_machine.travel(NOW):
            seed("--rng", "8", *SMALL)
        assert content(session) != first

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
        mine = (Click.user_id == user.id, ~Click.is_bot)
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

    @pytest.mark.full
    def test_two_demos_get_along(self, seed: Seed, session: Session) -> None:
        seed(*SMALL)
        done = seed("--email", "other@example.com", *SMALL)
        assert done.exit_code == 0
        launches = session.scalars(select(Link.url).where(Link.title == "Launch day").order_by(Link.id)).all()
        assert launches == ["launch", f"launch-{services.list_users()[-1].id}"]


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
