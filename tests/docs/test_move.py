"""docs/move.md: each example is imported as it stands there, and the link is the one that was exported."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import pytest
import sqlalchemy as sa

from app.accounts.workspaces import access_of
from app.core.folders import ROOT
from app.import_export import columns, files, runs, services, tables
from app.import_export.columns import SERVICES
from app.import_export.models import FailedRow, LinkImport
from app.links.clicks import clicks_of
from app.links.models import Link
from tests.docs.pages import block_after, text_of

EXAMPLES = re.findall(r"<!-- example: (.+) -->", text_of("move.md"))
CREATED = dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
LATER = dt.datetime(2099, 1, 1, tzinfo=dt.UTC)
TAGGED = {"Shlink", "Dub", "Short.io", "Rebrandly"}
# what else comes along: of the title, or of a product's own settings
MORE: dict[str, dict[str, Any]] = {
    "Kutt": {"title": None, "notes": "Spring"},
    "Shlink": {"title": "Spring", "clicks_limit": 100, "end_date": LATER},
    "the same API": {"title": None, "sensitive_content": True, "end_date": LATER},
}


@pytest.fixture
def bring(session, settings, alice):
    def run(text: str) -> LinkImport:
        path = files.new_file(settings.data_dir)
        path.write_text(text)
        looked = services.look(path)
        table = tables.open_table(path)
        job = services.bring(access_of(alice), path, "links", looked)
        fields = {column: field for field, column in looked.columns.items()}
        services.choose(job, table, fields, columns.date_orders(table, looked.columns), "")
        services.start(job, "taking")
        session.commit()
        runs.run(job.id, settings)
        return session.get(LinkImport, job.id, populate_existing=True)

    return run


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_becomes_the_link(session, bring, name: str) -> None:
    job = bring(block_after("move.md", f"example: {name}").text)
    failed = [(row.line, row.problems) for row in session.scalars(sa.select(FailedRow))]
    assert (job.state, job.made, failed) == ("done", 1, [])
    link = session.scalars(sa.select(Link)).one()
    assert (link.url, link.location_url) == ("spring", "https://example.com/spring?a=1")
    assert (link.datetime, clicks_of([link.id])[link.id]) == (CREATED, 7)
    assert [row.tag for row in link.tag_rows] == (["one"] if name in TAGGED else [])
    more = MORE.get(name, {"title": "Spring"})
    assert {field: getattr(link, field) for field in more} == more
    origin = columns.origin_of([*job.columns.values(), *job.left_out])
    assert origin == (name if name in SERVICES else None)


def test_two_pages_of_the_same_api_in_one_file(session, bring) -> None:
    text = block_after("move.md", "example: the same API").text
    assert bring(text + text.replace('"spring"', '"autumn"').replace('"id": 5', '"id": 6')).made == 2


def test_a_password_there_switches_the_link_off(session, bring) -> None:
    text = block_after("move.md", "example: the same API").text
    bring(text.replace('"password": null', '"password": "secret"'))
    assert [link.is_enabled for link in session.scalars(sa.select(Link))] == [False]
    row = session.scalars(sa.select(FailedRow)).one()
    assert [field for field, _ in row.problems] == ["has_password"]
    assert not [cell for cell in row.cells if "secret" in cell]


def test_every_product_that_is_recognised_is_named() -> None:
    page = text_of("move.md")
    assert [name for name in SERVICES if name not in page] == []
    assert {"Bitly", "YOURLS", "Kutt", "Shlink", "Dub", "Short.io", "Rebrandly"} <= set(EXAMPLES)


def test_the_page_says_how_to_name_a_column() -> None:
    option = (ROOT / "app/cli/transfer.py").read_text()
    assert '"--column"' in option
