"""Imports of files as services write them: which values are kept, left out, or switched off.

The shapes are those of their documentation and programs; import_export/origins.toml says where each is from.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from app.accounts.models import User
from app.core.errors import Invalid
from app.import_export import columns
from app.import_export.models import FailedRow, LinkImport
from app.links.clicks import clicks_of
from app.links.models import Link

CREATED = dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
DESTINATION = "https://example.com/a?b=c"
SHLINK = {
    "shortCode": "spring", "shortUrl": "https://s.test/spring", "longUrl": DESTINATION,
    "dateCreated": "2024-01-02T05:04:05+02:00", "visitsSummary": {"total": 7, "nonBots": 6, "bots": 1}, "tags": ["one", "two"],
    "meta": {"validSince": None, "validUntil": "2099-01-01T00:00:00+00:00", "maxVisits": 100},
    "domain": None, "title": "Spring", "crawlable": False, "forwardQuery": True, "hasRedirectRules": False,
}  # fmt: skip
KUTT = {
    "id": "0f2e6b3c-7d1e-4f3a-9a57-54b6a4b5a1e0", "address": "spring", "banned": False, "created_at": "2024-01-02T03:04:05.000Z",
    "description": "Spring", "expire_in": None, "link": "https://kutt.test/spring", "password": False, "target": DESTINATION,
    "updated_at": "2024-01-02T03:04:05.000Z", "visit_count": 7,
}  # fmt: skip
REBRANDLY = {
    "id": "ffs24cc5b6ee4a5gh7897b06ac2d16d4", "title": "Spring", "slashtag": "spring", "destination": DESTINATION,
    "createdAt": "2024-01-02T03:04:05.000Z", "updatedAt": "2024-01-02T03:04:05.000Z", "status": "active",
    "tags": [{"id": "1", "name": "one", "color": "ff0000"}, {"id": "2", "name": "two"}], "clicks": 7,
    "shortUrl": "rebrand.test/spring", "domainName": "rebrand.test",
    "domain": {"id": "8f104cc5", "ref": "/domains/8f104cc5", "fullName": "rebrand.test", "active": True},
    "https": True, "favourite": False, "forwardParameters": True,
}  # fmt: skip
BITLY = {
    "created_at": "2024-01-02T03:04:05+0000", "id": "bit.test/3usiGLP", "link": "https://bit.test/3usiGLP",
    "custom_bitlinks": ["https://go.test/spring"], "long_url": DESTINATION, "title": "Spring", "archived": False,
    "is_deleted": False, "tags": ["one", "two"], "deeplinks": [], "references": {"group": "https://api.test/v4/groups/Bl51nCLP9RG"},
}  # fmt: skip
SWITCHY = {
    "uniq": 1234, "id": "spring", "domain": "hi.test", "url": DESTINATION, "title": "Spring", "description": "For a card",
    "note": "Mine", "tags": ["one", "two"], "clicks": 7, "createdDate": "2024-01-02T03:04:05.123+00:00", "folderId": 5,
    "pixels": [{"id": "x", "platform": "twitter", "title": "y", "value": "z"}],
    "linkExpiration": {"enable": False, "timezone": 4, "url": "", "end": "2021-12-29T10:03:51.421Z"},
    "passwordProtect": {"enable": False, "password": ""},
}  # fmt: skip
LINKLY = "id,name,note,url,full_url,domain,slug,enabled,deleted,utm_source,utm_content,password,expiry_datetime,expiry_clicks,expiry_destination,forward_params,clicks_total,clicks_thirty_days,inserted_at,updated_at\n"
BROWSER = f"""<!DOCTYPE NETSCAPE-Bookmark-file-1>
<TITLE>Bookmarks</TITLE>
<DL><p><DT><H3>Spring</H3><DL><p>
<DT><A HREF="{DESTINATION}" ADD_DATE="1704164645" TAGS="one,two">Spring</A>
</DL><p></DL><p>
"""
YOURLS = f"""-- MySQL dump
INSERT INTO `yourls_log` VALUES (1,'2024-01-02 03:04:05','spring','direct','x','127.0.0.1','DE');
INSERT INTO `yourls_url` VALUES ('spring','{DESTINATION}','Spring','2024-01-02 03:04:05','127.0.0.1',7);
"""

# origin, alias, clicks, tags, columns left out, something else that is kept
FILES: dict[str, tuple[str, tuple[str, str, int, list[str]], list[str], dict[str, Any]]] = {
    "Shlink's API": (
        json.dumps({"shortUrls": {"data": [SHLINK], "pagination": {"currentPage": 1}}}, indent=2),
        ("Shlink", "spring", 7, ["one", "two"]),
        ["visitsSummary.nonBots", "visitsSummary.bots", "crawlable", "hasRedirectRules"],
        {"clicks_limit": 100, "forward_query_parameters_is_enabled": True, "title": "Spring"},
    ),
    "Kutt's API": (
        json.dumps({"total": 1, "limit": 10, "skip": 0, "data": [KUTT]}),
        ("Kutt", "spring", 7, []),
        ["id", "updated_at"],
        {"notes": "Spring", "is_enabled": True},
    ),
    "Rebrandly's API": (
        json.dumps([REBRANDLY]),
        ("Rebrandly", "spring", 7, ["one", "two"]),
        ["id", "updatedAt", "domainName", "domain.id", "domain.ref", "domain.active", "https", "favourite"],
        {"forward_query_parameters_is_enabled": True},
    ),
    "Bitly's API": (
        json.dumps({"links": [BITLY], "pagination": {"total": 1}}),
        ("Bitly", "spring", 0, ["one", "two"]),
        ["id", "archived", "deeplinks", "references.group"],
        {"title": "Spring"},
    ),
    "Switchy's API": (
        json.dumps({"data": {"links": [SWITCHY]}}),
        ("Switchy", "spring", 7, ["one", "two"]),
        ["uniq", "description", "folderId", "pixels", "linkExpiration.timezone", "passwordProtect.password"],
        {"notes": "Mine", "schedule": False, "end_date": None},
    ),
    "Linkly's table": (
        f"{LINKLY}1,Spring,Mine,{DESTINATION},https://l.test/spring,l.test,spring,true,false,news,x,,2099-01-01 00:00:00,100,https://example.com/over,true,7,3,2024-01-02T03:04:05,2024-01-02T03:04:05\n",
        ("Linkly", "spring", 7, []),
        ["id", "utm_content", "clicks_thirty_days", "updated_at"],
        {"title": "Spring", "notes": "Mine", "clicks_limit": 100, "utm_source": "news", "expiration_url": "https://example.com/over"},
    ),
    "Bitly's table": (
        f"Bitlink,Custom Back-half,Long URL,Title,Date created,Engagements\nhttps://bit.test/3abc,spring,{DESTINATION},Spring,2024-01-02T03:04:05Z,7\n",
        ("Bitly", "spring", 7, []),
        [],
        {"title": "Spring"},
    ),
    "a browser's bookmarks": (BROWSER, ("Browsers", "", 0, ["one", "two"]), [], {"title": "Spring"}),
    "a dump of YOURLS": (YOURLS, ("YOURLS", "spring", 7, []), ["ip"], {"title": "Spring"}),
}  # fmt: skip


@pytest.fixture
def bring(upload: Callable[..., LinkImport], alice: User) -> Callable[[str], LinkImport]:
    """`bring(text)`: an import of this file as its owner's."""
    return lambda text: upload(alice, text.encode())


