"""Lists: order, pages, filters and empty results, all from the query of the address."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from sqlalchemy import event, select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.core.clock import now
from app.core.extensions import db
from app.dashboard.links.rows import COLUMNS
from app.dashboard.shared import list_params
from app.i18n.messages import lazy_gettext
from app.links.models import DestinationCheck, Link
from app.net.dial import TOO_SLOW
from app.notifications.http_result import reason_of
from tests.dashboard.conftest import HTMX, Desk


def names(page: str) -> list[str]:
    return re.findall(r'<a class="name" href="http://localhost/([^"]+)"', page)


def test_pages(desk: Desk, alice: User, factory: Any) -> None:
    for number in range(12):
        factory.link(alice, f"n{number:02}", tags=("x",))
    first = desk.get("/links/?results_per_page=10&tag=x").text
    assert names(first) == [f"n{number:02}" for number in range(11, 1, -1)]
    assert "1 to 10 of 12" in first
    following = re.search(r'rel="next" href="([^"]+)"', first)
    assert following
    second = desk.client.get(following[1].replace("&amp;", "&")).text
    assert names(second) == ["n01", "n00"]
    assert 'rel="prev"' in second
    assert 'rel="next"' not in second


@pytest.mark.parametrize("query", ["", "&search=n", "&order_by=clicks&tag=x"])
def test_a_long_list_is_not_counted_to_its_end(
    query: str, desk: Desk, alice: User, factory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for a page that lies far from its beginning, which is there all the same."""
    monkeypatch.setattr(list_params, "MAX_COUNTED", 20)
    for number in range(36):
        factory.link(alice, f"n{number:02}", tags=("x",))
    first = desk.get(f"/links/?results_per_page=10{query}").text
    assert names(first) == [f"n{number}" for number in range(35, 25, -1)]
    assert all(text in first for text in ("1 to 10 of 20+", "20+ found", 'rel="next"'))
    last = desk.get(f"/links/?results_per_page=10&page=4{query}").text
    assert names(last) == [f"n{number:02}" for number in range(5, -1, -1)]
    assert "31 to 36 of 36<" in last
    assert 'rel="next"' not in last


def test_filters_are_named_and_can_be_taken_away(desk: Desk, alice: User, factory: Any) -> None:
    pixel = factory.pixel(alice, name="Shop & more")
    link = factory.link(alice, "with")
    link.pixels = [pixel]
    factory.link(alice, "without")
    page = desk.get(f"/links/?pixel_id={pixel.id}&state=active&search=").text
    assert names(page) == ["with"]
    assert "Pixel: <bdi>Shop &amp; more</bdi>" in page
    assert "State: <bdi>Active</bdi>" in page
    assert f'href="/dashboard/links/?pixel_id={pixel.id}#rows"' in page


def test_columns(desk: Desk, alice: User, factory: Any) -> None:
    factory.link(alice, "told", title="A title", tags=("a-tag",))
    page = desk.get("/links/?search=told&columns=none&columns=title&columns=clicks").text
    assert "A title" in page
    assert 'class="stat"' in page
    assert "a-tag" not in page.split('id="rows"')[1].split("</ul>")[0]
    answer = desk.get("/links/?columns=none&columns=title&columns=clicks", headers=HTMX)
    assert answer.headers["HX-Push-Url"] == "/dashboard/links/?columns=title,clicks"
    every = "&".join(f"columns={name}" for name in COLUMNS)
    assert (
        desk.get(f"/links/?columns=none&{every}", headers=HTMX).headers["HX-Push-Url"] == "/dashboard/links/"
    )


FAULTS = (
    (reason_of(503), "Der Server antwortete 503 Service Unavailable."),
    (TOO_SLOW, "Der Server hat nicht rechtzeitig geantwortet."),
    (lazy_gettext("The name of the server could not be resolved."), "Der Name des Servers"),
    (
        lazy_gettext("The certificate is not valid: %(reason)s.", reason="certificate has expired"),
        "Das Zertifikat ist nicht gültig: ",
    ),
    (lazy_gettext("The server refused the connection."), "Der Server hat die Verbindung"),
    (lazy_gettext("It redirects too many times."), "Es leitet zu oft weiter."),
)


@pytest.mark.parametrize("language", ["en", "de"])
def test_why_a_destination_fails_is_told(desk: Desk, alice: User, factory: Any, language: str) -> None:
    alice.language = language
    for number, (reason, _) in enumerate(FAULTS):
        link = factory.link(alice, f"broken-{number}")
        times = {"failing_since": now(), "due": now(), "planned": now(), "checked_datetime": now()}
        factory.session.add(
            DestinationCheck(link_id=link.id, url=link.location_url, failures=3, reason=reason, **times)
        )
    factory.session.commit()
    listed = html.unescape(desk.get("/links/").text)
    for number, (english, german) in enumerate(FAULTS):
        said = german if language == "de" else str(english)
        assert said in listed
        id_ = factory.session.scalars(select(Link.id).where(Link.url == f"broken-{number}")).one()
        edited = html.unescape(desk.get(f"/links/{id_}").text)
        assert said in edited
        assert ("Zuletzt geprüft" if language == "de" else "Last checked") in edited


def test_htmx_gets_the_list_alone_and_the_address_without_empty_words(desk: Desk) -> None:
    answer = desk.get("/links/?search=a&tag=&order_by=", headers=HTMX)
    assert "<html" not in answer.text
    assert answer.headers["HX-Push-Url"] == "/dashboard/links/?search=a"
    whole = desk.get("/links/?search=a", headers={**HTMX, "HX-History-Restore-Request": "true"})
    assert "<html" in whole.text


def test_a_page_takes_no_more_queries_for_more_rows(
    desk: Desk, alice: User, factory: Any, session: scoped_session[Session]
) -> None:
    pixel, handler = factory.pixel(alice), factory.handler(alice)

    def add(number: int) -> None:
        for _ in range(number):
            link = factory.link(alice, tags=("a", "b"))
            link.pixels, link.handlers = [pixel], [handler]
        session.commit()

    def queries() -> int:
        heard: list[str] = []

        def hear(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
            heard.append(statement)

        event.listen(db.engine, "before_cursor_execute", hear)
        try:
            assert desk.get("/links/").status_code == 200
        finally:
            event.remove(db.engine, "before_cursor_execute", hear)
        return len(heard)

    add(2)
    few = queries()
    add(20)
    assert few == queries()


def test_text_of_owners_is_text(desk: Desk, alice: User, factory: Any) -> None:
    evil = '"><script>alert(1)</script>'
    factory.link(alice, title=evil, tags=(evil[:30],), location_url=f"https://example.com/?{evil}")
    factory.pixel(alice, name=evil)
    factory.handler(alice, name=evil)
    factory.key(alice, name=evil)
    for path in (
        "/links/",
        "/links/1",
        "/links/new",
        "/pixels/",
        "/handlers/",
        "/keys/",
        "/links/?search=" + evil,
    ):
        answer = desk.get(path)
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text


def test_own_tags_are_offered_once_each(desk: Desk, alice: User, bob: User, factory: Any) -> None:
    for tags in (("red", "b"), ("red",), ("a",)):
        factory.link(alice, tags=tags)
    factory.link(bob, tags=("bobs", "0"))
    page = desk.get("/links/new").text
    offered = re.search(r'<datalist id="own-tags">(.*?)</datalist>', page, re.DOTALL)
    assert offered
    assert re.findall(r'value="([^"]*)"', offered[1]) == ["a", "b", "red"]
