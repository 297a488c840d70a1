"""JSON Schemas of form fields by their class, so that a new form needs no code here."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from app.domains.forms import HostField, RedirectUrlField
from app.i18n.messages import in_english
from app.input.fields import (
    ChoiceField,
    DateTimeField,
    FlagField,
    ListField,
    PatternField,
    SentField,
    TextField,
    UploadField,
    WholeField,
)
from app.input.forms import IdsField, OwnIdField, ResourceForm
from app.links.aliases import MAX_LENGTH as MOST_ALIAS
from app.links.destination import MAX_URL_LENGTH as MOST_DESTINATION
from app.links.fields import (
    MAX_TAG,
    AliasField,
    DestinationField,
    DestinationsField,
    PairsField,
    TagsField,
)
from app.links.targeting import MAX_PAIRS, TYPES
from app.notifications.event_fields import ClickFilterField, ClickFilterForm, EventTypesField
from app.notifications.fields import EmailSettingField

Schema = dict[str, Any]
ID: Schema = {"type": "integer", "minimum": 1}
# not `format: uri`: browsers accept more than RFC 3986 allows, and so does the contract
ADDRESS: Schema = {"type": "string", "maxLength": MOST_DESTINATION, "description": "An absolute address."}


# no control characters, except line ends and tabs in texts of several lines
ONE_LINE, MANY_LINES = (
    r"^[^\u0000-\u001f\u007f-\u009f]*$",
    r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$",
)
# segments separated by single slashes, none starting with a dot; no portable pattern can name the letters
ALIAS_SEGMENTS = r"^(?:[^/.\s][^/\s]*(?:/[^/.\s][^/\s]*)*)?$"


@singledispatch
def schema_of(_: SentField) -> Schema:
    return {"type": "string"}


@schema_of.register
def _(field: TextField) -> Schema:
    pattern = MANY_LINES if field.lines else ONE_LINE
    return {"type": "string", "maxLength": field.most, "pattern": pattern}


@schema_of.register
def _(field: PatternField) -> Schema:
    pattern = f"(?:{field.pattern.pattern})?" if field.can_be_empty else field.pattern.pattern
    return {"type": "string", "maxLength": field.most, "pattern": f"^{pattern}$"}


@schema_of.register
def _(_: FlagField) -> Schema:
    return {"type": "boolean"}


@schema_of.register
def _(field: WholeField) -> Schema:
    return {"type": "integer", "minimum": field.least, "maximum": field.most}


@schema_of.register
def _(_: OwnIdField) -> Schema:
    return {"type": "integer", "minimum": 0, "description": "0 is none."}


@schema_of.register
def _(field: ChoiceField) -> Schema:
    known = list(field.choices)
    return {"type": "integer" if isinstance(known[0], int) else "string", "enum": known}


@schema_of.register
def _(_: DateTimeField) -> Schema:
    return {"type": "string", "examples": ["2026-01-31 18:30:00"]}


@schema_of.register
def _(field: ListField) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "maxItems": field.most_members}


@schema_of.register
def _(field: TagsField) -> Schema:
    item = {"type": "string", "maxLength": MAX_TAG, "pattern": ONE_LINE}
    return {"type": "array", "items": item, "maxItems": field.most_members}


@schema_of.register
def _(_: IdsField) -> Schema:
    return {"type": "array", "items": ID}


@schema_of.register
def _(_: UploadField) -> Schema:
    return {"type": "string", "format": "binary", "description": "A file, so in a multipart body."}


@schema_of.register
def _(_: AliasField) -> Schema:
    return {
        "type": "string",
        "maxLength": MOST_ALIAS,
        "pattern": ALIAS_SEGMENTS,
        "description": "Letters, digits, emoji and - _ . ~; / between two others. Empty: a random one.",
    }


@schema_of.register
def _(_: DestinationField) -> Schema:
    return dict(ADDRESS)


@schema_of.register
def _(_: RedirectUrlField) -> Schema:
    return dict(ADDRESS)


@schema_of.register
def _(_: DestinationsField) -> Schema:
    return {"type": "array", "items": ADDRESS, "maxItems": 1000, "description": "Or a text, one a line."}


@schema_of.register
def _(_: HostField) -> Schema:
    return {"type": "string", "format": "idn-hostname"}


@schema_of.register
def _(_: EmailSettingField) -> Schema:
    return {"type": "string", "format": "email"}


@schema_of.register
def _(field: EventTypesField) -> Schema:
    return {"type": "array", "items": {"type": "string", "enum": list(field.choices)}, "minItems": 1}


@schema_of.register
def _(_: ClickFilterField) -> Schema:
    return {
        "type": "object",
        "properties": properties_of(ClickFilterForm, is_create=True),
        "description": "In a form its parts: `click_filter.every=10`.",
    }


def properties_of(form: type[ResourceForm], *, is_create: bool) -> dict[str, Schema]:
    """The schemas of the fields that a create, or an update, reads, by name."""
    made = form(None, owner=None)
    hidden = made.update_only if is_create else made.create_only
    found: dict[str, Schema] = {}
    for field in made:
        if field.name not in hidden:
            found |= pairs(field) if isinstance(field, PairsField) else {field.name: described(field)}
    return found


def described(field: SentField) -> Schema:
    found = schema_of(field)
    return {"title": in_english(field.label.text), **found}


def pairs(field: PairsField) -> dict[str, Schema]:
    """The two list fields of pairs: a key and a value with the same index make a pair."""
    keys = sorted(TYPES[field.type_].keys or ())
    key: Schema = {"type": "string"} | ({"examples": keys[:3]} if keys else {})
    label = in_english(field.label.text)
    return {
        f"{field.name}_key": {"title": label, "type": "array", "items": key, "maxItems": MAX_PAIRS},
        f"{field.name}_value": {"title": label, "type": "array", "items": ADDRESS, "maxItems": MAX_PAIRS},
    }


def required_of(form: type[ResourceForm]) -> list[str]:
    """The fields that every create must send, whatever else it sends."""
    made = form(None, owner=None)
    made.validate()
    return [problem.field for problem in made.problems if problem.code == "required" and problem.field]