def problems(session, job, *, is_made: bool = False) -> list[tuple[int, list[list[str]]]]:
    rows = sa.select(FailedRow).filter_by(import_id=job.id, is_made=is_made).order_by(FailedRow.number)
    return [(row.line, row.problems) for row in session.scalars(rows)]


def made(session) -> list[Link]:
    return list(session.scalars(sa.select(Link).order_by(Link.id)))


@pytest.mark.parametrize("name", FILES)
def test_from_the_file_to_the_links(session, bring, name) -> None:
    text, (origin, alias, clicks, tags), left_out, kept = FILES[name]
    job = bring(text)
    assert (job.state, job.made, problems(session, job)) == ("done", 1, [])
    names = [*job.columns.values(), *job.left_out]
    assert (columns.origin_of(names), job.left_out) == (origin, left_out)
    [link] = made(session)
    assert (link.location_url, [row.tag for row in link.tag_rows]) == (DESTINATION, tags)
    assert link.url == alias or not alias
    assert (link.datetime, clicks_of([link.id])[link.id]) == (CREATED, clicks)
    assert {field: getattr(link, field) for field in kept} == kept


def as_json(*rows: dict[str, Any]) -> str:
    return json.dumps({"data": rows})


SLASHES = {
    "Shlink": as_json(SHLINK | {"shortCode": "blog/launch", "shortUrl": "https://s.test/blog/launch"}),
    "YOURLS": YOURLS.replace("spring", "blog/launch"),
    "YOURLS by its plugin": "source,target,hits\n/blog/launch/,https://example.com/,1\n",
    "whole addresses": "Short URL,Long URL\ns.test/blog/launch,https://example.com/\n",
}


@pytest.mark.parametrize("text", SLASHES.values(), ids=SLASHES)
def test_an_alias_with_a_slash_comes_whole(session, bring, text) -> None:
    job = bring(text)
    assert [link.url for link in made(session)] == ["blog/launch"], problems(session, job)


def test_the_code_of_a_bitlink_is_kept_where_there_is_no_other(session, bring) -> None:
    job = bring(
        "Bitlink,Custom Back-half,Long URL\n"
        "bit.test/3abc,spring,https://example.com/1\n"
        "bit.test/4def,,https://example.com/2\n"
        "https://bit.test/5ghi,NULL,https://example.com/3\n"
    )
    assert job.columns["short_url"] == "Bitlink"
    assert [link.url for link in made(session)] == ["spring", "4def", "5ghi"]


def test_a_link_with_several_aliases_says_which_are_not_made(session, bring) -> None:
    job = bring(as_json(BITLY | {"custom_bitlinks": ["https://go.test/spring", "https://go.test/other"]}))
    ((line, [[field, text]]),) = problems(session, job, is_made=True)
    assert (line, field, "https://go.test/other" in text) == (1, "url", True)


EMPTY = ("[]", "-- MySQL dump\nINSERT INTO `wp_posts` VALUES (1);\n", "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL></DL>")  # fmt: skip


@pytest.mark.parametrize("text", EMPTY)
def test_a_file_without_links_says_so(bring, settings, text) -> None:
    with pytest.raises(Invalid, match=r"There (is|are) no"):
        bring(text)
    assert list((settings.data_dir / "imports").iterdir()) == []
