"""Does a file go from the owner's disk to her links, with a sign of how much of it is sent?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.config import Settings
from app.links.models import Link
from app.transfer import taking
from app.transfer.models import LinkImport

pytestmark = pytest.mark.browser
TABLE = "keyword,url,title\nfoo,https://example.com/,Foo\nbar,javascript:alert(1),Bar\n"


def test_from_a_file_to_links(desk: Page, session: Any, settings: Settings, tmp_path: Path) -> None:
    desk.get_by_role("link", name="Import, export").click()
    file = desk.get_by_label("File", exact=True)
    bad = tmp_path / "picture.csv"
    bad.write_bytes(b"\x89PNG\0")
    file.set_input_files(bad)
    desk.get_by_role("button", name="Look at this file").click()
    expect(desk.get_by_text("This is no text.")).to_be_visible()
    expect(desk.get_by_role("button", name="Look at this file")).to_be_enabled()

    good = tmp_path / "yourls.csv"
    good.write_text(TABLE + (" " * 90_000 + "\n") * 130)  # more than any other body may have
    file.set_input_files(good)
    desk.get_by_role("button", name="Look at this file").click()
    expect(desk.get_by_role("heading", name="yourls.csv")).to_be_visible(timeout=60_000)
    desk.get_by_role("button", name="Check all rows").click()
    expect(desk.get_by_text("Being checked")).to_be_visible()
    session.rollback()
    job = session.query(LinkImport).one()
    taking.run(job.id, settings)
    expect(desk.get_by_role("button", name="Make 1 link")).to_be_visible(timeout=60_000)
    expect(desk.get_by_role("cell", name="Destination:")).to_be_visible()
    desk.get_by_role("button", name="Make 1 link").click()
    expect(desk.get_by_text("Under way", exact=True)).to_be_visible()
    session.rollback()
    taking.run(job.id, settings)
    expect(desk.get_by_text("Done", exact=True)).to_be_visible(timeout=60_000)
    assert [link.url for link in session.query(Link)] == ["foo"]
