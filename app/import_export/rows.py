"""Reading of one row of a table: what it says of a new link, or changes of one that exists.

The cells go through the link form, as one edit does. Of a link that exists only the cells that differ from
an export of it are read, in whatever spelling a spreadsheet wrote them, so that an edited export changes what
was edited and nothing else.
"""

# see docs/decisions/2026-11-24-imports-that-update.md
from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from app.core.clock import format_utc
from app.core.errors import FieldError, Invalid
from app.core.urls import Address
from app.i18n.messages import lazy_gettext as _l
from app.import_export import cells as parsers
from app.import_export.attachments import (
    NOTHING,
    AttachmentName,
    read_descriptions,
    read_handlers,
    read_pixels,
)
from app.import_export.context import AliasKey, ImportContext, StoredLink
from app.import_export.dates import when
from app.input.data import RequestData, Value
from app.input.forms import ResourceForm
from app.input.parsers import Rejected, parse_boolean, parse_integer, plain_text
from app.links.aliases import key_of
from app.links.forms import PAIRS, LinkForm
from app.links.models import Link
from app.links.pictures import Picture

Sent = list[tuple[str, Value]]
Difference = list[Any]  # [column, before, after], as an export has the values
# a table can't contain the first; the second are looked up once for all rows
LEFT_OUT = {"type", "is_bulk", "location_urls"}
LEFT_OUT |= {"domain_id", "project_id", "pixels_ids", "email_reports"}
ALWAYS = {"location_url", "url", "password", "schedule", "start_date", "end_date", "targeting_type"}
DATES = ("start_date", "end_date")
MAX_CLICKS = 2**53
# columns that never change a link that exists
ONLY_NEW = frozenset(
    (
        *("id", "short_url", "datetime", "last_datetime", "clicks", "password_version", "has_password"),
        *("project_color", "handler_settings", *parsers.DATA_FIELDS.values()),
    )
)
NOT_IN_DIGEST = {"id", "clicks", "project_color", "handler_settings", *parsers.DATA_FIELDS.values()}
# columns whose empty cells are never read as "clear this": a link has one of each
NEVER_CLEARED = ONLY_NEW | {"url", "domain", "is_enabled", "is_disabled"}
# columns that are no field of the form by themselves
BESIDE = ONLY_NEW | {
    *("url", "domain", "project", "tags", "is_enabled", "is_disabled", "pixels", "handlers"),
    *("schedule", *DATES, "targeting_type", "targeting", "password_hash", *parsers.DATA_FIELDS),
}
# column → the name that its value has among a link's changes
CHANGES = {
    "project": "project_id",
    "domain": "domain_id",
    "pixels": "pixels_ids",
    "handlers": "email_reports",
}
OTHER_DOMAIN = _l("Its domain is not one of your verified domains. The link uses this site's own address.")
NO_TYPE = _l("Say in the column of targeting types what these pairs are about.")
UNUSABLE = _l("This domain is not verified, or is turned off.")


@dataclass(frozen=True)
class ParsedRow:
    """What a row asks for: a link to be made, or the change of the link `link_id`.

    `digest`: the same for the same row, or for the same change of the same link in the same state. `pixels`,
    `handlers`: set where one of them has to be created first, else they are among the changes. `alias_key`:
    the domain and alias that the row takes; None where it takes none, or a generated one. `notices`: what the
    owner must know about a new link, as [field, text].
    """

    changes: dict[str, Any]
    differences: list[Difference]
    digest: str = ""
    alias: str = ""
    alias_key: AliasKey | None = None
    link_id: int | None = None
    project: str = ""
    project_color: str | None = None  # for a new project
    pixels: AttachmentName = NOTHING
    handlers: AttachmentName = NOTHING
    clicks: int = 0
    datetime: dt.datetime | None = None
    notices: list[list[str]] = field(default_factory=list)

    @property
    def is_new(self) -> bool:
        return self.link_id is None

    @property
    def is_unchanged(self) -> bool:
        return not self.is_new and not self.differences


