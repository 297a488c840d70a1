"""Builds the OpenAPI document: paths, parameters, bodies and responses.

Objects in answers are written as keys in their order with one word for the type of each. The words:
`integer`, `string`, `boolean`, `time`, `address`, `destination`, `object`. `?` after a word: or null. `[…]`
around it: a list. An address is one of this instance. A destination is stored as it was sent, so it need not
be a strictly valid URI.
"""

# see docs/decisions/2026-11-21-openapi.md
from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from typing import Any

from app.core.version import VERSION
from app.events.types import TYPES as EVENT_TYPES
from app.links.targeting import TYPES
from app.openapi.accepted import accepted_body, accepted_parameter, without_null
from app.openapi.fields import ID, Schema, properties_of, required_of
from app.openapi.operations import Operation, operations
from app.openapi.resources import LINK_KEYS

WORDS: dict[str, Schema] = {
    "integer": {"type": "integer"},
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "object": {"type": "object"},
    "time": {"type": "string", "examples": ["2026-01-31 18:30:00"]},
    "address": {"type": "string", "format": "uri"},
    "destination": {"type": "string", "description": "As it was sent."},
}

LINK = ", ".join(f"{name} {word}" for name, word in LINK_KEYS.items())
PIXEL = "id integer, type string, name string, pixel string, last_datetime time?, datetime time"
HANDLER = """
    id integer, type string, name string, settings object, is_enabled boolean, last_datetime time?,
    datetime time, is_confirmed boolean, events [string], scope string, click_filter object?
"""
SUBSCRIPTION = """
    id integer, name string, target_url destination?, secret string?, events [string], scope string,
    click_filter object?, link_id integer?, is_enabled boolean, datetime time
"""
PROJECT = "id integer, name string, color string, last_datetime time?, datetime time"
VERIFICATION = "txt_name string, txt_value string, file_url address, file_content string"
DOMAIN = """
    id integer, host string, scheme string, custom_index_url destination?, custom_not_found_url destination?,
    is_enabled boolean, is_verified boolean, verification object, warnings [object],
    last_datetime time?, datetime time
"""
WARNING = "code string, detail string"
USER = """
    id integer, email string, name string?, timezone string, language string, is_admin boolean, datetime time,
    workspace object
"""
DELIVERY = """
    id integer, type string, status string, attempts [object], next_attempt time?, datetime time
"""
TRIAL = "delivery_id integer, status string, detail string?"
CHECKED = "is_verified boolean, checks [object]"
EXPLANATION = "outcome string, status integer, location string?, steps [object], visitor object"
AUDIT_ENTRY = """
    id integer, datetime time, action string, count integer, account_id integer?, account_email string,
    workspace_id integer?, actor_way string, actor_id integer?, actor_email string, actor_name string,
    key_prefix string, object_type string, object_id integer?, object_name string, changes object,
    network string, request_id string
"""
TRASHED = """
    id integer, type string, row_id integer, name string, detail string, datetime time, purge_datetime time
"""
EVENT = "id string, type string, datetime time, data object"
META = "page integer, results_per_page integer, total integer, total_pages integer"
NEIGHBOURS = "first address, last address, next address?, prev address?, self address"
PROBLEM = """
    type string, title string, status integer, detail string, instance string, message string, errors [object]
"""


def read(words: str) -> Schema:
    """The schema of an object with these keys. Later versions may add keys; none of these is removed."""
    properties = dict(one.split(None, 1) for one in " ".join(words.split()).split(", "))
    return {
        "type": "object",
        "properties": {name: of_word(word) for name, word in properties.items()},
        "required": list(properties),
    }


def of_word(word: str) -> Schema:
    if word.startswith("["):
        return {"type": "array", "items": of_word(word[1:-1])}
    found = dict(WORDS[word.removesuffix("?")])
    if word.endswith("?"):
        found["type"] = [found["type"], "null"]
    return found


def with_details(name: str, schema: Schema, details: Schema) -> Schema:
    schema["properties"][name] = details
    return schema


def list_of(details: Schema) -> Schema:
    return {"type": "array", "items": details}


PAIRS = list_of(read("key string, value address"))
SETTINGS: Schema = {
    "type": "object",
    "properties": {
        "password": {"type": ["string", "null"], "description": "`********` where there is one."},
        "sensitive_content": {"type": "boolean"},
        **{f"targeting_{type_}": PAIRS for type_ in TYPES},
    },
    "required": ["password", "sensitive_content"],
}
ATTEMPT = read("datetime time, status_code integer?, detail string, duration_ms integer?")
CHECK = read("method string, is_found boolean, detail string")
STEP = read("step string, matched boolean?, detail string?")
ENTRY: Schema = read("title string, status integer, code string")
ENTRY["properties"]["field"] = {"type": "string"}

