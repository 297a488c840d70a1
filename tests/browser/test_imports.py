"""Import of a file: upload with progress, preview, run and result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.core.config import Settings
from app.import_export import runs
from app.import_export.models import LinkImport
from app.links.models import Link
from tests.browser.test_accessibility import seen
from tests.import_export.conftest import bring
from tests.import_export.test_archive_reader import CARD, FAVICON, links_json, picture, zip_of

__all__ = ["bring"]
pytestmark = [pytest.mark.browser, pytest.mark.full]
TABLE = "keyword,url,title\nfoo,https://example.com/,Foo\nbar,javascript:alert(1),Bar\n"


def test_from_a_file_to_links(desk: Page, session: Any, settings: Settings, tmp_path: Path) -> None:
    desk.get_by_role("link", name="Import, export").click()
    file = desk.get_by_label("File", exact=True)
    bad = tmp_path / "picture.csv"
    bad.write_bytes(b"\x89PNG\0")
    file.set_input_files(bad)
    desk.get_by_role("button", name="Read this file").click()
    expect(desk.get_by_text("This is not text.")).to_be_visible()
    expect(desk.get_by_role("button", name="Read this file")).to_be_enabled()

    good = tmp_path / "yourls.csv"
    good.write_text(TABLE + (" " * 90_000 + "\n") * 130)  # more than the limit of any other body
    file.set_input_files(good)
    desk.get_by_role("button", name="Read this file").click()
    expect(desk.get_by_role("heading", name="yourls.csv")).to_be_visible()
    desk.get_by_role("button", name="Check all rows").click()
    expect(desk.get_by_text("Being checked")).to_be_visible()
    session.rollback()
    job = session.query(LinkImport).one()
    runs.run(job.id, settings)
    expect(desk.get_by_role("button", name="Import 1 link")).to_be_visible()
    expect(desk.get_by_role("listitem").filter(has_text="Destination:").first).to_be_visible()
    desk.get_by_role("button", name="Import 1 link").click()
    expect(desk.get_by_text("In progress", exact=True)).to_be_visible()
    session.rollback()
    runs.run(job.id, settings)
    expect(desk.get_by_text("Done", exact=True)).to_be_visible()
    session.rollback()
    assert [link.url for link in session.query(Link)] == ["foo"]


def test_a_zip_with_pictures(desk: Page, session: Any, settings: Settings, tmp_path: Path) -> None:
    """A good picture, a bad one, and a link whose password is not in the file."""
    desk.get_by_role("link", name="Import, export").click()
    expect(desk.get_by_role("heading", name="Export all links")).to_be_visible()
    assert seen(desk) == {}
    rows = [
        {"url": "good", "cloaking_favicon": FAVICON},
        {"url": "bad", "cloaking_opengraph": CARD},
        {"url": "closed", "has_password": True},
    ]
    file = tmp_path / "waypost.zip"
    file.write_bytes(zip_of([links_json(*rows), (FAVICON, picture()), (CARD, b"no picture")]))
    desk.get_by_label("File", exact=True).set_input_files(file)
    desk.get_by_role("button", name="Read this file").click()
    expect(desk.get_by_role("heading", name="waypost.zip")).to_be_visible()
    desk.get_by_role("button", name="Check all rows").click()
    expect(desk.get_by_text("Being checked")).to_be_visible()
    session.rollback()
    runs.run(session.query(LinkImport).one().id, settings)
    expect(desk.get_by_role("button", name="Import 2 links")).to_be_visible()
    expect(desk.get_by_text("Card picture: This must be a whole picture")).to_be_visible()
    expect(desk.get_by_text("Had a password: It had a password")).to_be_visible()
    assert seen(desk) == {}


def test_left_and_found_again(
    desk: Page, session: Any, settings: Settings, alice: Any, bring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import goes on while the owner is on other pages. Its progress shows again, also in another tab."""
    bring(alice, "location_url\n" + "".join(f"https://example.com/{n}\n" for n in range(40)), rows=40)
    monkeypatch.setattr(runs, "BATCH_SIZE", 10)
    begun = runs.begin(session.query(LinkImport).one(), settings)

    def progress(page: Page, rows: int) -> None:
        bar = page.get_by_role("progressbar", name="Rows behind")
        expect(bar).to_have_attribute("value", str(rows))
        assert bar.get_attribute("max") == "40"
        expect(page.get_by_role("status").filter(has_text=f"{rows} of 40 rows")).to_be_visible()

    def step() -> None:
        begun.step()
        session.rollback()

    find = lambda page: page.get_by_role("link", name="links.csv").click()  # noqa: E731
    desk.get_by_role("link", name="Import, export").click()
    find(desk)
    step()
    progress(desk, 10)
    step()
    progress(desk, 20)  # without a reload
    desk.get_by_role("link", name="Projects").click()
    step()
    desk.get_by_role("link", name="Import, export").click()
    expect(desk.get_by_role("main")).to_contain_text("In progress")
    find(desk)
    progress(desk, 30)
    second = desk.context.new_page()
    second.goto(desk.url)
    progress(second, 30)
    step()
    step()
    for page in (desk, second):
        expect(page.get_by_text("Done", exact=True)).to_be_visible()
        expect(page.get_by_role("progressbar")).to_have_count(0)
    second.close()
    assert session.query(Link).count() == 40


LINKLY = (
    "id,name,url,full_url,domain,slug,enabled,password,clicks_total,inserted_at\n"
    "1,Spring,https://example.com/spring,https://l.test/spring,l.test,spring,true,,7,01/02/2024\n"
    "2,Closed,https://example.com/closed,https://l.test/closed,l.test,closed,true,secret,7,03/04/2024\n"
    "3,Bad,javascript:alert(1),https://l.test/bad,l.test,bad,true,,7,03/04/2024\n"
)


def test_how_a_file_is_read_is_shown_to_everybody(
    desk: Page, session: Any, settings: Settings, tmp_path: Path
) -> None:
    """Columns, the order of dates that must be chosen, and omitted rows: in both themes, on a phone."""
    file = tmp_path / "linkly.csv"
    file.write_text(LINKLY)
    desk.get_by_role("link", name="Import, export").click()
    desk.get_by_label("File", exact=True).set_input_files(file)
    desk.get_by_role("button", name="Read this file").click()
    expect(desk.get_by_text("3 rows, as Linkly writes them.")).to_be_visible()
    expect(desk.get_by_label("full_url")).to_have_value("short_url")
    assert seen(desk) == {}
    order = desk.get_by_label("Order of day, month and year")
    desk.get_by_role("button", name="Check all rows").click()
    expect(order).to_be_focused()  # the browser requires it
    order.select_option(label="Month first: 01/31/2026")
    desk.get_by_role("button", name="Check all rows").click()
    expect(desk.get_by_text("Skipped: id")).to_be_visible()
    session.rollback()
    runs.run(session.query(LinkImport).one().id, settings)
    expect(desk.get_by_role("button", name="Import 2 links")).to_be_visible()
    assert seen(desk) == {}
    desk.get_by_role("button", name="Import 2 links").click()
    expect(desk.get_by_text("In progress", exact=True)).to_be_visible()
    session.rollback()
    runs.run(session.query(LinkImport).one().id, settings)
    expect(desk.get_by_text("Done", exact=True)).to_be_visible()
    session.rollback()
    assert {link.url: (link.datetime.month, link.is_enabled) for link in session.query(Link)} == {
        "spring": (1, True),
        "closed": (3, False),
    }