class RowForm(LinkForm):
    """The link form without fields that tables can't contain; values common to all rows are passed to it."""

    create_only = frozenset()  # a table has none of these fields

    def settle(self) -> None:
        for name in PAIRS:
            if name in self and name != f"targeting_{self.chosen_targeting}":
                self[name].ignore()

    def own_hosts(self, addresses: Sequence[Address]) -> Collection[str]:  # noqa: ARG002
        hosts: Collection[str] = self.meta.own_hosts
        return hosts

    def stored_values(self, stored: Link) -> dict[str, Any]:
        """The link is not read again for them."""
        pairs = {f"targeting_{stored.targeting_type}": stored.targeting}
        return {**ResourceForm.stored_values(self, stored), **pairs}


@lru_cache(64)
def form_for(fields: frozenset[str]) -> type[RowForm]:
    """A form class with these fields only: building all forty takes longer than the rest of a row's work."""
    named = [name for name in dir(LinkForm) if hasattr(getattr(LinkForm, name), "field_class")]
    kept = (
        fields
        | ALWAYS
        | ({"is_enabled"} if "is_disabled" in fields else set())
        | (set(PAIRS) if "targeting" in fields else set())
        | {name for name, data in parsers.DATA_FIELDS.items() if data in fields}
    )
    return type("RowForm", (RowForm,), dict.fromkeys(set(named) - kept | LEFT_OUT))


def read_row(
    cells: Mapping[str, str],
    columns: Mapping[str, str],
    around: ImportContext,
    stored: StoredLink | None = None,
) -> ParsedRow:
    """What a row asks for, of the link `stored` or of a new one. `columns`: field → column.

    Raises Invalid with all problems of the row.
    """
    row = RowParser(cells, columns, around, stored)
    if stored is not None and not row.read and not row.emptied:
        return ParsedRow({}, [], alias=stored.row.url, link_id=stored.row.id)
    return row.parse()