SCHEMAS: dict[str, Schema] = {
    "Link": with_details("settings", read(LINK), SETTINGS),
    "Pixel": read(PIXEL),
    "NotificationHandler": read(HANDLER),
    "Subscription": read(SUBSCRIPTION),
    "PushedBody": read("type string, timestamp string, data object, is_sample boolean"),
    "Project": read(PROJECT),
    "Domain": with_details(
        "warnings",
        with_details("verification", read(DOMAIN), read(VERIFICATION)),
        list_of(read(WARNING)),
    ),
    "User": with_details("workspace", read(USER), read("id integer, name string, role string")),
    "Workspace": read("id integer, name string, role string, last_datetime time?, datetime time"),
    "Member": read("id integer, user_id integer, email string, name string, role string, datetime time"),
    "Invitation": read("id integer, email string, role string, expires_datetime time, datetime time"),
    "Delivery": with_details("attempts", read(DELIVERY), list_of(ATTEMPT)),
    "Trial": read(TRIAL),
    "Verification": with_details("checks", read(CHECKED), list_of(CHECK)),
    "Explanation": with_details("steps", read(EXPLANATION), list_of(STEP)),
    "AuditEntry": read(AUDIT_ENTRY),
    "Trashed": read(TRASHED),
    "Event": with_details("type", read(EVENT), {"type": "string", "enum": list(EVENT_TYPES)}),
    "Row": {
        "type": "object",
        "properties": {"pageviews": {"type": "integer"}, "visitors": {"type": "integer"}},
        "required": ["pageviews", "visitors"],
        "description": "Beside these, what the row is of, under the name of the type.",
    },
    "Made": read("id integer"),
    "Meta": read(META),
    "FeedMeta": read("next string, is_more boolean"),
    "Neighbours": read(NEIGHBOURS),
    "Problem": with_details("errors", read(PROBLEM), list_of(ENTRY)),
}


JSON = "application/json"
BODIES = ("multipart/form-data", "application/x-www-form-urlencoded", JSON)
# a create makes one link to `location_url`, or one for each of `location_urls`
EITHER = {"location_url": [{"required": ["location_url"]}, {"required": ["is_bulk", "location_urls"]}]}
# other preferences are ignored (RFC 7240, section 2)
PREFER: Schema = {"type": "string", "examples": ["return=representation"]}
KEY: Schema = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"}
# RFC 9110, section 8.8.3: `*` or a list, whose members may be empty
MEMBER = r'[ \t]*((W/)?"[!#-~]*"[ \t]*)?'
TAGS: Schema = {"type": "string", "pattern": rf"^(\*|{MEMBER}(,{MEMBER})*)$", "examples": ['"0a1b2c"']}
TAG: Schema = {"type": "string", "pattern": '^"[0-9a-f]{32}"$'}
PROBLEMS = {
    "400": "It can't be read.",
    "401": "The API key is missing, malformed, unknown, revoked or expired.",
    "403": "The permissions of the key, or the role of its user, do not allow it.",
    "404": "It does not exist, or it belongs to another user.",
    "409": "It conflicts with what exists: the alias is taken, or the domain has links.",
    "410": "The cursor is unknown, of another workspace, or too old. `oldest` is the oldest cursor.",
    "412": "It is not in the state that `If-Match` or `If-None-Match` wants.",
    "413": "It is too large.",
    "415": "The body is of a type that is not read.",
    "422": "Some values are invalid; each of them is listed.",
    "429": "Too many requests. `Retry-After` says when to try again.",
    "default": "Anything else that went wrong.",
}
OF_READS = ("401", "404", "422", "429", "default")
OF_ROWS = ("400", "412")


def document(site: str) -> dict[str, Any]:
    """The OpenAPI document of the API at this address."""
    return {**of_any_site(), "servers": [{"url": f"{site}/api"}]}


@cache
def of_any_site() -> dict[str, Any]:
    every = operations()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Waypost",
            "version": VERSION,
            "description": "Paths are answered with and without a slash at the end. Times are UTC.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [],
        "security": [{"key": []}],
        "tags": [{"name": name} for name in dict.fromkeys(one.tag for one in every)],
        "paths": paths(every),
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": {**deepcopy(SCHEMAS), **bodies(every)},
            "responses": {name: problem(words) for name, words in PROBLEMS.items()},
        },
    }


