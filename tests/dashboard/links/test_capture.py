"""The page behind bookmarklet and share sheet: what it fills in, what it makes, and for whom."""

from __future__ import annotations

import html
import json
import re
from urllib.parse import unquote, urlencode, urlsplit

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session
from werkzeug.test import TestResponse

from app.accounts.models import User
from app.dashboard.links.capture import read_shared
from app.links.models import Link
from tests.dashboard.conftest import HTMX, Desk
from tests.factories import PASSWORD

HERE = "https://example.com/here?a=b&c=d"


def value_of(page: str, name: str) -> str:
    found = re.search(rf'<input type="text" id="\w+" name="{name}"[^>]* value="([^"]*)"', page)
    assert found, name
    return html.unescape(found[1])


def links_of(session: scoped_session[Session]) -> list[Link]:
    session.rollback()
    return list(session.scalars(select(Link)))


def ask(desk: Desk, **shared: str) -> TestResponse:
    return desk.get(f"/capture?{urlencode(shared)}")


def test_opening_it_fills_in_the_form_and_makes_nothing(desk: Desk, session: scoped_session[Session]) -> None:
    for _ in range(2):
        page = ask(desk, url=HERE, title="Here & there").text
        assert (value_of(page, "location_url"), value_of(page, "title")) == (HERE, "Here & there")
        assert "aria-invalid" not in page
    assert links_of(session) == []


WRONG = {
    "a script": ("javascript:alert(1)", "https"),
    "a file": ("file:///etc/passwd", "https"),
    "a short address of this instance": ("http://localhost/abc", ""),
    "too long": ("https://example.com/" + "x" * 8_200, "8,192"),
}


def test_what_cannot_be_shortened_is_said_at_once(desk: Desk) -> None:
    for name, (url, said) in WRONG.items():
        answer = ask(desk, url=url)
        assert answer.status_code == 200, name
        assert 'id="location_url-error"' in answer.text, name
        assert said in answer.text, name


def test_without_an_address_one_is_asked_for(desk: Desk) -> None:
    for shared in ({}, {"text": "no address"}, {"url": ""}):
        page = ask(desk, **shared).text
        assert value_of(page, "location_url") == ""
        assert "Nothing with an address came along" in page
        assert "aria-invalid" not in page


def test_its_button_makes_the_link_and_copies_it(desk: Desk, session: scoped_session[Session]) -> None:
    sent = {"location_url": HERE, "title": "Here", "url": "here"}
    answer = desk.post("/capture", sent, headers=HTMX)
    assert answer.status_code == 200
    (link,) = links_of(session)
    assert (link.location_url, link.title, link.url) == (HERE, "Here", "here")
    assert json.loads(answer.headers["HX-Trigger"])["toast"]["copy"] == "http://localhost/here"
    assert answer.headers["HX-Replace-Url"] == f"/dashboard/capture/{link.id}"
    assert "http://localhost/here" in desk.get(f"/capture/{link.id}").text


def test_who_is_signed_out_comes_back_to_it_after_signing_in(client: FlaskClient, alice: User) -> None:
    path = f"/dashboard/capture?{urlencode({'url': HERE, 'text': 'a (b) “c” ü', 'title': 'T'})}"
    answer = client.get(path)
    assert answer.status_code == 302
    assert urlsplit(answer.location).path == "/login"
    desk = Desk(client, alice.email)
    data = {"csrf_token": desk.token(answer.location), "email": alice.email, "password": PASSWORD}
    back = client.post(answer.location, data=data)
    assert (back.status_code, back.location) == (303, path)
    assert value_of(client.get(back.location).text, "location_url") == HERE


def bookmarklet_of(page: str) -> str:
    found = re.search(r'href="(javascript:[^"]+)"', page)
    assert found
    return unquote(html.unescape(found[1]))


