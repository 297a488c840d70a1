"""The cells of a row of a link that exists: which of them say something else than the link, and what.

A cell that says what an export of the link has is not edited, in whatever spelling a spreadsheet wrote it.
"""

# see docs/decisions/2026-11-24-imports-that-update.md
from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.errors import FieldError
from app.i18n.messages import lazy_gettext as _l
from app.import_export.attachments import AttachmentName
from app.import_export.link_passwords import HIDDEN, read_hash
from app.import_export.row_pictures import DATA_FIELDS, read_pictures
from app.import_export.row_targets import StoredLink
from app.import_export.row_texts import AliasCell, alias_of
from app.import_export.rows import ImportContext, Reader, read_attachments
from app.import_export.value_parsers import flag_of, host_of, loaded, pairs_of, tags_of, when
from app.input.data import Value
from app.input.parsers import Rejected, parse_boolean

# columns that never change a link that exists
ONLY_NEW = frozenset(
    (
        *("id", "short_url", "datetime", "last_datetime", "clicks", "password_version", "has_password"),
        *("project_color", "handler_settings", *DATA_FIELDS.values()),
    )
)
# columns whose empty cells are never read as "clear this": a link has one of each
NEVER_CLEARED = ONLY_NEW | {"url", "domain", "is_enabled", "is_disabled"}
# columns that are no field of the form by themselves
BESIDE = frozenset(
    (
        *("url", "domain", "project", "tags", "is_enabled", "is_disabled", "pixels", "handlers"),
        *("schedule", "start_date", "end_date", "targeting_type", "targeting", "password_hash", *DATA_FIELDS),
    )
)
DATES = ("start_date", "end_date")
# column → the name that its value has among a link's changes
CHANGES = {
    "project": "project_id",
    "domain": "domain_id",
    "pixels": "pixels_ids",
    "handlers": "email_reports",
}

NO_TYPE = _l("Say in the column of targeting types what these pairs are about.")
UNUSABLE = _l("This domain is not verified, or is turned off.")


def is_edited(name: str, text: str, stored: StoredLink) -> bool:
    return name not in ONLY_NEW and not says(text, stored.values.get(name), name)


def says(text: str, value: Any, name: str) -> bool:
    """Whether a cell says what an export of the link has, in this or another spelling."""
    if isinstance(value, bool):
        return flag_of(text).lower() in (("1", "true", "on", "yes") if value else ("0", "false", "off", "no"))
    if value is None or value in ([], ""):
        return text in ("[]", "{}")
    if isinstance(value, list):
        return (tags_of(text) if name == "tags" else loaded(text)) == value
    return one_line_end(text) == one_line_end(str(value))


