"""Handlers and projects that rows of JSON describe: made when lacking, told apart, and never stored in clear."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.encryption import UnreadableSecret
from app.import_export.attachments import handler_names
from app.import_export.models import FailedRow, LinkImport
from app.links import services
from app.links.models import Link
from app.notifications.models import NotificationHandler
from app.projects.models import Project
from tests.import_export.conftest import exported

TO = "https://example.com/"
SECRET = "whsec_" + "QUJD" * 8
Take = Callable[..., LinkImport]


def webhook(name: str = "shop", address: str = "https://hooks.example/a", **more: Any) -> dict[str, Any]:
    settings = {"webhook": address, "secret": SECRET, **more.pop("settings", {})}
    return {"type": "webhook", "name": name, "is_enabled": True, "settings": settings, **more}


def row(url: str, *handlers: dict[str, Any], **more: Any) -> dict[str, Any]:
    names = [[one["type"], one["name"]] for one in handlers]
    return {"url": url, "location_url": TO, "handlers": names, "handler_settings": list(handlers), **more}


def told(session: Session) -> dict[str, list[list[str]]]:
    failed = session.scalars(sa.select(FailedRow).where(FailedRow.is_made.is_(False)))
    return {one.cells[0]: one.problems for one in failed}


def addresses(session: Session) -> dict[str, list[str]]:
    """What each link tells, by its alias."""
    return {
        link.url: [one.settings.get("webhook", "") for one in link.handlers]
        for link in session.scalars(sa.select(Link))
    }


A, B = webhook(), webhook(address="https://hooks.example/b")


@pytest.mark.databases
@pytest.mark.settings(MAX_HANDLERS="1")
def test_a_row_whose_handler_is_one_too_many_says_so(session: Session, alice: User, take: Take) -> None:
    take(alice, json.dumps([row("a", A), row("b", B), row("c", A)]))
    assert told(session) == {"b": [["", "A workspace may have at most 1 handlers."]]}
    assert session.scalar(sa.select(sa.func.count()).select_from(NotificationHandler)) == 1


@pytest.mark.databases
@pytest.mark.parametrize("state", ["checking", "taking"])
def test_they_are_made_once_and_told_apart_by_their_settings(session, alice, take, state) -> None:
    off = webhook("off", is_enabled=False)
    table = [row("a", A), row("b", B), row("both", A, B), row("off", off)]
    for count in (4, 0):
        job = take(alice, json.dumps(table), state)
        assert (job.made, job.failed) == (count if state == "taking" else 4, 0), told(session)
    found = session.scalars(sa.select(NotificationHandler).order_by(NotificationHandler.id)).all()
    if state == "checking":
        assert found == []
        return
    assert [one.settings for one in found] == [one["settings"] for one in (A, B, off)]
    assert [one.is_enabled for one in found] == [True, True, False]
    assert addresses(session) == {
        "a": ["https://hooks.example/a"],
        "b": ["https://hooks.example/b"],
        "both": ["https://hooks.example/a", "https://hooks.example/b"],
        "off": ["https://hooks.example/a"],
    }


@pytest.mark.databases
def test_rows_of_later_steps_find_what_earlier_ones_made(session, alice, take, monkeypatch) -> None:
    """Also where the signing secret can't be used, so that another one is made."""
    monkeypatch.setattr("app.import_export.runs.BATCH_SIZE", 1)
    weak = webhook("weak", settings={"secret": "whsec_short"})
    job = take(alice, json.dumps([row(f"{name}{n}", one) for n in range(3) for name, one in (("a", A), ("w", weak))]))  # fmt: skip
    assert (job.made, job.failed) == (6, 0), told(session)
    names = session.scalars(sa.select(NotificationHandler.name).order_by(NotificationHandler.name)).all()
    assert names == ["shop", "weak"]


def test_one_of_the_same_name_with_other_settings_stays_as_it_is(session, alice, take, make_handler) -> None:
    mine = make_handler(alice, type="webhook", name="shop", settings={"webhook": "https://mine.example/", "secret": SECRET})  # fmt: skip
    assert take(alice, json.dumps([row("a", A)])).made == 1
    assert addresses(session) == {"a": ["https://hooks.example/a"]}
    session.refresh(mine)
    assert mine.settings["webhook"] == "https://mine.example/"


