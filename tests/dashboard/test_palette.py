"""What every page leads to: the palette, the look that a browser keeps, and addresses in notifications."""

from __future__ import annotations

import re

import pytest

from app.accounts.models import User
from app.dashboard.home import COMMANDS, MAX_LINKS
from app.notifications.site import SiteUrls
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


CHOICES = {
    "theme, dark": ("theme", "dark", 'data-theme="dark"', ""),
    "density, comfortable": ("density", "comfortable", 'data-density="comfortable"', "purple"),
}


@pytest.mark.parametrize(("field", "value", "mark", "other"), CHOICES.values(), ids=CHOICES)
def test_a_choice_is_kept_and_taken_back(desk: Desk, field: str, value: str, mark: str, other: str) -> None:
    assert mark not in desk.get("/links/").text
    answer = desk.post(f"/{field}", {field: value, "back": "/dashboard/links/?search=x"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dashboard/links/?search=x")
    assert "Max-Age=31536000" in answer.headers["Set-Cookie"]
    assert mark in desk.get("/links/").text
    desk.post(f"/{field}", {field: other, "back": "/dashboard/links/"})
    assert mark not in desk.get("/links/").text


def test_back_is_a_page_of_ours(desk: Desk) -> None:
    for field in ("theme", "density"):
        for back in ("//evil.example/", "https://evil.example/", "/\\evil.example", "/a\nb", ""):
            answer = desk.post(f"/{field}", {field: "dark", "back": back})
            assert answer.headers["Location"] == "/dashboard/", (field, back)


SITE = SiteUrls("", "")


def test_every_address(desk, make_link, alice):
    link = make_link(alice)
    days = ("2026-11-16", "2026-11-22")
    addresses = [
        SITE.link_page(link.id),
        SITE.handlers_page(),
        SITE.statistics_page(None, *days),
        SITE.statistics_page(link.id, *days),
    ]
    answers = [desk.client.get(address) for address in addresses]
    assert [answer.status_code for answer in answers] == [200] * 4
    for page in answers[2:]:
        assert "2026-11-16" in page.text, "the days of the report are chosen there"
