"""JSON Schemas of all accepted values: the usual form and its other spellings.

`fields` describes the usual form, for people and for clients that send. This module adds, for programs that
validate, what else the contract accepts: `"1"` for true, `""` and null for empty, a single value for a list,
the providers' own words, and any value where a field does not apply to the request.
"""

# see docs/decisions/2026-11-22-what-bodies-may-say.md
from __future__ import annotations

from typing import Any

from app.input.fields import (
    ChoiceField,
    DateTimeField,
    PatternField,
    SentField,
    TextField,
    UploadField,
)
from app.input.forms import ResourceForm
from app.input.params import MAX_CHARACTERS
from app.links.fields import AliasField, PairsField
from app.notifications.fields import SettingField
from app.openapi.fields import ONE_LINE, Schema

EMPTY: Schema = {"enum": ["", None]}
FLAG: Schema = {
    "anyOf": [
        {"type": "boolean"},
        {"type": "integer", "enum": [0, 1]},
        {
            "type": "string",
            "pattern": "^(?:|[01]|[Oo][Nn]|[Oo][Ff][Ff]|[Yy][Ee][Ss]|[Nn][Oo]|"
            "[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$",
        },
    ]
}
LEAP_YEAR = r"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
YEAR = r"(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"


def day_pattern(year: str, leap_year: str) -> str:
    """A pattern for each valid day of the calendar, without anchors."""
    months = "(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31"
    return f"(?:{year}-(?:{months})|{leap_year}-02-29)"


HOURS = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
MOMENT = (
    rf"^{day_pattern(YEAR, LEAP_YEAR)}(?:[T ]{HOURS}(?::[0-5][0-9](?:\.[0-9]{{1,9}})?)?(?:Z|[+-]{HOURS})?)?$"
)
DAY = "^" + day_pattern("20[0-9]{2}", "20(?:[02468][048]|[13579][26])") + "$"
NAMES: Schema = {"minLength": 1, "pattern": ONE_LINE}


def accepted_body(form: type[ResourceForm], body: Schema) -> Schema:
    """The schema of all accepted bodies. `body`: the schema with the usual forms of values only."""
    made = form(None, owner=None)
    by_name = {name: field for field in made for name in properties_of_field(field)}
    properties = {
        name: {"title": one["title"], **accepted_value(by_name[name], one)}
        for name, one in body["properties"].items()
    }
    found = {**body, "properties": properties, "propertyNames": NAMES}
    return with_either(found) if "location_urls" in properties else found


def properties_of_field(field: SentField) -> list[str]:
    if isinstance(field, PairsField):
        return [f"{field.name}_key", f"{field.name}_value"]
    return [field.name]


def with_either(body: Schema) -> Schema:
    """Splits into creating one link or several: each ignores the fields of the other."""
    properties = dict(body["properties"])
    one = {name: properties.pop(name) for name in ("location_url", "url")}
    many = {"location_urls": properties.pop("location_urls")}
    ways = [
        {"required": ["location_url"], "properties": one},
        {"required": ["is_bulk", "location_urls"], "properties": {"is_bulk": IS_TRUE, **many}},
    ]
    unread = {name: {"title": schema["title"]} for name, schema in {**one, **many}.items()}
    return {**body, "properties": {**properties, **unread}, "anyOf": ways}


IS_TRUE: Schema = {"enum": [True, "true", "1", "on", "yes"]}


def accepted_value(field: SentField, usual: Schema) -> Schema:
    """The schema of all values that a field accepts; `usual` is its schema in `fields`."""
    if isinstance(field, PairsField | SettingField):  # only those of the chosen type or transport are read
        return {
            "description": f"Not looked at where it does not apply. {usual.get('description', '')}".strip()
        }
    if usual.get("type") == "array":
        return accepted_list(usual)
    if usual.get("type") == "object":
        parts = {name: {"title": one["title"]} for name, one in usual["properties"].items()}
        return {"anyOf": [{**usual, "properties": parts}, EMPTY]}
    found = accepted_scalar(field, usual)
    return found if not field.can_be_empty or "boolean" in str(usual) else {"anyOf": [found, EMPTY]}


def accepted_scalar(field: SentField, usual: Schema) -> Schema:
    if isinstance(field, ChoiceField):
        return {"enum": list(dict.fromkeys([*field.choices, *field.words]))}
    if usual["type"] == "boolean":
        return {"anyOf": [*FLAG["anyOf"], {"type": "null"}]}
    if usual["type"] == "integer":
        bounds = {"type": "integer", "maximum": 2**63 - 1, **usual}
        return {
            "anyOf": [
                bounds,
                {"type": "string", "pattern": digits_pattern(bounds["minimum"], bounds["maximum"])},
            ]
        }
    if isinstance(field, DateTimeField):
        return {**usual, "pattern": MOMENT}
    if isinstance(field, UploadField):
        return usual
    types = ["string", "integer"] if takes_integers(field) else ["string"]
    return {**usual, "type": types, **({} if field.can_be_empty else {"minLength": 1})}


def takes_integers(field: SentField) -> bool:
    """Whether the text field accepts JSON integers."""
    if isinstance(field, PatternField):
        return field.pattern.fullmatch("-1") is not None
    return isinstance(field, TextField | AliasField)


def digits_pattern(least: int, most: int) -> str:
    """A pattern for integers as texts, from 0 or 1, with fewer digits than `most`."""
    first = "[1-9]" if least else "(?:0|[1-9])"
    return f"^\\+?0*{first}[0-9]{{0,{len(str(most)) - 2}}}$"


def accepted_list(usual: Schema) -> Schema:
    """A list, or one member alone.

    Empty members are allowed, since they are dropped. There is no `maxItems`: some lists count distinct
    members only.
    """
    item = (
        {**usual["items"], "type": ["string", "integer"]}
        if usual["items"]["type"] == "string"
        else usual["items"]
    )
    if item.get("type") == "integer":
        item = {
            "anyOf": [
                {"maximum": 2**63 - 1, **item},
                {"type": "string", "pattern": digits_pattern(1, 2**63 - 1)},
            ]
        }
    item = {"anyOf": [item, EMPTY]}
    return {"anyOf": [{"type": "array", "items": item}, item]}


def accepted_parameter(name: str, schema: Schema) -> Schema:
    """The schema of a query parameter. An empty one counts as missing, except the page numbers."""
    if name in {"page", "results_per_page"} or schema["type"] == "array":
        return schema
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], ""]}
    if schema["type"] == "boolean":
        return FLAG
    if schema["type"] == "integer":
        return {"anyOf": [{"maximum": 2**63 - 1, **schema}, NO_TEXT]}
    if schema.get("format") == "date":
        return {"anyOf": [{"type": "string", "pattern": DAY}, NO_TEXT]}
    if schema.get("pattern"):
        return {"anyOf": [schema, NO_TEXT]}
    return {**schema, "pattern": NO_NUL, "maxLength": schema.get("maxLength", MAX_CHARACTERS)}


NO_TEXT: Schema = {"type": "string", "maxLength": 0}
NO_NUL = "^[^\\u0000]*$"


def without_null(schema: Any) -> Any:
    """The schema without null, which a form can't send."""
    if isinstance(schema, list):
        return [without_null(one) for one in schema if one != {"type": "null"}]
    if not isinstance(schema, dict):
        return schema
    found = {key: without_null(value) for key, value in schema.items()}
    if "enum" in found:
        found["enum"] = [one for one in schema["enum"] if one is not None]
    return found