class RowParser:
    """Parses the cells of a row, and collects their problems.

    `texts` are all of them, `read` those that are read, `emptied` the fields to clear. `beside` are the
    changes that no field of the form makes, `after` their values as an export would have them.
    """

    def __init__(
        self,
        cells: Mapping[str, str],
        columns: Mapping[str, str],
        around: ImportContext,
        stored: StoredLink | None,
    ) -> None:
        self.columns, self.around, self.stored = columns, around, stored
        self.texts, self.alias = parsers.texts_and_alias(cells, columns, around.conventions)
        self.read, self.emptied = self.texts, frozenset[str]()
        if stored is not None:
            self.read = {
                name: text
                for name, text in self.texts.items()
                if name not in ONLY_NEW and not stored.says(name, text)
            }
            if "id" not in self.texts:  # they said which link it is
                self.read = {name: text for name, text in self.read.items() if name not in {"url", "domain"}}
            if around.clears_empty:
                self.emptied = emptied_of(stored, self.texts, cells, columns)
        self.problems: list[FieldError] = []
        self.notices: list[list[str]] = []
        self.beside: dict[str, Any] = {}
        self.after: dict[str, Any] = {}

    def parse(self) -> ParsedRow:
        project = self.cell("project", lambda text: plain_text(text.strip(), 128), "")
        color = self.cell("project_color", parsers.read_color, texts=self.texts) if project else None
        created = self.cell("datetime", self.moment)
        clicks = self.cell("clicks", lambda text: parse_integer(text.replace(",", ""), 0, MAX_CLICKS), 0)
        form = self.form()
        self.password()
        pixels, handlers = self.attachments()
        form.validate()
        named = {problem.field for problem in self.problems}
        self.problems += [problem for problem in form.problems if problem.field not in named]
        if self.problems:
            raise Invalid(*self.problems)
        if self.stored is not None:
            return self.change(form.changes, project, color, pixels, handlers)
        changes = form.changes | self.beside
        url = changes.get("url") or ""
        return ParsedRow(
            changes,
            [["location_url", None, changes.get("location_url")]],
            digest_of(self.texts),
            url,
            (changes.get("domain_id") or 0, key_of(url)) if url else None,
            project=project or self.around.project,
            project_color=color,
            pixels=pixels,
            handlers=handlers,
            clicks=clicks,
            datetime=created,
            notices=self.notices,
        )

    def change(
        self,
        changes: dict[str, Any],
        project: str,
        color: str | None,
        pixels: AttachmentName,
        handlers: AttachmentName,
    ) -> ParsedRow:
        assert self.stored is not None  # noqa: S101  only called for a link that exists
        row = self.stored.row
        if "project" in self.emptied:
            self.beside["project_id"], self.after["project"] = None, ""
        elif project:
            self.after["project"] = project
        changes = {name: value for name, value in changes.items() if value != self.stored_value(name)}
        changes |= self.beside
        differences = self.differences(changes)
        key = changes.get("domain_id", row.domain_id) or 0, key_of(changes.get("url") or row.url)
        return ParsedRow(
            changes,
            differences,
            hash_of([row.id, differences]),
            row.url,
            key if key != (row.domain_id or 0, key_of(row.url)) else None,
            link_id=row.id,
            project=project,
            project_color=color,
            pixels=pixels,
            handlers=handlers,
        )

    def stored_value(self, name: str) -> Any:
        if self.stored is None:
            return None
        return self.stored.values["tags"] if name == "tags" else getattr(self.stored.row, name)

    def differences(self, changes: Mapping[str, Any]) -> list[Difference]:
        """Before and after of each column."""
        beside = set(CHANGES.values())
        after = {name: exported_value(value) for name, value in changes.items() if name not in beside}
        stored = self.stored.values if self.stored else {}
        return [
            [name, shown_value(name, stored.get(name)), value] for name, value in (after | self.after).items()
        ]

    # --- the cells

    def cell(
        self,
        name: str,
        how: Callable[[str], Any],
        otherwise: Any = None,
        texts: Mapping[str, str] | None = None,
    ) -> Any:
        """The value of a cell that is read; `otherwise` where there is none, or it has a problem."""
        texts = self.read if texts is None else texts
        try:
            return how(texts[name]) if name in texts else otherwise
        except Rejected as rejected:
            problem = rejected.args[0]
            self.problems.append(FieldError(problem.title, problem.code, name))
            return otherwise

    def moment(self, text: str) -> dt.datetime:
        return when(text, self.around.conventions.date_order)

    def form(self) -> RowForm:
        """The form of the cells that are read."""
        sent: Sent = [(name, text) for name, text in self.read.items() if name not in BESIDE]
        sent += [(name, "") for name in self.emptied - BESIDE]
        self.domain()
        sent += [*self.address(), *self.flags(), *self.dates(), *self.tags(), *self.targeting()]
        sent += self.pictures()
        return form_for(frozenset(self.columns))(
            RequestData(sent),
            owner=self.around.owner,
            stored=self.stored.row if self.stored else None,
            settings=self.around.settings,
            own_hosts=self.around.own_hosts,
        )

    def domain(self) -> None:
        """The domain goes past the form: a table can't say its id."""
        around, text = self.around, self.texts.get("domain", "")
        if self.stored is None:
            named = text or self.alias.named_domain
            id_ = around.domains.get(parsers.host_of(named), around.domain_id) if named else around.domain_id
            self.beside |= {"domain_id": id_} if id_ else {}
            is_here = not text or parsers.host_of(text) in {*around.domains, *around.own_hosts}
            if around.conventions.is_own and not is_here and around.domain_id is None:
                self.notices.append(["domain", OTHER_DOMAIN])
        elif "domain" in self.read:
            id_ = self.cell("domain", self.usable_domain)
            if id_ != self.stored.row.domain_id:
                self.beside["domain_id"], self.after["domain"] = id_, parsers.host_of(text) if id_ else ""

    def usable_domain(self, text: str) -> int | None:
        host = parsers.host_of(text)
        if host in self.around.domains:
            return self.around.domains[host]
        if host in self.around.all_domains:
            raise Rejected(UNUSABLE, "domain")
        if host in self.around.own_hosts:
            return None
        raise Rejected(_l("You have no domain %(host)s.", host=host), "not_found")

    def address(self) -> Sent:
        def alias(text: str) -> str:
            hosts = parsers.hosts_of(self.texts, self.alias.whole_address)
            hosts |= self.around.all_domains.keys() | self.around.own_hosts
            return parsers.alias_of(text, hosts, is_address=self.alias.is_address)

        url = self.cell("url", alias, "")
        if self.stored is not None:
            return [("url", url)] if url and url != self.stored.row.url else []
        if self.alias.others:
            self.notices.append(["url", parsers.describe_others(self.alias.others)])
        return [("url", url)]

    def flags(self) -> Sent:
        is_disabled = self.cell("is_disabled", parse_boolean)
        if is_disabled is not None and (is_disabled or "is_enabled" not in self.read):
            return [("is_enabled", "0" if is_disabled else "1")]
        return [("is_enabled", parsers.flag_of(self.read["is_enabled"]))] if "is_enabled" in self.read else []

    def dates(self) -> Sent:
        """The schedule. A date in a row of a link without one switches it on."""
        sent: dict[str, Value] = {"schedule": self.read["schedule"]} if "schedule" in self.read else {}
        if "schedule" in self.emptied:
            sent["schedule"] = ""
        for name in DATES:
            moment = self.cell(name, self.moment)
            if moment and not self.is_same_minute(name, moment):
                sent[name] = moment.strftime("%Y-%m-%d %H:%M:%S")
                if self.stored is None or not self.stored.row.schedule:
                    sent.setdefault("schedule", "1")
            elif name in self.emptied:
                sent[name] = ""
        if self.stored is None and (edited := self.cell("last_datetime", self.moment)):
            self.beside["last_datetime"] = edited
        return list(sent.items())

    def is_same_minute(self, name: str, moment: dt.datetime) -> bool:
        """Whether the cell has no seconds, which spreadsheets leave out, and means the same otherwise."""
        stored: dt.datetime | None = self.stored_value(name)
        has_seconds = self.read[name].count(":") > 1
        return stored is not None and not has_seconds and stored.replace(second=0, microsecond=0) == moment

    def tags(self) -> Sent:
        found: Sent = [("tags", tag) for tag in parsers.tags_of(self.read.get("tags", ""))]
        is_cleared = "tags" in self.emptied or (self.stored is not None and "tags" in self.read)
        return found or [("tags", "")] * is_cleared

    def targeting(self) -> Sent:
        """The targeting type and its pairs, which are sent again where the type changes."""
        if "targeting_type" in self.emptied:
            return [("targeting_type", "")]
        if not {"targeting_type", "targeting"} & (self.read.keys() | self.emptied):
            return []
        type_ = self.texts.get("targeting_type", self.stored_value("targeting_type"))
        pairs = self.cell("targeting", parsers.pairs_of, (), self.texts)
        if not type_:
            if pairs and self.stored is not None:
                self.problems.append(FieldError(NO_TYPE, "format", "targeting"))
            return []
        sent: Sent = [("targeting_type", type_)]
        for index, pair in enumerate(pairs):
            halves = zip(("key", "value"), pair, strict=True)
            sent += [(f"targeting_{type_}_{half}[{index}]", text) for half, text in halves]
        is_cleared = self.stored is not None and not pairs
        return [*sent, (f"targeting_{type_}_key", "")] if is_cleared else sent

    def pictures(self) -> Sent:
        """New pictures. The name of a stored one says that it is the same."""
        wanted = [
            (name, data)
            for name, data in parsers.DATA_FIELDS.items()
            if name in self.read or (name not in self.texts and data in self.texts)
        ]
        texts = {name: self.texts[name] for pair in wanted for name in pair if name in self.texts}

        def read(name: str, how: Callable[[str], Any]) -> Any:
            return self.cell(name, how, None, texts)

        uploads, notices = parsers.read_pictures(read, texts, self.around.archive)
        if self.stored is None:
            self.notices += notices
        else:
            self.problems += [FieldError(why, "format", name) for name, why in notices]
        return [*((name, "") for name in self.emptied & parsers.DATA_FIELDS.keys()), *uploads.items()]

    def password(self) -> None:
        """A hash from an export, or a mark that there was a password; the mask changes no stored one."""
        text = self.read.get("password_hash", "")
        hashed = self.cell("password_hash", parsers.read_hash) if text != parsers.HIDDEN else None
        if self.stored is None:
            if hashed is not None:
                self.beside |= {"password_hash": hashed, "password_version": 1}
            elif text == parsers.HIDDEN or self.cell("has_password", parsers.had_password, otherwise=False):
                self.beside["is_enabled"] = False
                self.notices.insert(0, ["has_password", parsers.SWITCHED_OFF])
            version = self.cell("password_version", lambda text: parse_integer(text, 0, parsers.MAX_VERSION))
            self.beside |= {} if version is None else {"password_version": version}
        elif "password_hash" in self.emptied:
            self.beside["password_hash"], self.after["password_hash"] = None, False
        elif text not in {"", parsers.HIDDEN}:
            self.beside["password_hash"], self.after["password_hash"] = hashed, True

    def attachments(self) -> tuple[AttachmentName, AttachmentName]:
        """Pixels and handlers; the same ones in another order are no change."""
        around, own = self.around, self.cell("handler_settings", read_descriptions, (), self.texts)
        return (
            self.attached("pixels", lambda text: read_pixels(text, around.pixels, around.owner)),
            self.attached(
                "handlers",
                lambda text: read_handlers(text, own, around.handlers, around.owner, around.settings),
            ),
        )

    def attached(self, name: str, how: Callable[[str], AttachmentName]) -> AttachmentName:
        if name in self.emptied:
            self.beside[CHANGES[name]], self.after[name] = [], []
        if name not in self.read or self.is_same_list(name):
            return NOTHING
        found: AttachmentName = self.cell(name, how, NOTHING)
        self.after[name] = parsers.loaded(self.read[name])
        if not found.names:
            self.beside[CHANGES[name]] = found.ids
        return found

    def is_same_list(self, name: str) -> bool:
        """Whether the link has the same ones in another order."""
        names = parsers.loaded(self.read[name]) if self.stored else None
        stored = self.stored.values[name] if self.stored else ()
        return isinstance(names, list) and sorted(map(str, names)) == sorted(map(str, stored))


