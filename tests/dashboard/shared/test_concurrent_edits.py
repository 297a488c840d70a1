"""Edits of a row that was changed elsewhere while its form was open."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO
from typing import Any, NamedTuple

import pytest
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.dashboard.shared import form_views
from app.links.history import history_of
from app.links.models import Link
from tests.dashboard.conftest import Desk
from tests.factories import Factory
from tests.links.pictures import picture

TO = "https://example.com/"


def shown_on(page: str) -> str:
    found = re.search(r'name="shown_values" value="([^"]*)"', page)
    assert found
    return found[1]


def choices_on(page: str) -> set[str]:
    return {*re.findall(r'name="keep_(\w+)"', page)}


class Case(NamedTuple):
    """What is stored, what one tab sends, what the other saves, and what is then asked or stored."""

    sent: dict[str, str]
    other: dict[str, str]
    asked: set[str] = set()  # noqa: RUF012
    stored: dict[str, Any] = {}  # noqa: RUF012


STORED = {"title": "Old", "notes": "a\nb", "clicks_limit": 5, "location_url": TO}
UNTOUCHED = {"title": "Old", "notes": "a\r\nb", "clicks_limit": "5", "location_url": TO, "is_enabled": "1"}
WITH_LINES = {"targeting_type": "country_code", "targeting_country_code_key[]": "DE"}
CASES = {
    "another field": Case({"title": "Mine"}, {"notes": "theirs"}, stored={"title": "Mine", "notes": "theirs"}),
    "nothing here": Case({}, {"title": "Theirs", "clicks_limit": "9"}, stored={"title": "Theirs", "clicks_limit": 9}),
    "the same twice": Case({"title": "Both"}, {"title": "Both"}, stored={"title": "Both"}),
    "a text": Case({"title": "Mine"}, {"title": "Theirs"}, {"title"}),
    "two of three": Case(
        {"title": "Mine", "clicks_limit": "1", "utm_source": "x"},
        {"title": "Theirs", "clicks_limit": "2", "utm_medium": "y"},
        {"title", "clicks_limit"},
    ),
    "a switch here": Case({"is_enabled": "0"}, {"title": "Theirs"}, stored={"is_enabled": False, "title": "Theirs"}),
    "tags": Case({"tags": "red\r\nmine"}, {"tags": "red\r\ntheirs"}, {"tags"}),
    "a password": Case({"password": "mine mine"}, {"password": "theirs theirs"}, {"password"}),
    "lines of targeting": Case(
        {**WITH_LINES, "targeting_country_code_value[]": f"{TO}mine"},
        {**WITH_LINES, "targeting_country_code_value[]": f"{TO}theirs"},
        {"targeting_type"},
    ),
    "targeting elsewhere": Case(
        {"title": "Mine"},
        {**WITH_LINES, "targeting_country_code_value[]": f"{TO}theirs"},
        stored={"title": "Mine", "targeting": [["DE", f"{TO}theirs"]], "targeting_type": "country_code"},
    ),
    "a schedule": Case(
        {"schedule": "1", "start_date": "2030-01-01T10:00"},
        {"schedule": "1", "end_date": "2031-01-01T10:00"},
        {"schedule"},
    ),
}  # fmt: skip


@pytest.fixture
def link(factory: Factory, alice: User) -> Link:
    return factory.link(alice, "shared", tags=("red",), **STORED)


@pytest.fixture
def save(desk: Desk, link: Link) -> Callable[..., Any]:
    """Send the form as a browser does, with all controls; `shown` is what it had when it was opened."""

    def save(shown: str, changed: dict[str, Any], **more: str) -> Any:
        untouched = {**UNTOUCHED, "tags": "red", "schedule": "0", "targeting_type": "", "password": ""}
        return desk.post(f"/links/{link.id}", {**untouched, "shown_values": shown, **changed, **more})

    return save


@pytest.mark.parametrize("name", CASES)
def test_two_edits(
    desk: Desk, link: Link, save: Callable[..., Any], session: scoped_session[Session], name: str
) -> None:
    case = CASES[name]
    shown = shown_on(desk.get(f"/links/{link.id}").text)
    assert save(shown, case.other).status_code == 303
    session.expire_all()
    before = len(history_of(link))
    answer = save(shown, case.sent)
    assert choices_on(answer.text) == case.asked
    assert answer.status_code == (409 if case.asked else 303)
    session.expire_all()
    assert {column: getattr(link, column) for column in case.stored} == case.stored
    if not case.asked:
        return
    alone = name == "two of three"  # it changes one field that nobody else does: that is saved at once
    for choice in (
        "theirs",
        "mine",
    ):  # after "theirs" the conflict is as it was, so "mine" can be chosen still
        assert len(history_of(link)) == before + (choice == "mine" and alone), "nothing is saved before"
        chosen = {f"keep_{field}": choice for field in case.asked}
        assert save(shown_on(answer.text), {**case.sent, **chosen}).status_code == 303
    assert len(history_of(link)) == before + 1 + alone


def test_a_picture_that_both_changed(desk: Desk, link: Link, save: Callable[..., Any]) -> None:
    shown = shown_on(desk.get(f"/links/{link.id}").text)
    files = [{"cloaking_opengraph": (picture(size=(9, size)), f"{size}.png")} for size in (8, 9)]
    sent = [{name: (BytesIO(content), file) for name, (content, file) in each.items()} for each in files]
    assert save(shown, sent[0]).status_code == 303
    answer = save(shown, sent[1])
    assert answer.status_code == 409
    assert choices_on(answer.text) == {"cloaking_opengraph"}
    assert "Another picture" in answer.text


def test_an_error_does_not_forget_what_was_chosen(
    desk: Desk, link: Link, save: Callable[..., Any], session: scoped_session[Session]
) -> None:
    shown = shown_on(desk.get(f"/links/{link.id}").text)
    save(shown, {"title": "Theirs"})
    asked = save(shown, {"title": "Mine"})
    wrong = save(shown_on(asked.text), {"title": "Mine", "clicks_limit": "x", "keep_title": "theirs"})
    assert wrong.status_code == 422
    assert 'value="Theirs"' in wrong.text
    assert save(shown_on(wrong.text), {"title": "Theirs", "clicks_limit": "6"}).status_code == 303
    session.expire_all()
    assert (link.title, link.clicks_limit) == ("Theirs", 6)


def test_a_change_between_reading_and_writing_is_seen(
    desk: Desk, link: Link, save: Callable[..., Any], session: scoped_session[Session], monkeypatch: Any
) -> None:
    """The first try meets a change after its form was read; the second asks."""
    shown = shown_on(desk.get(f"/links/{link.id}").text)
    begin, tries = form_views.begin_write, []

    def change_before(session_: Any) -> None:
        tries.append(1)
        if len(tries) == 1:
            session.get_one(Link, link.id).title = "Theirs"
            session.commit()
        begin(session_)

    monkeypatch.setattr(form_views, "begin_write", change_before)
    answer = save(shown, {"title": "Mine"})
    assert (answer.status_code, len(tries)) == (409, 1)
    assert "Theirs" in answer.text


def test_one_that_changes_at_every_try_is_a_conflict(
    desk: Desk, link: Link, save: Callable[..., Any], session: scoped_session[Session], monkeypatch: Any
) -> None:
    begin, tries = form_views.begin_write, []

    def change_before(session_: Any) -> None:
        tries.append(1)
        session.get_one(Link, link.id).notes = f"Theirs {len(tries)}"
        session.commit()
        begin(session_)

    shown = shown_on(desk.get(f"/links/{link.id}").text)
    monkeypatch.setattr(form_views, "begin_write", change_before)
    assert save(shown, {"title": "Mine"}).status_code == 409
    assert len(tries) == form_views.MOST_READS


@pytest.mark.parametrize(
    "shown", ["", "title", "title:", ":" * 99, "a:b " * 99_999, "title:\u200b", "url:0 url:1"]
)
def test_marks_that_no_form_has_written(
    link: Link, save: Callable[..., Any], session: scoped_session[Session], shown: str
) -> None:
    answer = save(shown, {"title": "Mine"})
    assert answer.status_code in {303, 409}


ROWS = {
    "pixels": ("pixel", {"name": "Old", "type": "social_a", "pixel": "123"}, "name"),
    "projects": ("project", {"name": "Old", "color": "#4263eb"}, "name"),
    "handlers": ("handler", {"name": "Old", "type": "email", "is_enabled": True}, "name"),
    "domains": ("domain", {"custom_index_url": f"{TO}old"}, "custom_index_url"),
}


@pytest.mark.parametrize("kind", ROWS)
def test_every_form_asks(desk: Desk, factory: Factory, alice: User, kind: str) -> None:
    maker, columns, field = ROWS[kind]
    row = getattr(factory, maker)(alice, **columns)
    shown = shown_on(desk.get(f"/{kind}/{row.id}").text)
    answers = [
        desk.post(f"/{kind}/{row.id}", {field: f"{TO}{side}", "shown_values": shown})
        for side in ("theirs", "mine")
    ]
    assert [answer.status_code for answer in answers] == [303, 409]
    assert choices_on(answers[1].text) == {field}
    assert f"{TO}theirs" in answers[1].text


def test_the_account_asks(desk: Desk) -> None:
    shown = shown_on(desk.get("/account/").text)
    answers = [
        desk.post("/account/", {"name": name, "language": language, "shown_values": shown})
        for name, language in (("Theirs", "de"), ("Mine", "en"))
    ]
    assert [answer.status_code for answer in answers] == [303, 409]
    assert choices_on(answers[1].text) == {"name"}
    assert len(re.findall('name="keep_name"', answers[1].text)) == 2, "in one of the page's forms alone"
