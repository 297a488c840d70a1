"""Mapping of columns to fields, for the exports of every service."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.import_export.columns import (
    COLUMNS,
    EXPORTED,
    NULLS,
    conventions_of,
    date_orders,
    guess,
    guess_by_content,
    guess_from_table,
    normalize_heading,
    origin_of,
)
from app.import_export.tables import TableFormat, open_table


def table(tmp_path: Path, text: str) -> TableFormat:
    path = tmp_path / "links.csv"
    path.write_text(text)
    return open_table(path)


def test_our_own_are_all_found() -> None:
    assert guess(list(COLUMNS)) == {field: field for field in COLUMNS}


def test_ours_whatever_the_way_it_is_written() -> None:
    assert guess(["Location URL", "UTM-Source"]) == {
        "location_url": "Location URL",
        "utm_source": "UTM-Source",
    }


def test_no_heading_means_two_fields_at_once() -> None:
    """Except `url` and whole short links: they are aliases where no other column is."""
    whole = {normalize_heading(word) for word in COLUMNS["short_url"].headings}
    words = [
        normalize_heading(word)
        for name, column in COLUMNS.items()
        if name != "short_url"
        for word in column.headings
    ]
    assert whole <= set(words)
    assert sorted({word for word in words if words.count(word) > 1}) == ["url"]


CONTENT = {
    "destination alone": ([{"a": "https://x.example/"}], {"location_url": "a"}),
    "alias first": ([{"a": "foo", "b": "https://x.example/"}], {"location_url": "b", "url": "a"}),
    "alias last": ([{"a": "https://x.example/", "b": "foo"}], {"location_url": "a", "url": "b"}),
    "a short link": (
        [{"a": "https://s.example/foo", "b": "https://x.example/"}],
        {"location_url": "b", "url": "a"},
    ),
    "nothing": ([{"a": "long words here"}], {}),
}


@pytest.mark.parametrize(("rows", "expected"), CONTENT.values(), ids=CONTENT.keys())
def test_without_headings(rows: list[dict[str, str]], expected: dict[str, str]) -> None:
    assert guess_by_content(list(rows[0]), rows) == expected


# as their own programs write them: the labels of Dub's export of links, the columns of Shlink's web client, what Bitly's and
# Short.io's help say of their exports, YOURLS's plugin "Import Export", Kutt's API
WRITTEN = {
    "Bitly": ("Link,Custom Link,Date created,Title,Destination URL,Engagements,Status,Tags", "Destination URL", "Custom Link"),
    "Short.io": ("ID strings,Short URLs,Original paths,Original URLs,Titles,Clicks,Created at (date),Updated at (date),Expires at (date),Tags", "Original URLs", "Original paths"),
    "Kutt": ("id,address,link,target,description,visit_count,created_at,updated_at,expire_in,tags", "target", "address"),
    "YOURLS": ("keyword,url,title,timestamp,ip,clicks,tags", "url", "keyword"),
    "Dub": ("Short link,Destination URL,Clicks,Leads,Conversions,Revenue,Created at,Link ID,Updated at,Tags", "Destination URL", "Short link"),
    "Shlink": ("createdAt,title,shortUrl,domain,shortCode,longUrl,tags,visits", "longUrl", "shortCode"),
}  # fmt: skip


@pytest.mark.parametrize("origin", WRITTEN)
def test_as_their_own_programs_write_them(origin: str) -> None:
    head, destination, alias = WRITTEN[origin]
    found = guess(head.split(","))
    assert (origin_of(head.split(",")), found["location_url"], found["url"]) == (origin, destination, alias)
    assert {"clicks", "datetime", "tags"} <= set(found)


def test_switchys_template_and_other_lists_of_links() -> None:
    """`link` is the short link, unless no other column is the destination."""
    assert guess(["link", "slug"]) == {"location_url": "link", "url": "slug"}
    assert guess(["Link", "Title"]) == {"location_url": "Link", "title": "Title"}
    assert guess(["short link", "title"]) == {"location_url": "short link", "title": "title"}
    assert guess(["link", "long_url"]) == {"location_url": "long_url", "url": "link"}


IDS: dict[str, tuple[str, bool]] = {
    # headings, and whether an id among them is one of Waypost's
    "an export of Waypost": ("id,url,location_url,targeting_type", True),
    "a numbered sheet": ("id,alias,destination", False),
    "Pretty Links": ("id,url,slug,name,redirect_type", False),
    "Linkly": ("id,name,url,full_url,slug,clicks_total", False),
    "Switchy": ("id,uniq,url", False),
}


@pytest.mark.parametrize(("headings", "is_ours"), IDS.values(), ids=IDS)
def test_whose_an_id_is(headings: str, *, is_ours: bool) -> None:
    assert ("id" in guess(headings.split(","))) == is_ours


COLUMNS_CALLED_URL: dict[str, tuple[str, str]] = {
    "addresses are the destination": ("https://example.com/", "location_url"),
    "addresses without a scheme, too": ("example.com", "location_url"),
    "words are the alias": ("spring", "url"),
}


@pytest.mark.parametrize(("cell", "field"), COLUMNS_CALLED_URL.values(), ids=COLUMNS_CALLED_URL)
def test_what_a_column_called_url_is(tmp_path: Path, cell: str, field: str) -> None:
    assert guess_from_table(table(tmp_path, f"url,title\n{cell},Spring\n")) == {
        field: "url",
        "title": "title",
    }


# --- conventions

TABLES = {
    "aliases": ("keyword,url\nfoo,https://a.example/\n", (True, False)),
    "aliases with slashes": ("keyword,url\nblog/launch,https://a.example/\nx,\n", (True, False)),
    "addresses": ("custom link,long url\nbit.ly/foo,https://a.example/\n,https://b.example/\nNULL,https://c.example/\n", (True, True)),
    "addresses with schemes": ("bitlink,long url\nhttps://bit.ly/foo,https://a.example/\n", (True, True)),
    "both": ("slug,long url\nhttps://bit.ly/foo,https://a.example/\nblog/launch,https://b.example/\n", (True, False)),
    "no alias at all": ("keyword,url\n,https://a.example/\n", (True, False)),
    "JSON has a null of its own": ('[{"slug":"foo","long_url":"https://a.example/"}]', (False, False)),
    "our own export": (f"{','.join(EXPORTED)}\ndocs.example/foo\n", (False, False)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TABLES.values(), ids=TABLES)
def test_conventions(tmp_path: Path, text: str, expected: tuple[bool, bool]) -> None:
    found = table(tmp_path, text)
    told = conventions_of(found, guess(found.columns))
    assert (told.nulls >= NULLS, told.has_addresses) == expected


def test_dates_of_all_columns_tell_the_order_together(tmp_path: Path) -> None:
    found = table(
        tmp_path, "url,created,expires\nhttps://a.example/,01/02/2026,\nhttps://a.example/,NULL,31/01/2027\n"
    )
    assert date_orders(found, {"datetime": "created"}).is_open
    assert date_orders(found, {"datetime": "created", "end_date": "expires"}).order == "day"
    assert not date_orders(found, {"title": "created"}).possible


@pytest.mark.parametrize("bound", ["MAX_ROWS", "MAX_CHARACTERS"])
def test_only_so_much_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    rows = "".join(f"https://a.example/,{date}\n" for date in ["01/02/2026"] * 100 + ["31/01/2026"])
    found = table(tmp_path, f"url,created\n{rows}")
    named = {"datetime": "created"}
    assert date_orders(found, named).order == "day"
    monkeypatch.setattr(f"app.import_export.columns.{bound}", 50)
    assert date_orders(found, named).is_open
