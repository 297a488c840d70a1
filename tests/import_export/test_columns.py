"""Mapping of columns to fields, for the exports of every service."""

from __future__ import annotations

import pytest

from app.import_export.columns import (
    COLUMNS,
    EXPORTED,
    guess,
    guess_by_content,
    left_out,
    normalize_heading,
    origin_of,
)

FILES = {
    "YOURLS": ("keyword,url,title,timestamp,ip,clicks", "url", "keyword", "timestamp", "clicks"),
    "Kutt": ("address,target,description,visit_count,created_at", "target", "address", "created_at", "visit_count"),
    "Shlink": ("createdAt,domain,shortCode,shortUrl,longUrl,title,tags,visits", "longUrl", "shortCode", "createdAt", "visits"),
    "Dub": ("id,domain,key,url,shortLink,tags,clicks,createdAt", "url", "key", "createdAt", "clicks"),
    "Rebrandly": ("id,title,slashtag,destination,createdAt,clicks,shortUrl", "destination", "slashtag", "createdAt", "clicks"),
    "Short.io": ("Path,Original URL,Title,Tags,Created At,Clicks", "Original URL", "Path", "Created At", "Clicks"),
    "Bitly": ("created_at,link,long_url,title,tags,total_clicks", "long_url", "link", "created_at", "total_clicks"),
    "Waypost": (",".join([*EXPORTED, "last_datetime"]), "location_url", "url", "datetime", "clicks"),
}  # fmt: skip


@pytest.mark.parametrize("origin", FILES)
def test_every_service(origin: str) -> None:
    head, *expected = FILES[origin]
    columns = head.split(",")
    found = guess(columns)
    assert [found.get(field) for field in ("location_url", "url", "datetime", "clicks")] == expected
    assert origin_of(columns) == origin


def test_our_own_are_all_found() -> None:
    assert guess(list(COLUMNS)) == {field: field for field in COLUMNS}


def test_ours_whatever_the_way_it_is_written() -> None:
    assert guess(["Location URL", "UTM-Source"]) == {
        "location_url": "Location URL",
        "utm_source": "UTM-Source",
    }


def test_nothing_known() -> None:
    assert (guess(["a", "b"]), origin_of(["a", "b"])) == ({}, None)


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


def test_yourls_by_its_plugin() -> None:
    head = ["source", "target", "hits"]
    assert origin_of(head) == "YOURLS"
    assert guess(head) == {"location_url": "target", "url": "source", "clicks": "hits"}


def test_short_io_by_its_api() -> None:
    head = ["idString", "shortURL", "originalPath", "path", "originalURL", "title", "clicks", "expiresAt"]
    found = guess(head)
    assert origin_of(head) == "Short.io"
    assert (found["url"], found["short_url"], found["end_date"]) == ("originalPath", "shortURL", "expiresAt")


def test_switchys_template_and_other_lists_of_links() -> None:
    """`link` is the short link, unless no other column is the destination."""
    assert guess(["link", "slug"]) == {"location_url": "link", "url": "slug"}
    assert guess(["Link", "Title"]) == {"location_url": "Link", "title": "Title"}
    assert guess(["short link", "title"]) == {"location_url": "short link", "title": "title"}
    assert guess(["link", "long_url"]) == {"location_url": "long_url", "url": "link"}


def test_linkly_by_its_table() -> None:
    head = [
        "id",
        "name",
        "url",
        "full_url",
        "domain",
        "slug",
        "enabled",
        "deleted",
        "clicks_total",
        "inserted_at",
    ]
    found = guess(head)
    assert origin_of(head) == "Linkly"
    assert [found[field] for field in ("location_url", "short_url", "url", "title", "is_disabled")] == [
        "url", "full_url", "slug", "name", "deleted",
    ]  # fmt: skip
    assert left_out(head, found) == ["id"]


def test_dub_by_its_api() -> None:
    head = [
        "id",
        "domain",
        "key",
        "url",
        "shortLink",
        "password",
        "title",
        "description",
        "comments",
        "createdAt",
    ]
    found = guess(head)
    assert origin_of(head) == "Dub"
    assert [found[field] for field in ("url", "notes", "has_password")] == ["key", "comments", "password"]
    assert left_out(head, found) == ["id", "description"]


def test_a_table_without_a_destination_says_so() -> None:
    assert "location_url" not in guess(["slug", "title"])