BAD: dict[str, tuple[Any, str]] = {
    "an address inside": ([webhook(address="http://127.0.0.1/")], "webhook shop can't be created"),
    "no address": ([webhook(address="")], "webhook shop can't be created"),
    "a type that there is not": ([webhook(type="nope")], "nope shop can't be created"),
    "no list": ("webhook", "must be a list like"),
    "no objects": ([["webhook", "shop"]], "must be a list like"),
    "half a surrogate": ([webhook(address="https://hooks.example/\ud800")], "webhook shop can't be created"),
    "deep": ("[" * 30 + "]" * 30, "must be a list like"),
    "of another name": ([webhook("other")], "no handler webhook shop"),
    "unreadable where it was": ([webhook(settings={"webhook": None, "webhook_template": None, "secret": None})], "no handler webhook shop"),
    "none": (None, "no handler webhook shop"),
}  # fmt: skip


def test_what_can_not_be_made_is_a_failed_row(session: Session, alice: User, take: Take) -> None:
    table = []
    for name, (described, _) in BAD.items():
        type_ = "nope" if name == "a type that there is not" else "webhook"
        table.append({"url": name.replace(" ", "-"), "location_url": TO, "handlers": [[type_, "shop"]], "handler_settings": described})  # fmt: skip
    job = take(alice, json.dumps([*table, row("good", A)]))
    assert (job.made, job.failed) == (1, len(BAD))
    problems = told(session)
    wrong = {
        name: problems[name.replace(" ", "-")]
        for name, (_, said) in BAD.items()
        if not any(said in text for _, text in problems[name.replace(" ", "-")])
    }
    assert wrong == {}


def test_settings_are_not_stored_with_failed_rows(session: Session, alice: User, take: Take) -> None:
    """Also in a column that its owner has left out, or that was named as another field."""
    job = take(alice, json.dumps([row("a", A, location_url="x:y"), {"Handler Settings": SECRET, "location_url": "x:y"}]))  # fmt: skip
    assert job.failed == 2
    for failed in session.scalars(sa.select(FailedRow)):
        assert SECRET not in json.dumps([failed.cells, failed.problems])


def test_projects_keep_their_colours(session: Session, alice: User, take: Take, factory: Any) -> None:
    factory.project(alice, name="Mine", color="#111111")
    colors = {"Mine": "#222222", "New": "#A33333", "None": None}
    table = [{"url": name, "location_url": TO, "project": name, "project_color": color} for name, color in colors.items()]  # fmt: skip
    job = take(alice, json.dumps([*table, {**table[0], "url": "odd", "project_color": "red"}]))
    assert (job.made, job.failed) == (3, 1)
    assert told(session) == {"odd": [["project_color", "This must be a colour like #4263eb."]]}
    found = dict(session.execute(sa.select(Project.name, Project.color)).all())
    assert found == {"Mine": "#111111", "New": "#a33333", "None": "#4263eb"}


def test_an_export_tells_what_can_be_read(session: Session, alice: User, make_handler: Any) -> None:
    """A secret that was replaced a moment ago stays here, and unreadable settings are null."""
    settings = {"webhook": "https://hooks.example/a", "secret": SECRET, "secret_before": "whsec_x"}
    handler = make_handler(alice, type="webhook", name="shop", settings=settings)
    services.create(access_of(alice), {"url": "a", "location_url": TO, "email_reports": [handler.id]})
    session.commit()

    def described() -> Any:
        return json.loads(exported(alice, "json"))[0]["handler_settings"]

    assert described() == [webhook()]
    session.execute(sa.text("UPDATE notification_handler SET settings = 'damaged'"))
    session.commit()
    assert described() == [webhook(settings={"webhook": None, "webhook_template": None, "secret": None})]
    session.refresh(handler)
    assert isinstance(handler.settings, UnreadableSecret)
    assert handler_names(handler) == {("webhook", "shop")}
