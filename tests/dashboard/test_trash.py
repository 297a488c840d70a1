"""Undo, the trash, a link's history and its earlier versions: without scripts and with htmx."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, update

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.links import services
from app.links.history import history_of
from app.links.models import Link
from app.trash.models import Trashed
from tests.clients import Api
from tests.dashboard.conftest import HTMX, Desk
from tests.writes import write

LINKS = {**HTMX, "HX-Current-URL": "http://localhost/dashboard/links/"}


def undo_of(text: str) -> str:
    found = re.search(r"/dashboard(/trash/undo/[0-9a-f]+)", text)
    assert found
    return found[1]


def trashed() -> list[Trashed]:
    db.session.rollback()
    return list(db.session.scalars(select(Trashed).order_by(Trashed.id)))


def count() -> int:
    db.session.rollback()
    return len(db.session.scalars(select(Link.id)).all())


def test_undo_without_scripts(desk: Desk, alice: User, make_link: Callable[..., Link]) -> None:
    link = make_link(alice, "gone")
    page = desk.post(f"/links/{link.id}/delete", {}, follow_redirects=True).text
    assert count() == 0
    again = desk.post(undo_of(page), {}, follow_redirects=True).text
    assert "/gone is restored." in again
    assert count() == 1


def test_undo_with_htmx(desk: Desk, alice: User, make_link: Callable[..., Link]) -> None:
    link = make_link(alice, "gone")
    answer = desk.post(f"/links/{link.id}/delete", {}, headers=LINKS)
    again = desk.post(undo_of(answer.headers["HX-Trigger"]), {}, headers=LINKS)
    assert again.headers["HX-Retarget"] == "#results"
    assert "/gone" in again.text
    assert desk.post(undo_of(answer.headers["HX-Trigger"]), {}, headers=LINKS).status_code == 404


def test_undo_of_what_needs_another_address(desk: Desk, alice: User, make_link: Callable[..., Link]) -> None:
    first = make_link(alice, "gone")
    page = desk.post(f"/links/{first.id}/delete", {}, follow_redirects=True).text
    desk.post("/links/new", {"location_url": "https://example.com", "url": "gone"})
    again = desk.post(undo_of(page), {}, follow_redirects=True).text
    assert "gone needs another short link" in again
    one = trashed()[0]
    refused = desk.post(f"/trash/{one.id}/restore", {}, headers=HTMX)
    assert refused.status_code == 409
    assert refused.headers["HX-Retarget"] == "#sheet-box"
    assert "This short link is taken already." in refused.text
    assert desk.post(f"/trash/{one.id}/restore", {"url": "api"}).status_code == 422
    done = desk.post(f"/trash/{one.id}/restore", {"url": "other"}, follow_redirects=True)
    assert "/other is restored." in done.text
    assert trashed() == []


def test_the_list_of_what_lies_there(
    desk: Desk, alice: User, make_link: Any, make_pixel: Any, make_handler: Any
) -> None:
    for path, row in (
        ("links", make_link(alice, "mine")),
        ("pixels", make_pixel(alice, name="My pixel")),
        ("handlers", make_handler(alice, name="My handler")),
    ):
        desk.post(f"/{path}/{row.id}/delete", {})
    page = desk.get("/trash/").text
    assert all(name in page for name in ("mine", "My pixel", "My handler", " days left"))
    for one in trashed()[1:]:
        assert "is restored." in desk.post(f"/trash/{one.id}/restore", {}, follow_redirects=True).text
    [mine] = trashed()
    assert "is deleted." in desk.post(f"/trash/{mine.id}/delete", {}, follow_redirects=True).text
    assert "The trash is empty" in desk.post("/trash/empty", {}, follow_redirects=True).text


def test_history_in_words_and_back(desk: Desk, alice: User, make_pixel: Any, api: Api) -> None:
    pixel = make_pixel(alice, name="My pixel")
    first = {
        "location_url": "https://example.com/one",
        "url": "tale",
        "password": "very secret",
        "tags": ["a"],
    }
    id_ = api.post("/links", json=first).json["data"]["id"]
    desk.post(
        f"/links/{id_}",
        {
            "location_url": "https://example.com/two",
            "pixels_ids[]": str(pixel.id),
            "password": "other secret",
        },
    )
    page = desk.get(f"/links/{id_}/history").text
    for words in (
        "Created",
        "<bdi>test</bdi> (API key of <bdi>alice@example.com</bdi>)",
        "https://example.com/one",
        "https://example.com/two",
        "My pixel",
        "Set again",
    ):
        assert words in page, words
    assert "secret" not in page
    assert "argon2" not in page
    change = re.findall(rf"/dashboard(/links/{id_}/history/\d+)", page)[-1]
    assert "/tale is restored." in desk.post(change, {}, follow_redirects=True).text
    data = api.get(f"/links/{id_}").json["data"]
    assert (data["location_url"], data["pixels_ids"]) == ("https://example.com/one", [])
    assert "Earlier version restored" in desk.get(f"/links/{id_}/history").text


TO = "https://example.com/"


def change(link: Link, **changes: Any) -> None:
    write(services.update, link, changes)


def restore(desk: Desk, link: Link, place: int, **options: Any) -> Any:
    """Restore the version after a change; 0 is the newest one."""
    return desk.post(f"/links/{link.id}/history/{history_of(link)[place].id}", {}, **options)


def values(link: Link, *names: str) -> list[Any]:
    db.session.rollback()
    return [getattr(link, name) for name in names]


@pytest.fixture
def link(desk: Desk, alice: User) -> Link:
    made = write(services.create, access_of(alice), {"location_url": TO, "url": "one", "title": "first"})
    change(made, title="second")
    return made


def test_restoring_can_be_undone(desk: Desk, link: Link) -> None:
    answer = restore(desk, link, 1, follow_redirects=True)
    assert "The earlier version of" in answer.text
    assert values(link, "title") == ["first"]
    undo = re.search(rf'action="/dashboard(/links/{link.id}/history/\d+)"', answer.text)
    assert undo
    desk.post(undo[1], {})
    assert values(link, "title") == ["second"]
    assert [one.kind for one in history_of(link)] == ["reverted", "reverted", "changed", "created"]


def make_reserved(link: Link) -> None:
    db.session.execute(update(Link).values(url="api"))


def refuse_destination(link: Link) -> None:
    db.session.execute(update(Link).values(location_url="ftp://example.com/"))


def misuse_targeting(link: Link) -> None:
    change(link, targeting_type="country_code", targeting=[["XX", TO]])


WRONG = {
    # what the older version has that is refused by now, and what is said
    "an alias that is reserved": (make_reserved, {"url": "two"}, "Short link: "),
    "a destination of a scheme that is off": (refuse_destination, {"location_url": TO}, "Destination: "),
    "a key that no country has": (
        misuse_targeting,
        {"targeting_type": None, "targeting": []},
        "Destinations by visitor: There is no such country.",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_longer_valid_is_said(desk: Desk, link: Link, name: str) -> None:
    spoil, since, text = WRONG[name]
    spoil(link)
    db.session.commit()
    change(link, **since)
    before, changes = values(link, *since), len(history_of(link))
    answer = restore(desk, link, 1)
    assert answer.status_code == 422
    assert text in answer.text
    assert (values(link, *since), len(history_of(link))) == (before, changes)