# --- values


def emptied_of(
    stored: StoredLink, texts: Mapping[str, str], cells: Mapping[str, str], columns: Mapping[str, str]
) -> frozenset[str]:
    """The fields whose cells are empty, of those that the link has a value for."""
    return frozenset(
        name
        for name, column in columns.items()
        if column in cells
        and name not in NEVER_CLEARED
        and name not in texts
        and stored.values.get(name) not in (None, [], "", False)
    )


def exported_value(value: Any) -> Any:
    """A change as an export would have it; of a picture only that there is one."""
    if isinstance(value, Picture):
        return True
    return format_utc(value) if isinstance(value, dt.datetime) else value


def shown_value(name: str, value: Any) -> Any:
    """A stored value as differences have it: of a picture or a password only that there is one."""
    return bool(value) if name in parsers.DATA_FIELDS or name == "password_hash" else value


def digest_of(texts: Mapping[str, str]) -> str:
    """The same where two rows differ only in the link's id, its clicks, or in what their names stand for."""
    return hash_of(sorted((name, text) for name, text in texts.items() if name not in NOT_IN_DIGEST))


def hash_of(value: Any) -> str:
    written = json.dumps(value, default=str)
    return hashlib.blake2b(written.encode("utf-8", "replace"), digest_size=16).hexdigest()
