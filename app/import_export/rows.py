"""Reading of one row of a table: the link form validates its texts, and gives the changes for a link."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from app.core.config import Settings
from app.core.errors import FieldError, Invalid
from app.core.urls import Address
from app.i18n.messages import lazy_gettext as _l
from app.import_export.archive_reader import ArchiveReader
from app.import_export.attachments import (
    NOTHING,
    AttachmentName,
    read_descriptions,
    read_handlers,
    read_pixels,
)
from app.import_export.conventions import PLAIN, Conventions
from app.import_export.link_passwords import read_password
from app.import_export.row_pictures import DATA_FIELDS, read_pictures
from app.import_export.row_texts import alias_of, describe_others, hosts_of, texts_and_alias
from app.import_export.value_parsers import (
    Name,
    Read,
    flag_of,
    host_of,
    pairs_of,
    read_color,
    tags_of,
    when,
)
from app.input.data import RequestData, Upload, Value
from app.input.forms import ResourceForm
from app.input.parsers import Rejected, parse_boolean, parse_integer, plain_text
from app.links.forms import PAIRS, LinkForm
from app.links.history import PICTURES

Texts = dict[str, str]
# a table can't contain the first; the second are looked up once for all rows
LEFT_OUT = {"type", "is_bulk", "location_urls"}
LEFT_OUT |= {"domain_id", "project_id", "pixels_ids", "email_reports"}
ALWAYS = {"location_url", "url", "password", "schedule", "start_date", "end_date", "targeting_type"}
MOMENTS = ("datetime", "last_datetime", "start_date", "end_date")
MAX_CLICKS = 2**53
NOT_IN_DIGEST = {"clicks", "project_color", "handler_settings", *DATA_FIELDS.values()}
OTHER_DOMAIN = _l("Its domain is not one of your verified domains. The link uses this site's own address.")


@dataclass(frozen=True)
class ImportContext:
    """What an owner's rows may name, read once for all of them."""

    owner: Any
    settings: Settings
    own_hosts: frozenset[str]
    domains: Mapping[str, int] = field(default_factory=dict)  # verified and enabled ones, by host
    pixels: Mapping[Name, Sequence[int]] = field(default_factory=dict)  # by type and id, and with the name
    handlers: Mapping[Name, Sequence[int]] = field(default_factory=dict)  # by type and name, and settings
    domain_id: int | None = None  # for rows that name none
    project: str = ""
    conventions: Conventions = PLAIN
    archive: ArchiveReader | None = None  # the ZIP that the table came in


class ParsedLink(NamedTuple):
    """A link to be made.

    `digest`: the same whenever the same row is imported again. `pixels`, `handlers`: set where one of them
    has to be created first, else they are among the changes. `project_color`: for a new project. `notices`:
    what its owner must know about it, as [field, text].
    """

    changes: dict[str, Any]
    project: str
    clicks: int
    datetime: dt.datetime | None
    digest: str
    pixels: AttachmentName = NOTHING
    handlers: AttachmentName = NOTHING
    notices: list[list[str]] = []  # noqa: RUF012  never changed
    project_color: str | None = None


class RowForm(LinkForm):
    """The link form without fields that tables can't contain; values common to all rows are passed to it."""

    def settle(self) -> None:
        for name in PAIRS:
            if name in self and name != f"targeting_{self.chosen_targeting}":
                self[name].ignore()

    def own_hosts(self, addresses: Sequence[Address]) -> Collection[str]:  # noqa: ARG002
        hosts: Collection[str] = self.meta.own_hosts
        return hosts


@dataclass(frozen=True)
class Reader:
    """Parses the texts of a row, and collects their problems."""

    texts: Texts
    problems: list[FieldError] = field(default_factory=list)

    def read(self, name: str, how: Callable[[str], Any], otherwise: Any = None) -> Any:
        try:
            return how(self.texts[name]) if name in self.texts else otherwise
        except Rejected as rejected:
            problem = rejected.args[0]
            self.problems.append(FieldError(problem.title, problem.code, name))
            return otherwise


@lru_cache(64)
def form_for(fields: frozenset[str]) -> type[RowForm]:
    """A form class with these fields only: building all forty takes longer than the rest of a row's work."""
    named = [name for name in dir(LinkForm) if hasattr(getattr(LinkForm, name), "field_class")]
    kept = (
        fields
        | ALWAYS
        | ({"is_enabled"} if "is_disabled" in fields else set())
        | (set(PAIRS) if "targeting" in fields else set())
        | {name for name, data in DATA_FIELDS.items() if data in fields}
    )
    return type("RowForm", (RowForm,), dict.fromkeys(set(named) - kept | LEFT_OUT))


