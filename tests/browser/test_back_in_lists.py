"""Back and Forward in a list: only the answer that belongs to the address is shown."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Request, Route, expect

from app.accounts.models import User
from app.links.models import Link

pytestmark = [pytest.mark.browser, pytest.mark.full]


@pytest.fixture
def names(alice: User, make_link: Callable[..., Link]) -> list[str]:
    """Aliases of alice's links, newest first, as in the list."""
    for name in ("fig", "pear", "plum", "apple"):
        make_link(alice, name)
    return ["apple", "plum", "pear", "fig"]


def rows(page: Page) -> Locator:
    return page.get_by_role("list", name="Links").get_by_role("listitem")


def search(page: Page, text: str, count: int) -> None:
    """Searches as a step of its own in the browser's history."""
    page.get_by_role("searchbox").fill(text)
    expect(page).to_have_url(re.compile(rf"search={text}$"))
    expect(rows(page)).to_have_count(count)
    page.keyboard.press("Tab")


def hold(page: Page, wanted: Callable[[Request], bool]) -> list[Route]:
    """Keeps the answers to these requests back. The first that comes is the first of the list."""
    held: list[Route] = []

    def decide(route: Route) -> None:
        if wanted(route.request):
            held.append(route)
        else:
            route.continue_()

    page.route("**/links/**", decide)
    return held


def restores(request: Request) -> bool:
    return "hx-history-restore-request" in request.headers


def first(page: Page, held: list[Route]) -> Route:
    while not held:
        page.evaluate("0")  # lets what the browser has said come in
    return held.pop(0)


def test_a_list_that_is_still_loading_changes_nothing_after_back(
    desk: Page, names: list[str], site: str
) -> None:
    """Neither the list nor one that waits for it may come: the address would be theirs again."""
    desk.reload()
    search(desk, "apple", 1)
    asked: list[str] = []
    desk.on("request", lambda request: asked.append(request.url))
    held = hold(desk, lambda request: "search=pear" in request.url or restores(request))
    with desk.expect_request(re.compile("search=pear")):
        desk.get_by_role("searchbox").fill("pear")
    desk.locator("summary", has_text="Sort").click()
    desk.get_by_label("Sort by").select_option("url")  # waits for the answer of the search
    with desk.expect_request(restores):
        desk.go_back()
    with desk.expect_event("requestfinished", lambda request: "search=pear" in request.url):
        first(desk, held).continue_()
    expect(desk).to_have_url(f"{site}/dashboard/links/")
    expect(rows(desk)).to_contain_text("/apple")  # as before: nothing has come
    first(desk, held).continue_()
    expect(rows(desk)).to_have_count(4)
    expect(desk).to_have_url(f"{site}/dashboard/links/")
    assert [url for url in asked if "order_by=url" in url] == []
