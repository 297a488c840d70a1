"""“Try as visitor” in the browser: the answer follows each choice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from app.accounts.models import User
from app.links.models import Link

pytestmark = [pytest.mark.browser, pytest.mark.full]

GERMAN = "https://example.de/"


@pytest.fixture
def link(alice: User, make_link: Callable[..., Link]) -> Link:
    pairs = {"targeting_type": "country_code", "targeting": [["DE", GERMAN]]}
    return make_link(alice, "here", sensitive_content=True, **pairs)


def test_the_answer_follows_what_is_chosen(desk: Page, link: Link) -> None:
    desk.reload()
    desk.get_by_role("link", name="More").click()
    desk.locator("#row-menu").get_by_role("link", name="Try as visitor").click()
    answer = desk.get_by_role("region", name="What the visitor gets")
    expect(answer.get_by_role("status")).to_contain_text("Sees the warning page first")
    desk.get_by_role("checkbox", name="The warning page").check()
    expect(answer.get_by_role("status")).to_contain_text("Redirects to the address below")
    desk.get_by_label("Country", exact=True).select_option("Germany")
    expect(answer).to_contain_text(GERMAN)
    desk.get_by_label("Internet address").fill("nowhere")
    expect(answer).to_contain_text("There is no such visitor.")
    desk.get_by_label("Internet address").fill("")
    expect(answer).to_contain_text(GERMAN)
    desk.get_by_role("link", name="iPhone").click()
    expect(answer).to_contain_text("Phone, iOS, Safari")
    expect(answer).to_contain_text(GERMAN)
    desk.go_back()
    expect(answer).to_contain_text("Unknown device")
