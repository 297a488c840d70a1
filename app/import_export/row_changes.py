"""The changes that a row makes to a link that exists: of the cells that differ from an export of it.

What differs goes through the link form, as one edit does. A cell that says what is stored already is not
read, so that an export that was edited in a spreadsheet changes what was edited and nothing else.
"""

# see docs/decisions/2026-11-24-imports-that-update.md
from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from app.core.clock import format_utc
from app.core.errors import Invalid
from app.import_export.attachments import NOTHING, AttachmentName
from app.import_export.row_cells import BESIDE, CHANGES, RowCells, emptied_of, is_edited
from app.import_export.row_pictures import DATA_FIELDS
from app.import_export.row_targets import AliasKey, StoredLink
from app.import_export.row_texts import texts_and_alias
from app.import_export.rows import ImportContext, Reader, RowForm, form_for
from app.import_export.value_parsers import read_color
from app.input.data import RequestData, Value
from app.input.forms import ResourceForm
from app.input.parsers import plain_text
from app.links.aliases import key_of
from app.links.models import Link
from app.links.pictures import Picture

COLUMN_OF = {change: column for column, change in CHANGES.items()}

Difference = list[Any]  # [column, before, after], as an export has the values


class RowChange(NamedTuple):
    """The change of one link: what `links.services.update` gets, and how it is told.

    `alias`: the link's own, to be shown. `alias_key`: domain and alias where it moves. `pixels`, `handlers`,
    `project`: set where one of them may have to be created first.
    """

    link_id: int
    alias: str
    changes: dict[str, Any]
    differences: list[Difference]
    alias_key: AliasKey | None = None
    project: str = ""
    project_color: str | None = None
    pixels: AttachmentName = NOTHING
    handlers: AttachmentName = NOTHING
    datetime: dt.datetime | None = None

    @property
    def is_unchanged(self) -> bool:
        return not self.differences

    @property
    def digest(self) -> str:
        """The same for the same change of the same link in the same state."""
        said = json.dumps([self.link_id, self.differences], default=str)
        return hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=16).hexdigest()


class ChangeForm(RowForm):
    """The form of a row for a link that exists. The link is not read again for it."""

    create_only = frozenset()  # a table has none of these fields

    def stored_values(self, stored: Link) -> dict[str, Any]:
        return {
            **ResourceForm.stored_values(self, stored),
            f"targeting_{stored.targeting_type}": stored.targeting,
        }


def read_change(
    stored: StoredLink, cells: Mapping[str, str], columns: Mapping[str, str], around: ImportContext
) -> RowChange:
    """The change that a row makes. `columns`: field → column. Raises Invalid with all its problems."""
    texts, alias = texts_and_alias(cells, columns, around.conventions)
    edited = {name: text for name, text in texts.items() if is_edited(name, text, stored)}
    if "id" not in texts:  # they said which link it is
        for name in ("url", "domain"):
            edited.pop(name, None)
    emptied = emptied_of(stored, texts, cells, columns) if around.clears_empty else frozenset()
    if not edited and not emptied:
        return RowChange(stored.id, stored.row.url, {}, [])
    return ChangeReader(stored, texts, edited, emptied, alias, columns, around).read()


class ChangeReader(RowCells):
    """Reads the cells that differ as the change of their link."""

    def read(self) -> RowChange:
        """Raises Invalid with all problems of the row."""
        project = self.reader.read("project", lambda text: plain_text(text.strip(), 128), "")
        form = self.form()
        self.password()
        pixels, handlers = self.attachments()
        self.validate(form)
        if "project" in self.emptied:
            self.beside["project_id"], self.after["project"] = None, ""
        elif project:
            self.after["project"] = project
        changes = {**self.differing(form.changes), **self.beside}
        return RowChange(
            self.stored.id,
            self.stored.row.url,
            changes,
            self.differences(changes),
            self.moved_to(changes),
            project,
            Reader(self.texts).read("project_color", read_color) if project else None,
            pixels,
            handlers,
        )

    def form(self) -> RowForm:
        """The form of the cells that differ."""
        sent: list[tuple[str, Value]] = [
            (name, text) for name, text in self.edited.items() if name not in BESIDE
        ]
        sent += [(name, "") for name in self.emptied - BESIDE]
        sent += [*self.address(), *self.flags(), *self.dates(), *self.tags(), *self.targeting()]
        sent += self.pictures()
        return form_for(frozenset(self.columns), ChangeForm)(
            RequestData(sent),
            owner=self.around.owner,
            stored=self.stored.row,
            settings=self.around.settings,
            own_hosts=self.around.own_hosts,
        )

    def validate(self, form: RowForm) -> None:
        """Raises Invalid with the problems of the cells, and those of the form in other fields."""
        problems = self.reader.problems
        form.validate()
        named = {problem.field for problem in problems}
        problems += [problem for problem in form.problems if problem.field not in named]
        if problems:
            raise Invalid(*problems)

    def differing(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The changes of the form without those to what is stored already."""
        return {name: value for name, value in changes.items() if value != self.value_of(name)}

    def value_of(self, name: str) -> Any:
        return self.stored.values["tags"] if name == "tags" else getattr(self.stored.row, name)

    def moved_to(self, changes: Mapping[str, Any]) -> AliasKey | None:
        """The domain and alias that the link gets, if it had others."""
        row = self.stored.row
        found = changes.get("domain_id", row.domain_id) or 0, key_of(changes.get("url") or row.url)
        return found if found != (row.domain_id or 0, key_of(row.url)) else None

    def differences(self, changes: Mapping[str, Any]) -> list[Difference]:
        """Before and after of each column, in the order of the table's columns."""
        after = {
            name: exported_value(value) for name, value in changes.items() if name not in COLUMN_OF
        } | self.after
        found = []
        for name in after:
            before = self.stored.values.get(name)
            is_hidden = name in DATA_FIELDS or name == "password_hash"
            found.append([name, bool(before) if is_hidden else before, after[name]])
        return found


def exported_value(value: Any) -> Any:
    """A change as an export would have it; of a picture only that there is one."""
    if isinstance(value, Picture):
        return True
    return format_utc(value) if isinstance(value, dt.datetime) else value