def one_line_end(text: str) -> str:
    """The text with the line ends that every spreadsheet writes in its own way."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


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


@dataclass
class RowCells:
    """Reads the cells of one row that differ. `texts` are all of them, `edited` those that differ."""

    stored: StoredLink
    texts: dict[str, str]
    edited: dict[str, str]
    emptied: frozenset[str]
    alias: AliasCell
    columns: Mapping[str, str]
    around: ImportContext

    def __post_init__(self) -> None:
        self.reader = Reader(self.edited)
        self.beside: dict[str, Any] = {}  # changes that no form field makes
        self.after: dict[str, Any] = {}  # their values as an export would have them

    def address(self) -> list[tuple[str, Value]]:
        """The alias; the domain goes past the form, which a table can't say an id in."""
        around = self.around
        hosts = around.all_domains.keys() | around.own_hosts
        url = self.reader.read("url", lambda text: alias_of(text, hosts, is_address=self.alias.is_address))
        if "domain" in self.edited:
            id_ = self.reader.read("domain", self.domain_of)
            if id_ != self.stored.row.domain_id:
                self.beside["domain_id"] = id_
                self.after["domain"] = host_of(self.edited["domain"]) if id_ else ""
        return [("url", url)] if url and url != self.stored.row.url else []

    def domain_of(self, text: str) -> int | None:
        host = host_of(text)
        if host in self.around.domains:
            return self.around.domains[host]
        if host in self.around.all_domains:
            raise Rejected(UNUSABLE, "domain")
        if host in self.around.own_hosts:
            return None
        raise Rejected(_l("You have no domain %(host)s.", host=host), "not_found")

    def flags(self) -> list[tuple[str, Value]]:
        is_disabled = self.reader.read("is_disabled", parse_boolean)
        if is_disabled is not None and (is_disabled or "is_enabled" not in self.edited):
            return [("is_enabled", "0" if is_disabled else "1")]
        return [("is_enabled", flag_of(text)) for name, text in self.edited.items() if name == "is_enabled"]

    def dates(self) -> list[tuple[str, Value]]:
        """The schedule. A date in a row of a link without one switches it on."""
        sent: dict[str, Value] = {}
        if "schedule" in self.edited:
            sent["schedule"] = self.edited["schedule"]
        if "schedule" in self.emptied:
            sent["schedule"] = ""
        for name in DATES:
            moment = self.reader.read(name, lambda text: when(text, self.around.conventions.date_order))
            if moment and not self.is_same_minute(name, moment):
                sent[name] = moment.strftime("%Y-%m-%d %H:%M:%S")
                sent |= {} if self.stored.row.schedule else {"schedule": "1"}
            elif name in self.emptied:
                sent[name] = ""
        return list(sent.items())

    def is_same_minute(self, name: str, moment: dt.datetime) -> bool:
        """Whether the cell has no seconds, which spreadsheets leave out, and means the same otherwise."""
        stored: dt.datetime | None = getattr(self.stored.row, name)
        has_seconds = self.edited[name].count(":") > 1
        return stored is not None and not has_seconds and stored.replace(second=0, microsecond=0) == moment

    def tags(self) -> list[tuple[str, Value]]:
        if "tags" in self.emptied:
            return [("tags", "")]
        found = tags_of(self.edited["tags"]) if "tags" in self.edited else []
        return [("tags", tag) for tag in found] or [("tags", "")] * ("tags" in self.edited)

    def targeting(self) -> list[tuple[str, Value]]:
        """The targeting type and its pairs, which are sent again where the type changes."""
        names = {"targeting_type", "targeting"}
        if "targeting_type" in self.emptied:
            return [("targeting_type", "")]
        if not names & (self.edited.keys() | self.emptied):
            return []
        type_ = self.texts.get("targeting_type", self.stored.row.targeting_type)
        pairs = Reader(self.texts, self.reader.problems).read("targeting", pairs_of, ())
        if not type_:
            if pairs:
                self.reject("targeting", NO_TYPE)
            return []
        sent: list[tuple[str, Value]] = [("targeting_type", type_)]
        for index, pair in enumerate(pairs):
            halves = zip(("key", "value"), pair, strict=True)
            sent += [(f"targeting_{type_}_{half}[{index}]", text) for half, text in halves]
        return sent if pairs else [*sent, (f"targeting_{type_}_key", "")]

    def pictures(self) -> list[tuple[str, Value]]:
        """New pictures. The name of a stored one says that it is the same."""
        sent: list[tuple[str, Value]] = [(name, "") for name in self.emptied & DATA_FIELDS.keys()]
        wanted = {
            name
            for name, data in DATA_FIELDS.items()
            if name in self.edited or (name not in self.texts and data in self.texts)
        }
        fields = wanted | {DATA_FIELDS[name] for name in wanted}
        texts = {name: text for name, text in self.texts.items() if name in fields}
        found = read_pictures(Reader(texts, self.reader.problems).read, texts, self.around.archive)
        for name, why in found.notices:
            self.reject(name, why)
        return [*sent, *found.uploads.items()]

    def password(self) -> None:
        """A hash from another export; the mask that stands for one changes nothing."""
        if "password_hash" in self.emptied:
            self.beside["password_hash"], self.after["password_hash"] = None, False
        if self.edited.get("password_hash", HIDDEN) != HIDDEN:
            self.beside["password_hash"] = self.reader.read("password_hash", read_hash)
            self.after["password_hash"] = True

    def attachments(self) -> tuple[AttachmentName, AttachmentName]:
        """Pixels and handlers; the same ones in another order are no change."""
        wanted = dict(self.texts)
        for name in ("pixels", "handlers"):
            if name in self.emptied:
                self.beside[CHANGES[name]], self.after[name] = [], []
            if name not in self.edited:
                wanted.pop(name, None)
                continue
            names = loaded(self.edited[name])
            if isinstance(names, list) and sorted(map(str, names)) == sorted(
                map(str, self.stored.values[name])
            ):
                wanted.pop(name)
        found = read_attachments(Reader(wanted, self.reader.problems).read, self.around)
        for name, one in zip(("pixels", "handlers"), found, strict=True):
            if name in wanted:
                self.after[name] = loaded(wanted[name])
                if not one.names:
                    self.beside[CHANGES[name]] = one.ids
        return found

    def reject(self, name: str, why: str) -> None:
        self.reader.problems.append(FieldError(why, "format", name))
