"""Which column of somebody's table is which field of a link?

Found by its heading: every service has its own words, and each word means one thing, but for `url`, which is
the destination where no other column is it, and else the short address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from app.transfer.tables import Table

SOME = 100


@dataclass(frozen=True)
class Column:
    """A field that a column can fill: what a person reads, and the headings it goes by, the surest first."""

    label: str
    headings: tuple[str, ...] = ()


def own(label: str, *headings: str) -> Column:
    return Column(label, headings)


WHOLE = ("short url", "short urls", "short link", "link")
# Sources: the help of Bitly ("export all data from the Links page") and of Short.io ("export short links"),
# the programs of Dub and of Shlink's web client, the APIs of Rebrandly and of Kutt (no export: people make
# tables of its answers), and for YOURLS its table in the database and what its plugin Import Export writes.
# In this order: a heading goes to the first field that knows it
COLUMNS: dict[str, Column] = {
    "location_url": own(
        "Destination",
        *(
            "location url",
            "long url",
            "destination url",
            "destination",
            "original url",
            "target url",
            "target",
        ),
        *("original urls", "long link", "redirect url", "redirect to", "full url", "url"),
    ),
    "url": own(
        "Short address",
        *(
            "url",
            "alias",
            "short code",
            "keyword",
            "slashtag",
            "custom back half",
            "back half",
            "slug",
        ),
        *("original path", "original paths", "path", "key", "address", "custom link", "custom bitlink"),
        *("bitlink", *WHOLE, "source"),
    ),
    # what tells the domain, and the alias in rows that have no other
    "short_url": own("Whole short address", *WHOLE),
    "domain": own("Domain", "domain", "host"),
    "title": own("Title", "title", "titles", "link title", "name"),
    "notes": own("Notes", "notes", "note", "description", "comments", "comment"),
    "tags": own("Tags", "tags", "labels", "tag"),
    "project": own("Project", "project", "folder", "campaign", "group"),
    "datetime": own(
        "Created",
        *("datetime", "created at", "created", "creation date", "date created", "created date"),
        "created at date",
        *("timestamp", "date"),
    ),
    "clicks": own(
        "Clicks so far",
        *("clicks", "visits", "visit count", "total clicks", "click count", "visits count", "engagements"),
        *("total engagements", "hits"),
    ),
    "is_enabled": own("Enabled", "is enabled", "enabled", "active", "status", "link status"),
    "schedule": own("Schedule", "schedule"),
    "start_date": own("Start", "start date", "valid since"),
    "end_date": own(
        "End",
        "end date",
        "valid until",
        "expires at",
        "expires at date",
        "expiration",
        "expire in",
        "expires",
    ),
    "clicks_limit": own("Click limit", "clicks limit", "max visits", "click limit"),
    "expiration_url": own("Destination afterwards", "expiration url", "expired url"),
    "sensitive_content": own("Warn before sensitive content", "sensitive content"),
    "http_status_code": own("Kind of redirect", "http status code", "redirect type", "redirect code"),
    "app_linking_is_enabled": own("Open in apps", "app linking is enabled"),
    "cloaking_is_enabled": own("Cloaking", "cloaking is enabled", "cloaking"),
    "cloaking_title": own("Page title", "cloaking title"),
    "cloaking_meta_description": own("Page description", "cloaking meta description"),
    "cloaking_custom_js": own("Script", "cloaking custom js"),
    "forward_query_parameters_is_enabled": own(
        "Forward the visitor's query", "forward query parameters is enabled", "forward query"
    ),
    "utm_source": own("UTM source", "utm source"),
    "utm_medium": own("UTM medium", "utm medium"),
    "utm_campaign": own("UTM campaign", "utm campaign"),
    "targeting_type": own("Send visitors by", "targeting type"),
    "targeting": own("Who goes where", "targeting"),
    "pixels": own("Pixels", "pixels"),
    "handlers": own("Tell", "handlers"),
    "password_hash": own("Password hash", "password hash"),
    "password_version": own("Password version", "password version"),
    # also where a service's file has the password itself: it is not read, but it was there
    "has_password": own(
        "Had a password", *("has password", "password protected", "is password protected", "password")
    ),
}

# the headings by which a service's file is known, in the order of their looking alike
ORIGINS: dict[str, tuple[frozenset[str], ...]] = {
    "Waypost": (frozenset({"url", "locationurl", "targetingtype"}),),
    "YOURLS": (frozenset({"keyword", "url"}), frozenset({"source", "target", "hits"})),
    "Kutt": (frozenset({"address", "target"}),),
    "Rebrandly": (frozenset({"slashtag", "destination"}),),
    "Short.io": (
        frozenset({"path", "originalurl"}),
        frozenset({"originalpath", "originalurl"}),
        frozenset({"shorturls", "originalurls"}),
    ),
    "Shlink": (frozenset({"shortcode", "longurl"}),),
    "Bitly": (
        frozenset({"longurl", "link"}),
        frozenset({"longurl", "bitlink"}),
        frozenset({"link", "destinationurl", "engagements"}),
    ),
    "Dub": (
        frozenset({"shortlink", "destinationurl"}),
        frozenset({"key", "url"}),
        frozenset({"shortlink", "url"}),
    ),
}


def plain(heading: str) -> str:
    """`Long URL`, `long_url` and `longUrl` are the same."""
    return re.sub(r"[\W_]+", "", heading).lower()


def guess(columns: Sequence[str]) -> dict[str, str]:
    """Field → column, as far as the headings tell."""
    found: dict[str, str] = {}
    left = {plain(column): column for column in reversed(columns)}
    for field, column in COLUMNS.items():
        for heading in map(plain, column.headings):
            if heading in left:
                found[field] = left.pop(heading)
                break
    return found


def guess_by_content(columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """For a table without headings: the last column of addresses leads, one of short words is the alias."""
    some = list(rows)
    addresses = [one for one in columns if any("://" in row.get(one, "") for row in some)]
    short = [
        one
        for one in columns
        if one not in addresses and any(re.fullmatch(r"[^\s/]{1,64}", row.get(one, "")) for row in some)
    ]
    fields = {"location_url": addresses[-1:], "url": addresses[:-1] or short}
    return {field: names[0] for field, names in fields.items() if names}


def found(table: Table) -> dict[str, str]:
    """By its headings, or where it has none by what its first rows hold."""
    if table.has_headings:
        return guess(table.columns)
    return guess_by_content(table.columns, [row.cells for row in islice(table.rows(), SOME)])


def origin_of(columns: Sequence[str]) -> str | None:
    """The service whose file this looks like."""
    headings = {plain(column) for column in columns}
    return next((name for name, signs in ORIGINS.items() if any(sign <= headings for sign in signs)), None)