def paths(every: Sequence[Operation]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in every:
        found.setdefault(one.path, {})[one.method.lower()] = described(one)
    return found


def described(one: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": one.name,
        "tags": [one.tag],
        "summary": one.summary,
        **({"description": one.description} if one.description else {}),
        "parameters": parameters(one),
        "responses": responses(one),
    }
    if one.description:
        found["description"] = one.description
    if one.form:
        found["requestBody"] = {
            "required": one.is_create,
            "content": {kind: {"schema": reference(body_name(one, kind))} for kind in BODIES},
        }
    return found if one.needs_key else {**found, "security": []}


def parameters(one: Operation) -> list[dict[str, Any]]:
    found = [parameter(name, "query", accepted_parameter(name, schema)) for name, schema in one.query.items()]
    if "{id}" in one.path:
        found.insert(0, {**parameter("id", "path", ID), "required": True})
    if one.form:
        found.append(parameter("Prefer", "header", PREFER))
    if one.is_create:
        found.append(parameter("Idempotency-Key", "header", KEY))
    if one.is_conditional:
        found += [parameter(name, "header", TAGS) for name in ("If-Match", "If-None-Match")]
    return found


def parameter(name: str, place: str, schema: Schema) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": schema}


def responses(one: Operation) -> dict[str, Any]:
    found = {str(one.status): {**success(one), **headers(one)}}
    if one.is_conditional and not one.is_write:
        found["304"] = {"description": "It is as `If-None-Match` says.", **headers(one)}
    return found | {name: {"$ref": f"#/components/responses/{name}"} for name in problems(one)}


def problems(one: Operation) -> list[str]:
    if not one.needs_key:
        return ["default"]
    names = PROBLEMS if one.is_write else OF_READS
    of_rows = OF_ROWS if one.is_conditional else ()
    of_cursors = ("410",) if one.has_cursor else ()
    return [
        name
        for name in PROBLEMS
        if (name in names and name not in {"410", "412"}) or name in of_rows or name in of_cursors
    ]


def headers(one: Operation) -> dict[str, Any]:
    return {"headers": {"ETag": {"schema": TAG}}} if one.has_tag else {}


def success(one: Operation) -> dict[str, Any]:
    if one.gives is None:
        return {"description": "Done; there is nothing to say."}
    if "/" in one.gives:
        schema: Schema = {"type": "object"} if one.gives.endswith("json") else {"type": "string"}
        return {"description": "The whole of it.", "content": {one.gives: {"schema": schema}}}
    content: dict[str, Any] = {"application/json": {"schema": wrapped(one)}}
    if "csv" in one.query.get("format", {}).get("enum", ()):
        content["text/csv"] = {"schema": {"type": "string"}}
    return {"description": "It worked.", "content": content}


def wrapped(one: Operation) -> Schema:
    """The envelope's schema: `data`, and for a list also `meta` and `links`."""
    thing = reference(one.gives or "")
    if one.gives in {"Row", "PushedBody"}:
        return enveloped({"data": {"type": "array", "items": thing}})
    if one.has_cursor:
        return enveloped({"data": {"type": "array", "items": thing}, "meta": reference("FeedMeta")})
    if not one.is_list:
        return enveloped({"data": thing})
    data = {"type": "array", "items": thing}
    return enveloped({"data": data, "meta": reference("Meta"), "links": reference("Neighbours")})


def enveloped(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def bodies(every: Sequence[Operation]) -> dict[str, Schema]:
    found = {}
    for one in every:
        if one.form:
            accepted = accepted_body(one.form, body(one))
            found[body_name(one, JSON)] = accepted
            found[body_name(one, "")] = without_null(accepted)
    return found


def body_name(one: Operation, media_type: str) -> str:
    """A body's schema name, as `LinkCreate`, or `LinkCreateForm` for forms, whose values are all texts."""
    kind = "".join(word.capitalize() for word in one.name.partition("_")[0].removesuffix("s").split("-"))
    return f"{kind}{'Create' if one.is_create else 'Update'}{'' if media_type == JSON else 'Form'}"


def body(one: Operation) -> Schema:
    """The schema of a body's usual form, for people and clients; `accepted_body` adds the other spellings."""
    assert one.form is not None  # noqa: S101  for the type checker
    found: Schema = {"type": "object", "properties": properties_of(one.form, is_create=one.is_create)}
    required = required_of(one.form) if one.is_create else []
    either = [ways for name, ways in EITHER.items() if name in required]
    if plain := [name for name in required if name not in EITHER]:
        found["required"] = plain
    return {**found, **({"anyOf": either[0]} if either else {})}


def problem(words: str) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": reference("Problem")}}
    return {"description": words, "content": content}


def reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
