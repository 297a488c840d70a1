"""Rows of links: density, badges, copying and sharing, and clicks that keep up by themselves."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.links.models import LimitCounter, Link
from tests.browser.conftest import Watch
from tests.browser.test_accessibility import violations
from tests.factories import Factory

pytestmark = [pytest.mark.browser, pytest.mark.full]

WIDTHS = pytest.mark.parametrize("width", [1280, 390])
WHOLLY_SEEN = """[...document.querySelectorAll('#rows > .row')].filter(row => {
  const { top, bottom } = row.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}).length"""
# a device that shares: what it was given is kept
SHARES = "navigator.share = data => { (window.shared ??= []).push(data); return Promise.resolve(); }"
# how much the page has moved by itself
MOVED = """new PerformanceObserver(list => list.getEntries().forEach(one => {
  window.moved = (window.moved ?? 0) + one.value; })).observe({type: 'layout-shift', buffered: false})"""
EVERY = 6000  # longer than the rows wait between two questions


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("list", name="Links").get_by_role("listitem").filter(has_text=f"/{name}")


def full_list(alice: User, factory: Factory) -> None:
    project = factory.project(alice, name="Spring & more")
    for number in range(25):
        factory.link(
            alice,
            f"an-alias-{number}",
            title=f"A link of a usual length, {number}",
            location_url=f"https://example.com/{number}/{'a-long-address/' * 8}",
            tags=("spring", "sale"),
            project_id=project.id,
        )


@pytest.mark.parametrize(
    ("density", "least", "most"),
    {"compact": ("", 12, 14), "comfortable": ("comfortable", 6, 9)}.values(),
    ids=["compact", "comfortable"],
)
def test_rows_on_a_screen(
    desk: Page, site: str, alice: User, factory: Factory, density: str, least: int, most: int
) -> None:
    """With titles, tags and projects, as owners have them."""
    full_list(alice, factory)
    desk.set_viewport_size({"width": 1280, "height": 900})
    desk.context.add_cookies([{"name": "waypost_density", "value": density, "url": site}])
    desk.reload()
    assert least <= desk.evaluate(WHOLLY_SEEN) <= most


@WIDTHS
def test_the_density_is_chosen_and_kept(desk: Page, alice: User, factory: Factory, width: int) -> None:
    full_list(alice, factory)
    desk.set_viewport_size({"width": width, "height": 900})
    desk.reload()
    before = desk.evaluate(WHOLLY_SEEN)
    group = desk.get_by_role("group", name="Density")
    expect(group.get_by_role("button", name="Compact")).to_have_attribute("aria-pressed", "true")
    group.get_by_role("button", name="Comfortable").focus()
    desk.keyboard.press("Enter")
    expect(group.get_by_role("button", name="Comfortable")).to_have_attribute("aria-pressed", "true")
    assert desk.evaluate(WHOLLY_SEEN) < before
    desk.reload()
    expect(group.get_by_role("button", name="Comfortable")).to_have_attribute("aria-pressed", "true")
    assert desk.evaluate(WHOLLY_SEEN) < before
    assert width == 390 or violations(desk) == []  # there the bar covers a part of the last row
    group.get_by_role("button", name="Compact").click()
    assert desk.evaluate(WHOLLY_SEEN) == before


@WIDTHS
def test_all_that_bulk_creation_made_is_copied(desk: Page, site: str, width: int) -> None:
    """The button has the focus. What it copies is one short link a line, in the order of the destinations."""
    desk.set_viewport_size({"width": width, "height": 800})
    desk.add_init_script(SHARES)
    desk.context.grant_permissions(["clipboard-read", "clipboard-write"])
    desk.reload()
    desk.get_by_role("link", name="Paste many addresses").click()
    desk.get_by_label("Destinations").fill("\n".join(f"https://example.com/{n}" for n in range(30)))
    desk.get_by_role("button", name="Create links").click()
    button = desk.get_by_role("button", name="Copy all")
    expect(button).to_be_focused()
    expect(desk.get_by_role("region", name="30 new short links")).to_be_visible()
    assert violations(desk) == []
    desk.keyboard.press("Enter")
    expect(desk.get_by_role("status").filter(has_text="Copied.").first).to_be_visible()
    lines = desk.evaluate("navigator.clipboard.readText()").splitlines()
    assert len(set(lines)) == 30
    shown = desk.locator("#rows a.name").evaluate_all("all => all.map(one => one.href)")
    assert lines[:-26:-1] == shown
    desk.get_by_role("region", name="new short links").get_by_role("button", name="Share").click()
    assert desk.evaluate("window.shared") == [{"text": "\n".join(lines)}]
    desk.get_by_role("region", name="new short links").get_by_role("button", name="Close").click()
    expect(button).to_have_count(0)
    expect(desk.locator("#rows a.name").first).to_be_focused()


@WIDTHS
def test_a_link_is_shared_from_its_menu_and_after_creation(
    desk: Page, site: str, alice: User, factory: Factory, width: int
) -> None:
    factory.link(alice, "one")
    desk.set_viewport_size({"width": width, "height": 800})
    desk.add_init_script(SHARES)
    desk.reload()
    row(desk, "one").get_by_role("link", name="More").click()
    desk.locator("#row-menu").get_by_role("button", name="Share").click()
    assert desk.evaluate("window.shared") == [{"url": f"{site}/one"}]
    expect(desk.locator("#row-menu")).to_be_hidden()
    desk.get_by_role("link", name="Create link").click()
    desk.get_by_label("Destination", exact=True).first.fill("https://example.com/two")
    desk.get_by_label("Short link").fill("two")
    desk.keyboard.press("Enter")
    message = desk.get_by_role("status").filter(has_text="/two is created.")
    message.get_by_role("button", name="Share").click()
    assert desk.evaluate("window.shared")[1:] == [{"url": f"{site}/two"}]


def count(session: scoped_session[Session], link_id: int, clicks: int) -> None:
    session.merge(LimitCounter(link_id=link_id, clicks=clicks))
    session.commit()


@WIDTHS
def test_clicks_refresh_by_themselves(
    desk: Page,
    alice: User,
    make_link: Callable[..., Link],
    session: scoped_session[Session],
    width: int,
) -> None:
    """One request for all rows that are seen. The focus stays, a tick stays, nothing moves."""
    one, two = (make_link(alice, name).id for name in ("one", "two"))
    count(session, one, 9)
    desk.set_viewport_size({"width": width, "height": 800})
    desk.clock.install()
    desk.reload()
    row(desk, "two").get_by_role("checkbox").check(force=True)
    focused = row(desk, "one").locator(".stat")
    focused.focus()
    desk.evaluate(MOVED)
    asked: list[str] = []
    desk.on("request", lambda request: asked.append(request.url))
    count(session, one, 1234)
    with desk.expect_response(re.compile(r"/links/clicks\?")) as first:
        desk.clock.fast_forward(EVERY)
    assert list(first.value.json()) == [str(one)]
    expect(row(desk, "one")).to_contain_text("1,234 clicks")
    expect(row(desk, "two")).to_contain_text("0 clicks")
    expect(focused).to_be_focused()
    expect(row(desk, "two").get_by_role("checkbox")).to_be_checked()
    with desk.expect_response(re.compile(r"/links/clicks\?")) as second:
        desk.clock.fast_forward(EVERY)
    assert second.value.json() == {}
    count(session, two, 1)
    desk.clock.fast_forward(EVERY)
    expect(row(desk, "two")).to_contain_text(re.compile("1 click,"))
    assert all("/links/clicks?known=" in url for url in asked)
    if width == 1280:  # on a phone the number stands alone and grows to its left
        assert (desk.evaluate("window.moved") or 0) == 0


def test_signed_out_the_rows_stop_asking(
    desk: Page, watch: Watch, alice: User, make_link: Callable[..., Link]
) -> None:
    make_link(alice, "one")
    desk.clock.install()
    desk.reload()
    expect(row(desk, "one")).to_contain_text("0 clicks")
    desk.context.clear_cookies()
    asked: list[str] = []
    desk.on("request", lambda request: asked.append(request.url))
    with desk.expect_response(lambda answer: answer.status == 401):
        desk.clock.fast_forward(EVERY)
    desk.clock.run_for(10 * EVERY)
    assert len(asked) == 1
    assert [text.partition(" status of ")[2][:3] for text in watch.complaints] == ["401"]
    watch.complaints.clear()
