"""The palette's entries and the links that it finds."""

from __future__ import annotations

import re

from app.accounts.models import User
from app.dashboard.palette import COMMANDS, MAX_LINKS
from tests.dashboard.conftest import Desk
from tests.factories import Factory


def titles(page: str) -> list[str]:
    return re.findall(r'<span class="text">([^<]+)</span>', page)


def addresses(page: str) -> list[str]:
    return re.findall(r'data-copies="([^"]+)"', page)


def test_pages_and_commands(desk: Desk, alice: User, factory: Factory) -> None:
    found = titles(desk.get("/palette").text)
    assert {"Create link", "Bulk create", "Sign out", "Trash", "API keys", "Instance"} <= set(found)
    alice.is_admin = False
    factory.session.commit()
    assert "Instance" not in titles(desk.get("/palette").text)


def test_every_command_that_is_a_page_leads_to_one(desk: Desk) -> None:
    page = desk.get("/palette").text
    paths = {path.removeprefix("/dashboard") for path in re.findall(r'href="(/[^"]+)"', page)}
    assert len(paths) > len([one for one in COMMANDS if one.endpoint])
    assert {path: desk.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)


def test_own_links_are_found_by_all_words(desk: Desk, alice: User, bob: User, factory: Factory) -> None:
    factory.link(alice, "spring", title="Sale <of> the year")
    factory.link(alice, "other", title="Sale")
    factory.link(bob, "secret", title="Sale of the year")
    page = desk.get("/palette/links?search=year+sale").text
    assert addresses(page) == ["http://localhost/spring"]
    assert "<bdi>Sale &lt;of&gt; the year</bdi>" in page


def test_the_newest_few_come(desk: Desk, alice: User, factory: Factory) -> None:
    for number in range(MAX_LINKS + 2):
        factory.link(alice, f"a{number}")
    newest = [f"http://localhost/a{number}" for number in reversed(range(2, MAX_LINKS + 2))]
    assert addresses(desk.get("/palette/links?search=a").text) == newest


ASKED = {
    "nothing": ("", 200),
    "spaces": ("  ", 200),
    "no link": ("nothing-like-it", 200),
    "too long": ("x" * 3000, 422),
}


def test_what_finds_nothing(desk: Desk) -> None:
    for name, (text, status) in ASKED.items():
        answer = desk.get("/palette/links", query_string={"search": text})
        assert answer.status_code == status, name
        assert addresses(answer.text) == [], name
