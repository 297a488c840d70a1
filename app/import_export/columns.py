"""Mapping of a table's columns to the fields of a link, by the headings that each service uses.

Each heading has one meaning, except `url`: it is the destination where no other column is, else the alias.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

from app.i18n.messages import lazy_gettext as _l
from app.import_export.sniff import TableFormat
from app.links.schema import SETTINGS

SOME = 100
WAYPOST, BROWSERS = "Waypost", _l("Browsers")


@dataclass(frozen=True)
class Column:
    """A field that a column can fill: its label, and the headings that mean it, the surest first.

    `is_exported`: whether our own export has it. The others are only in files of other services.
    """

    label: str
    headings: tuple[str, ...] = ()
    is_exported: bool = True


def own(label: str, *headings: str) -> Column:
    return Column(label, headings)


def foreign(label: str, *headings: str) -> Column:
    return Column(label, headings, is_exported=False)


WHOLE = ("short url", "short urls", "secure short url", "short link", "bitlink", "link")
# Sources: Bitly's help ("export all data from the Links page") and API (`GET /v4/groups/{guid}/bitlinks`:
# `link`, `custom_bitlinks`, `is_deleted`); Short.io's help ("export short links") and API; the programs of
# Dub and of Shlink's web client; Shlink's API (docs/swagger/definitions/ShortUrl.json: `meta.validSince`,
# `visitsSummary.total`); Rebrandly's page "Branded short links" (`slashtag`, `shortUrl` without a scheme,
# `domain.fullName`, `forwardParameters`); Kutt's program (`sanitize.link`: `password` is a boolean, `link`
# the short link, `banned`); YOURLS's table in the database and what its plugin Import Export writes;
# Linkly's API and `links.csv` (`url` is the destination and `full_url` the short link, `inserted_at`,
# `expiry_*`, `clicks_total`); Switchy's help "How to use the CSV template" (`link` is the destination) and
# its pages for developers (`linkExpiration`, `passwordProtect`); the Netscape Bookmark File Format
# (bookmarks.py).
# The headings of a link's settings stand in `links.schema`; here are those of all else.
OTHERS: dict[str, Column] = {
    # of a link that exists: see `guess` for the files in which it is another service's
    "id": own(_l("ID"), "id"),
    "url": own(
        _l("Alias"),
        *("url", "alias", "short code", "keyword", "slashtag", "custom back half", "back half", "slug"),
        *("original path", "original paths", "path", "key", "address", "custom link", "custom bitlink"),
        *("custom bitlinks", *WHOLE, "source"),
    ),
    # gives the domain, and the alias in rows without another one
    "short_url": own(_l("Short link"), *WHOLE),
    "domain": own(_l("Domain"), "domain", "host", "domain full name", "domain name"),
    "project": own(_l("Project"), "project", "folder", "campaign", "group"),
    "datetime": own(
        _l("Created"),
        *("datetime", "created at", "created", "creation date", "date created", "created date"),
        *("created at date", "inserted at", "add date", "timestamp", "date"),
    ),
    "last_datetime": own(_l("Last edited"), "last datetime"),
    "clicks": own(
        _l("Clicks so far"),
        *("clicks", "visits", "visit count", "total clicks", "click count", "visits count", "engagements"),
        *("visits summary total", "clicks total", "total engagements", "hits"),
    ),
    "is_disabled": foreign(
        _l("Turned off"), "is disabled", "disabled", "deleted", "is deleted", "banned", "blocked", "trashed"
    ),
    "targeting": own(_l("Targeting"), "targeting"),
    "pixels": own(_l("Pixels"), "pixels"),
    "handlers": own(_l("Notifications"), "handlers"),
    "password_hash": own(_l("Password hash"), "password hash"),
    "password_version": own(_l("Password version"), "password version"),
    # also where a service's file has the password itself: it is not read, but marks the link
    "has_password": own(
        _l("Had a password"),
        *("has password", "password protected", "is password protected", "password protect enable"),
        *("password protect password", "password", "settings password"),
    ),
    # what makes a JSON complete without a ZIP around it
    "project_color": own(_l("Project colour"), "project color"),
    "handler_settings": own(_l("Settings of handlers"), "handler settings"),
    "cloaking_favicon_data": own(_l("Data of the icon"), "cloaking favicon data"),
    "cloaking_opengraph_data": own(_l("Data of the card picture"), "cloaking opengraph data"),
}
OF_SETTINGS = {
    name: own(one.label, name.replace("_", " "), *one.headings)
    for name, one in SETTINGS.items()
    if one.headings is not None
}
# first what a reader of an export looks for, then the settings
FIRST = (
    *("id", "location_url", "url", "short_url", "domain", "title", "notes", "tags", "project", "datetime"),
    *("last_datetime", "clicks", "is_enabled", "is_disabled"),
)
# The order matters: a heading belongs to the first field that lists it
COLUMNS: dict[str, Column] = {
    name: (OF_SETTINGS | OTHERS)[name] for name in dict.fromkeys((*FIRST, *OF_SETTINGS, *OTHERS))
}
EXPORTED = tuple(name for name, column in COLUMNS.items() if column.is_exported)

# the headings by which a service's file is recognised, checked in this order because some look alike
ORIGINS: dict[str, tuple[frozenset[str], ...]] = {
    WAYPOST: (frozenset({"url", "locationurl", "targetingtype"}),),
    "Linkly": (frozenset({"fullurl", "url", "slug"}), frozenset({"fullurl", "url", "clickstotal"})),
    "Switchy": (frozenset({"uniq", "id", "url"}), frozenset({"link", "slug"})),
    BROWSERS: (frozenset({"href", "title", "folder"}),),
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
        frozenset({"bitlink", "custombackhalf"}),
    ),
    "Dub": (
        frozenset({"shortlink", "destinationurl"}),
        frozenset({"key", "url"}),
        frozenset({"shortlink", "url"}),
    ),
}


SERVICES = sorted(ORIGINS.keys() - {WAYPOST, BROWSERS})
# where a service uses a heading for another field than all others do: field → heading, "" for none
MEANT: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        # its description is that of a social card
        "Dub": {"notes": "comments"},
        "Linkly": {"location_url": "url", "short_url": "fullurl"},
        # its pixels are ids of its own, not pixels of an owner here
        "Switchy": {"location_url": "url", "url": "id", "pixels": ""},
    }
)


def normalize_heading(heading: str) -> str:
    """`Long URL`, `long_url` and `longUrl` are the same."""
    return re.sub(r"[\W_]+", "", heading).lower()


def guess(columns: Sequence[str]) -> dict[str, str]:
    """Field → column, as far as the headings show it."""
    left = {normalize_heading(column): column for column in reversed(columns)}
    origin = origin_of(columns)
    # an id of another service is none of Waypost's
    meant = {**({} if origin in {None, WAYPOST} else {"id": ""}), **MEANT.get(origin or "", {})}
    found = {field: left.pop(heading) for field, heading in meant.items() if heading in left}
    for field, column in COLUMNS.items():
        if field not in found and meant.get(field) != "":
            heading = next((one for one in map(normalize_heading, column.headings) if one in left), None)
            if heading is not None:
                found[field] = left.pop(heading)
    return with_destination(found)


def with_destination(found: dict[str, str]) -> dict[str, str]:
    """Without a column for the destination, use one that may be a short link: `link,slug` of Switchy."""
    if "location_url" in found:
        return found
    whole = set(map(normalize_heading, WHOLE))
    field = next(
        (name for name in ("short_url", "url") if normalize_heading(found.get(name, "")) in whole), None
    )
    return {("location_url" if name == field else name): column for name, column in found.items()}


def guess_by_content(columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Field → column for a table without headings: the last column of URLs is the destination.

    The alias is the first other column of URLs, else the first of short words.
    """
    some = list(rows)
    addresses = [one for one in columns if any("://" in row.get(one, "") for row in some)]
    short = [
        one
        for one in columns
        if one not in addresses and any(re.fullmatch(r"[^\s/]{1,64}", row.get(one, "")) for row in some)
    ]
    fields = {"location_url": addresses[-1:], "url": addresses[:-1] or short}
    return {field: names[0] for field, names in fields.items() if names}


def guess_from_table(table: TableFormat) -> dict[str, str]:
    """Field → column for a table, by its headings, or without any by the contents of its first rows."""
    if table.has_headings:
        return with_alias(guess(table.columns), table)
    return guess_by_content(table.columns, [row.cells for row in islice(table.rows(), SOME)])


def with_alias(found: dict[str, str], table: TableFormat) -> dict[str, str]:
    """The same with the alias in place of a destination that has no address in it: `url,title`."""
    if "location_url" not in found or "url" in found:
        return found
    texts = [row.cells.get(found["location_url"], "") for row in islice(table.rows(), SOME)]
    if not any(texts) or any("://" in text or "." in text for text in texts):
        return found
    return {("url" if name == "location_url" else name): column for name, column in found.items()}


def left_out(table_columns: Iterable[str], chosen: Mapping[str, str]) -> list[str]:
    """Columns that are not read. `chosen`: field → column."""
    read = set(chosen.values())
    return [column for column in table_columns if column not in read]


def origin_of(columns: Sequence[str]) -> str | None:
    """The service whose file this looks like."""
    headings = {normalize_heading(column) for column in columns}
    return next((name for name, signs in ORIGINS.items() if any(sign <= headings for sign in signs)), None)