def read_row(cells: Mapping[str, str], columns: Mapping[str, str], around: ImportContext) -> ParsedLink:
    """The link that a row describes. `columns`: field → column. Raises Invalid with all its problems."""
    texts, alias = texts_and_alias(cells, columns, around.conventions)
    digest = digest_of(texts)
    reader = Reader(texts)
    read, problems = reader.read, reader.problems
    beside = {
        "domain_id": read(
            "domain",
            lambda text: domain_of(text, around),
            domain_of_short(alias.text, alias.whole_address, around),
        ),
    }
    hosts = hosts_of(texts, alias.whole_address) | around.domains.keys() | around.own_hosts
    url = read("url", lambda text: alias_of(text, hosts, is_address=alias.is_address), "")
    is_disabled = read("is_disabled", parse_boolean, otherwise=False)
    pixels, handlers = read_attachments(read, around)
    beside |= {"pixels_ids": pixels.ids, "email_reports": handlers.ids}
    moments = {name: read(name, lambda text: when(text, around.conventions.date_order)) for name in MOMENTS}
    beside["last_datetime"] = moments["last_datetime"]
    clicks = read("clicks", lambda text: parse_integer(text.replace(",", ""), 0, MAX_CLICKS), 0)
    project, color = read_project(read, around)
    password = read_password(read, texts)
    pictures = read_pictures(read, texts, around.archive)
    texts |= {"url": url or ""} | ({"is_enabled": "0"} if is_disabled else {})
    pairs = read("targeting", pairs_of, ())
    form = filled(texts, pictures.uploads, moments, pairs, frozenset(columns), around)
    form.validate()
    problems += [problem for problem in form.problems if problem.field not in {one.field for one in problems}]
    if problems:
        raise Invalid(*problems)
    changes = form.changes | {name: value for name, value in beside.items() if value} | password.changes
    notices = [*password.notices, *pictures.notices]
    if loses_domain(texts.get("domain", ""), around):
        notices.append(["domain", OTHER_DOMAIN])
    if alias.others:
        notices.append(["url", describe_others(alias.others)])
    return ParsedLink(changes, project, clicks, moments["datetime"], digest, pixels, handlers, notices, color)


def filled(
    texts: Texts,
    pictures: Mapping[str, Upload],
    moments: Mapping[str, dt.datetime | None],
    pairs: Collection[tuple[str, str]],
    fields: frozenset[str],
    around: ImportContext,
) -> ResourceForm:
    sent: dict[str, Value] = {"schedule": "1"} if moments["start_date"] or moments["end_date"] else {}
    sent |= {name: text for name, text in texts.items() if name not in PICTURES}
    sent |= pictures
    if "is_enabled" in texts:
        sent["is_enabled"] = flag_of(texts["is_enabled"])
    for name in ("start_date", "end_date"):
        if moments[name]:
            sent[name] = moments[name].strftime("%Y-%m-%d %H:%M:%S")  # type: ignore[union-attr]
        else:
            sent.pop(name, None)
    sent.pop("tags", None)
    several: list[tuple[str, Value]] = [("tags", tag) for tag in tags_of(texts.get("tags", ""))]
    for index, pair in enumerate(pairs):
        halves = zip(("key", "value"), pair, strict=True)
        several += [
            (f"targeting_{texts.get('targeting_type')}_{half}[{index}]", text) for half, text in halves
        ]
    form: Any = form_for(fields)
    found: ResourceForm = form(
        RequestData([*sent.items(), *several]),
        owner=around.owner,
        settings=around.settings,
        own_hosts=around.own_hosts,
    )
    return found


def read_project(read: Read, around: ImportContext) -> tuple[str, str | None]:
    """The project of a row, and its colour where the row has both."""
    project = read("project", lambda text: plain_text(text.strip(), 128), "")
    return (project, read("project_color", read_color)) if project else (around.project, None)


def read_attachments(read: Read, around: ImportContext) -> tuple[AttachmentName, AttachmentName]:
    """The pixels and handlers of a row."""
    listed = around.archive.handlers if around.archive else {}
    own = read("handler_settings", read_descriptions, ())
    return (
        read("pixels", lambda text: read_pixels(text, around.pixels, around.owner), NOTHING),
        read(
            "handlers",
            lambda text: read_handlers(text, own, around.handlers, listed, around.owner, around.settings),
            NOTHING,
        ),
    )


def domain_of(text: str, around: ImportContext) -> int | None:
    host = host_of(text)
    if host in around.domains:
        return around.domains[host]
    return around.domain_id


def loses_domain(text: str, around: ImportContext) -> bool:
    """Whether an export of Waypost's names a domain that its owner does not have here, and chose no other."""
    is_missing = bool(text) and host_of(text) not in {*around.domains, *around.own_hosts}
    return around.conventions.is_own and is_missing and around.domain_id is None


def domain_of_short(address: str, whole_address: str, around: ImportContext) -> int | None:
    """The domain by a row's whole short link, else the import's default."""
    whole = [text for text in (address, whole_address) if "/" in text.strip("/")]
    return domain_of(whole[0], around) if whole else around.domain_id


def digest_of(texts: Texts) -> str:
    """The same for a row of an older export, which left out what the row's names stand for."""
    written = json.dumps(sorted((name, text) for name, text in texts.items() if name not in NOT_IN_DIGEST))
    return hashlib.blake2b(written.encode("utf-8", "replace"), digest_size=16).hexdigest()
