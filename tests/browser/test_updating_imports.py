"""An import that updates links: its choices, its preview, and what it writes; by mouse, keys and on a phone."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.accounts.models import User
from app.core.config import Settings
from app.import_export import runs
from app.import_export.models import LinkImport
from app.links.models import Link
from tests.browser.test_accessibility import seen, sideways

pytestmark = [pytest.mark.browser, pytest.mark.full]


@pytest.fixture
def links(alice: User, make_link: Callable[..., Link]) -> None:
    """Three links of alice's."""
    for name in ("apple", "fig", "plum"):
        make_link(alice, name, location_url=f"https://example.com/{name}", title=name.title())


@pytest.fixture
def work(session: Any, settings: Settings) -> Callable[[], None]:
    """Do what the worker does with the newest import."""

    def run() -> None:
        session.rollback()
        job = session.query(LinkImport).order_by(LinkImport.id.desc()).first()
        runs.run(job.id, settings)
        session.rollback()

    return run


def edit(path: Path, tmp_path: Path) -> Path:
    """The export, edited: two cells of links that exist, a new link, and a row that is wrong."""
    rows = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    by_name = {row["url"]: row for row in rows}
    by_name["apple"]["title"] = "Braeburn"
    by_name["fig"]["location_url"] = "https://example.com/figs?sort=" + "sweet" * 30
    empty = dict.fromkeys(rows[0], "")
    rows.append({**empty, "url": "pear", "location_url": "https://example.com/pear"})
    rows.append({**empty, "id": "999999", "title": "nobody's"})
    edited = tmp_path / "edited.csv"
    with edited.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return edited


def exported(page: Page, tmp_path: Path) -> Path:
    page.get_by_role("link", name="Import, export").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV", exact=True).click()
    download.value.save_as(tmp_path / "links.csv")
    return tmp_path / "links.csv"


def brought(page: Page, file: Path) -> None:
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Read this file").click()
    expect(page.get_by_role("heading", name="edited.csv")).to_be_visible()


def stored(session: Any) -> dict[str, tuple[str | None, str]]:
    session.rollback()
    return {link.url: (link.title, link.location_url) for link in session.query(Link)}


@pytest.mark.usefixtures("links")
@pytest.mark.parametrize("width", [1280, 390])
def test_an_edited_export_comes_back(
    desk: Page, session: Any, work: Callable[[], None], tmp_path: Path, width: int
) -> None:
    before = None
    file = edit(exported(desk, tmp_path), tmp_path)
    desk.set_viewport_size({"width": width, "height": 800})
    before = stored(session)
    brought(desk, file)
    assert desk.get_by_role("radio", name="Leave them as they are").is_checked(), "the safe choice is made"
    expect(desk.get_by_role("group", name="Empty cells of links that are updated")).to_be_hidden()
    desk.get_by_role("radio", name="Update them").check()
    expect(desk.get_by_role("radio", name="Keep the value")).to_be_checked()
    if width == 1280:
        assert seen(desk) == {}
    desk.get_by_role("button", name="Check all rows").click()
    expect(desk.get_by_text("Being checked")).to_be_visible()
    work()
    expect(desk.get_by_role("button", name="Import 1 link, update 2")).to_be_visible()
    kinds = desk.get_by_role("navigation", name="Rows by what happens to them")
    for words in ("New 1", "Changed 2", "Unchanged 1", "Wrong 1"):
        expect(kinds.get_by_role("link", name=words, exact=True)).to_be_visible()
    rows = desk.get_by_role("region", name="Links that change")
    expect(rows.locator("del")).to_have_text(["Apple", "https://example.com/fig"])
    expect(rows.locator("ins")).to_contain_text(["Braeburn", "https://example.com/figs?sort="])
    assert sideways(desk) == []
    if width == 1280:
        assert seen(desk) == {}
    kinds.get_by_role("link", name="Wrong 1").click()
    wrong = desk.get_by_role("region", name="Rows that are wrong")
    expect(wrong).to_contain_text("ID: You have none with the id 999999.")
    expect(wrong).to_contain_text("Line 6")
    assert sideways(desk) == []
    assert wrong.evaluate(
        "e => [...e.querySelectorAll('*')].every(one => one.scrollWidth <= one.clientWidth + 1 "
        "|| getComputedStyle(one).overflowX === 'visible')"
    )
    if width == 1280:
        assert seen(desk) == {}
    assert stored(session) == before, "nothing is written yet"
    desk.get_by_role("button", name="Import 1 link, update 2").click()
    expect(desk.get_by_text("In progress", exact=True)).to_be_visible()
    work()
    expect(desk.get_by_text("Done", exact=True)).to_be_visible()
    expect(desk.get_by_role("region", name="Links that were changed")).to_be_visible()
    after = stored(session)
    assert {name: after[name] for name in ("plum", "pear")} == {
        "plum": before["plum"],
        "pear": (None, "https://example.com/pear"),
    }
    assert after["apple"] == ("Braeburn", "https://example.com/apple")
    assert after["fig"][0] == "Fig"
    assert after["fig"][1].startswith("https://example.com/figs?sort=")
