"""Schemas of the objects in answers, written as keys in their order with one word for the type of each.

The words: `integer`, `string`, `boolean`, `time`, `address`, `destination`, `object`. `?` after a word: or
null. `[…]` around it: a list. An address is one of this instance. A destination is stored as it was sent, so
it need not be a strictly valid URI.
"""

from __future__ import annotations

from typing import Any

from app.events.types import TYPES as EVENT_TYPES
from app.links.targeting import TYPES
from app.openapi.link_keys import LINK_KEYS

Schema = dict[str, Any]

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
