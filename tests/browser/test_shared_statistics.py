"""Share addresses in the browser: made by mouse and keys, opened without an account, embedded, ended."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from sqlalchemy import select, update
from werkzeug.serving import make_server

from app.accounts.passwords import hash_password
from app.analytics.sharing import services
from app.analytics.sharing.models import StatisticsShare
from app.core import clock
from tests.browser.conftest import ELSEWHERE
from tests.browser.test_accessibility import NARROW, OF_COLOURS, sideways, violations
from tests.factories import Factory
from tests.past import Past

pytestmark = [pytest.mark.browser, pytest.mark.full]
WIDTHS = (1280, 390)


@pytest.fixture(autouse=True)
def uses_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uses that the process has counted and not yet written are those of other tests."""
    monkeypatch.setattr(services, "_uses", {})
    monkeypatch.setattr(services, "_written", {})
    monkeypatch.setattr(services, "USE_SECONDS", 0.0)  # each is written at once


@pytest.fixture
def visitor(browser: Browser) -> Iterator[BrowserContext]:
    """A browser of somebody without an account."""
    context = browser.new_context()
    yield context
    context.close()


def resize(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})


def create(desk: Page, where: str, name: str, **options: Any) -> str:
    """Share the statistics that a page shows, by mouse; returns the address."""
    desk.goto(where)
    desk.locator("#share > summary").click()
    desk.get_by_role("link", name="Create share address").click()
    dialog = desk.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill(name)
    if password := options.get("password"):
        dialog.get_by_label("Password", exact=False).first.fill(password)
    if "hosts" in options:
        dialog.get_by_role("switch", name="Allow embedding").check()
        dialog.get_by_label("Sites that may embed it").fill(options["hosts"])
    dialog.get_by_role("button", name="Create share address").click()
    return desk.locator("#share-address").inner_text()


class TheirSite:
    """Another site on this machine: a page of its own with the code in it. (A page that a test makes up has no
    address, and Chromium lets such a page frame nothing on this machine.)"""

    def __init__(self, port: int, page: dict[str, str]) -> None:
        self.host, self.page = f"{ELSEWHERE}:{port}", page

    def open(self, visitor: BrowserContext, snippet: str, width: int = 1280) -> Page:
        self.page["body"] = f"<h1>Theirs</h1>{snippet}"
        page = visitor.new_page()
        resize(page, width)
        page.goto(f"http://{self.host}/")
        return page


@pytest.fixture
def theirs() -> Iterator[TheirSite]:
    page = {"body": ""}

    def answer(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "text/html")])
        return [page["body"].encode()]

    server = make_server("127.0.0.1", 0, answer)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield TheirSite(server.server_port, page)
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("width", WIDTHS)
def test_embedded_in_another_site(
    width: int, desk: Page, site: str, past: Past, visitor: BrowserContext, theirs: TheirSite
) -> None:
    create(desk, f"{site}/dashboard/statistics/", "Our clicks", hosts=theirs.host)
    snippet = desk.locator("#share-snippet").inner_text()
    assert snippet.startswith(f'<iframe src="{site}/dashboard/shared/')
    page = theirs.open(visitor, snippet, width)
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", name="Our clicks")).to_be_visible()
    expect(frame.locator("[data-chart] canvas")).to_be_visible()
    frame.get_by_role("link", name="Visitors").click()
    expect(frame.locator(".total[aria-current]")).to_contain_text("Visitors")
    assert visitor.cookies() == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe(
    theme: Any, desk: Page, site: str, past: Past, factory: Factory, browser: Browser, session: Any
) -> None:
    _, shown = factory.share(past.owner, name="Figures", is_embeddable=True, least=5)
    _, locked = factory.share(past.owner, password_hash=hash_password("open sesame"))
    over, ended = factory.share(past.owner, name="Over")
    session.execute(
        update(StatisticsShare).where(StatisticsShare.id == over.id).values(revoked_datetime=clock.now())
    )
    session.commit()
    context = browser.new_context(color_scheme=theme, reduced_motion="reduce")
    page = context.new_page()
    found = {}
    paths = (shown, f"{shown}/embed", locked, ended, "unknown")
    for path in paths:
        for size in ({"width": 1280, "height": 800}, NARROW):
            page.set_viewport_size(size)  # type: ignore[arg-type]
            page.goto(f"{site}/dashboard/shared/{path}")
            found[f"{path}, {size['width']}"] = [*violations(page), *sideways(page)]
    page.goto(f"{site}/dashboard/shared/{locked}")
    page.get_by_label("Password").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    found["wrong password"] = violations(page)
    context.close()
    desk.emulate_media(color_scheme=theme, reduced_motion="reduce")
    shares = session.scalars(select(StatisticsShare.id).order_by(StatisticsShare.id)).all()
    session.rollback()
    for path in ("shares/", "shares/new", f"shares/{shares[0]}", f"shares/{shares[0]}/revoke"):
        for width in (1280, 320):
            resize(desk, width)
            desk.goto(f"{site}/dashboard/{path}")
            found[f"{path}, {width}"] = [*violations(desk), *sideways(desk)]
    resize(desk, 1280)
    desk.goto(f"{site}/dashboard/statistics/")
    desk.locator("#share > summary").click()
    found["menu"] = violations(desk, "#share", rules=None if theme == "light" else OF_COLOURS)
    desk.get_by_role("link", name="Create share address").click()
    expect(desk.get_by_role("dialog").get_by_label("Name", exact=True)).to_be_visible()
    found["dialog"] = [*violations(desk), *sideways(desk)]
    assert {where: what for where, what in found.items() if what} == {}
