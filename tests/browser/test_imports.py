"""Import of a file: upload, preview, run and result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.core.config import Settings
from app.import_export import runs
from app.import_export.models import LinkImport
from app.links.models import Link
from tests.import_export.conftest import bring

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
