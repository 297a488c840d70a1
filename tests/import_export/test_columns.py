"""Are the columns of every service's export found?"""

from __future__ import annotations

import pytest

from app.transfer.columns import COLUMNS, guess, guess_by_content, origin_of, plain

FILES = {
    "YOURLS": ("keyword,url,title,timestamp,ip,clicks", "url", "keyword", "timestamp", "clicks"),
    "Kutt": ("address,target,description,visit_count,created_at", "target", "address", "created_at", "visit_count"),
    "Shlink": ("createdAt,domain,shortCode,shortUrl,longUrl,title,tags,visits", "longUrl", "shortCode", "createdAt", "visits"),
    "Dub": ("id,domain,key,url,shortLink,tags,clicks,createdAt", "url", "key", "createdAt", "clicks"),
    "Rebrandly": ("id,title,slashtag,destination,createdAt,clicks,shortUrl", "destination", "slashtag", "createdAt", "clicks"),
    "Short.io": ("Path,Original URL,Title,Tags,Created At,Clicks", "Original URL", "Path", "Created At", "Clicks"),
    "Bitly": ("created_at,link,long_url,title,tags,total_clicks", "long_url", "link", "created_at", "total_clicks"),
    "Waypost": (",".join([*COLUMNS, "last_datetime"]), "location_url", "url", "datetime", "clicks"),
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
    """But `url`, and whole short addresses: they are aliases where nothing else is."""
    whole = {plain(word) for word in COLUMNS["short_url"].headings}
    words = [
        plain(word) for name, column in COLUMNS.items() if name != "short_url" for word in column.headings
    ]
    assert whole <= set(words)
    assert sorted({word for word in words if words.count(word) > 1}) == ["url"]


CONTENT = {
    "destination alone": ([{"a": "https://x.example/"}], {"location_url": "a"}),
    "alias first": ([{"a": "foo", "b": "https://x.example/"}], {"location_url": "b", "url": "a"}),
    "alias last": ([{"a": "https://x.example/", "b": "foo"}], {"location_url": "a", "url": "b"}),
    "a short address": (
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
