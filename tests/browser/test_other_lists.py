"""Searching in every list: a search is one step of the history, and its rows come once."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect

from app.accounts.models import User
from tests.browser.test_leaving import stepped_back
from tests.factories import Factory

pytestmark = [pytest.mark.browser, pytest.mark.full]
MAKE: dict[str, Callable[[Factory, User, str], Any]] = {
    "links": lambda factory, owner, name: factory.link(owner, name),
    "pixels": lambda factory, owner, name: factory.pixel(owner, name=name),
    "handlers": lambda factory, owner, name: factory.handler(owner, name=name),
    "projects": lambda factory, owner, name: factory.project(owner, name=name),
    "domains": lambda factory, owner, name: factory.domain(owner, f"{name}.example"),
    "users": lambda factory, owner, name: factory.user(f"{name}@example.org"),
}


@pytest.fixture
def listed(desk: Page, alice: User, factory: Factory, site: str, width: int, place: str) -> Page:
    """A list with two rows of which one is found by "app", after a look at another page."""
    alice.is_admin = True
    factory.session.commit()
    for name in ("apple", "pear"):
        MAKE[place](factory, alice, name)
    desk.set_viewport_size({"width": width, "height": 800})
    desk.goto(f"{site}/dashboard/{place}/")
    return desk


@pytest.mark.parametrize(("width", "place"), [*zip(cycle([1280, 390]), MAKE, strict=False)])
def test_a_search_is_one_step_and_its_rows_stay(listed: Page, place: str, width: int, site: str) -> None:
    field, rows = listed.locator(".tools input[type=search]"), listed.locator("#rows > .row")
    before = rows.count()
    field.focus()
    for letter in "app":
        with listed.expect_response(re.compile(rf"/{place}/\?")):
            listed.keyboard.type(letter)
    expect(rows).to_have_count(1)
    expect(listed).to_have_url(re.compile("search=app(&|$)"))
    listed.evaluate("document.querySelector('#rows > .row').dataset.kept = 'yes'")
    asked: list[Request] = []
    listed.on("request", lambda request: asked.append(request))
    listed.keyboard.press("Tab")  # the field's `change`
    listed.locator("h1").click()
    opened = rows.locator("[aria-haspopup=dialog]:visible").last
    opened.click()
    expect(listed.locator("#sheet :focus")).to_have_count(1)
    listed.keyboard.press("Escape")
    expect(opened).to_be_focused()
    assert [one.url for one in asked if "?" in one.url and f"/{place}/?" in one.url] == []
    expect(rows).to_have_attribute("data-kept", "yes")
    stepped_back(listed)
    listed.evaluate("setTimeout(() => history.back())")
    expect(listed).to_have_url(f"{site}/dashboard/{place}/")
    expect(field).to_have_value("")
    expect(rows).to_have_count(before)
    listed.evaluate("setTimeout(() => history.forward())")
    expect(field).to_have_value("app")
    expect(rows).to_have_count(1)