def test_the_tools_page_has_the_bookmarklet_and_a_command(desk: Desk) -> None:
    page = desk.get("/capture/tools").text
    assert 'new URL("http://localhost/dashboard/capture")' in bookmarklet_of(page)
    assert "curl http://localhost/api/links" in page
    chosen = desk.get("/keys/new?scope=create").text
    assert '<option dir="auto" value="create" selected>' in chosen
    assert "selected" not in desk.get("/keys/new?scope=nonsense").text


def test_the_manifest_leads_here(desk: Desk, client: FlaskClient) -> None:
    address = re.search(r'<link rel="manifest" href="([^"]+)">', desk.get("/capture/tools").text)
    assert address
    answer = client.get(address[1])
    assert answer.mimetype == "application/manifest+json"
    manifest = json.loads(answer.data)
    rules = {rule.rule for rule in client.application.url_map.iter_rules()}
    assert manifest["share_target"]["action"] in rules
    assert manifest["share_target"]["action"].startswith(manifest["scope"])
    folder = address[1].rpartition("/")[0]
    for icon in manifest["icons"]:
        found = client.get(f"{folder}/{icon['src']}")
        assert (found.status_code, found.mimetype) == (200, icon["type"])


ARTICLE = "https://example.com/here"
# what is shared: url, text, title; and the address, the title and the other addresses that are found
SHARED: dict[str, tuple[tuple[str, str, str], tuple[str, str, tuple[str, ...]]]] = {
    "a bookmarklet": ((ARTICLE, "", "Here"), (ARTICLE, "Here", ())),
    "words around it": (("", f"Look at this: {ARTICLE}, it is good", ""), (ARTICLE, "Look at this", ())),
    "a title before it": (("", f"An article\n{ARTICLE}", ""), (ARTICLE, "An article", ())),
    "the end of a sentence": (("", f"See {ARTICLE}.", ""), (ARTICLE, "See", ())),
    "in brackets": (("", f"(see {ARTICLE})", ""), (ARTICLE, "see", ())),
    "a bracket of its own": (("", f"{ARTICLE}_(town)", "T"), (f"{ARTICLE}_(town)", "T", ())),
    "in other quotes": (("", f"„{ARTICLE}“ 「{ARTICLE}/2」。", "T"), (ARTICLE, "T", (f"{ARTICLE}/2",))),
    "several": (
        ("", f"{ARTICLE}/1 and {ARTICLE}/2\n{ARTICLE}/1", "T"),
        (f"{ARTICLE}/1", "T", (f"{ARTICLE}/2",)),
    ),
    "in the field and the text": (
        (f"{ARTICLE}/1", f"{ARTICLE}/2 {ARTICLE}/1", "T"),
        (f"{ARTICLE}/1", "T", (f"{ARTICLE}/2",)),
    ),
    "only in the title": (("", "", f"Here {ARTICLE}"), (ARTICLE, "Here", ())),
    "a title that is the address": ((ARTICLE, "", ARTICLE), (ARTICLE, "", ())),
    "its last mark": ((f"{ARTICLE}?q=a.", "", ""), (f"{ARTICLE}?q=a.", "", ())),
    "without a scheme": (("", "example.com/here", ""), (ARTICLE, "example.com/here", ())),
    "words with dots": (("", "Node.js is here", ""), ("", "Node.js is here", ())),
    "a script in the text": (("", "javascript:alert(1)", ""), ("", "javascript:alert(1)", ())),
    "nothing": (("", "", ""), ("", "", ())),
    "lines and controls": ((ARTICLE, "", "A\n title\x00of\u202e it"), (ARTICLE, "A title of it", ())),
    "a long title": ((ARTICLE, "", "t" * 500), (ARTICLE, "t" * 159 + "…", ())),
}


@pytest.mark.parametrize("name", SHARED)
def test_what_is_found_in_shared_text(name: str) -> None:
    shared, expected = SHARED[name]
    assert read_shared(*shared) == expected


def test_many_addresses_are_bounded() -> None:
    found = read_shared(text=" ".join(f"{ARTICLE}/{number}" for number in range(1000)))
    assert (found.address, len(found.others)) == (f"{ARTICLE}/0", 8)
