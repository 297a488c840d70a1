"""JSON Schemas of all that is accepted: beside the usual form of a value, its other spellings.

`fields` says what each field is for, for people and for programs that send. This says, for programs that
check, what else the contract reads: `"1"` for true, `""` and null for empty, a single value for a list, the
providers' own words, and anything where a field does not apply to the request.
"""

from __future__ import annotations

from typing import Any

from app.api.openapi.fields import ONE_LINE, Schema
from app.fields import ChoiceField, DateTimeField, PatternField, SentField, TextField, UploadField
from app.forms import ResourceForm
from app.links.fields import AliasField, PairsField
from app.notifications.fields import SettingField
from app.params import MAX_CHARACTERS

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
    """Each day of the calendar, without anchors."""
    months = "(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31"
    return f"(?:{year}-(?:{months})|{leap_year}-02-29)"


HOURS = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
MOMENT = (
    rf"^{day_pattern(YEAR, LEAP_YEAR)}(?:[T ]{HOURS}(?::[0-5][0-9](?:\.[0-9]{{1,9}})?)?(?:Z|[+-]{HOURS})?)?$"
)
DAY = "^" + day_pattern("20[0-9]{2}", "20(?:[02468][048]|[13579][26])") + "$"
NAMES: Schema = {"minLength": 1, "pattern": ONE_LINE}


def accepted_body(form: type[ResourceForm], body: Schema) -> Schema:
    """What a body may be. `body`: the same with the usual forms of values only."""
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
    """One link, or many: the fields of the other way are not looked at."""
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
    """What a field may be sent as; `usual` is its schema in `fields`."""
    if isinstance(field, PairsField | SettingField):  # only one targeting type, one transport is looked at
        return {
            "description": f"Not looked at where it does not apply. {usual.get('description', '')}".strip()
        }
    if usual.get("type") == "array":
        return accepted_list(usual)
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
    """Whether whole numbers of JSON are texts that the field takes."""
    if isinstance(field, PatternField):
        return field.pattern.fullmatch("-1") is not None
    return isinstance(field, TextField | AliasField)


def digits_pattern(least: int, most: int) -> str:
    """Whole numbers as texts, from 0 or 1 up to fewer digits than `most` has."""
    first = "[1-9]" if least else "(?:0|[1-9])"
    return f"^\\+?0*{first}[0-9]{{0,{len(str(most)) - 2}}}$"


def accepted_list(usual: Schema) -> Schema:
    """A list, or one member alone; empty members are dropped, and some lists count what is different only."""
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
    """What a parameter of a query may be. One sent empty is one not sent, save the numbers of a page."""
    if name in {"page", "results_per_page"}:
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
    """The same schema for a form, where null can't be sent."""
    if isinstance(schema, list):
        return [without_null(one) for one in schema if one != {"type": "null"}]
    if not isinstance(schema, dict):
        return schema
    found = {key: without_null(value) for key, value in schema.items()}
    if "enum" in found:
        found["enum"] = [one for one in schema["enum"] if one is not None]
    return found
