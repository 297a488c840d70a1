"""What is in the answers? Each kind of object, its keys in their order, in a word for each.

`integer`, `string`, `boolean`, `time`, `address`, `destination`, `object`; `?` after it: or null; `[…]`
around it: a list. An address is our own; a destination is kept as sent, so need be no URI by the letter.
"""

from __future__ import annotations

from typing import Any

from app.links.targeting import TYPES

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

LINK = """
    id integer, project_id integer?, domain_id integer, type string, url string, location_url destination,
    settings object, clicks integer, order integer, start_date time?, end_date time?, datetime time,
    is_enabled boolean, last_datetime time?, short_url address, title string?, notes string?, tags [string],
    pixels_ids [integer], email_reports [integer], clicks_limit integer?, expiration_url destination?,
    schedule boolean,
    http_status_code integer, app_linking_is_enabled boolean, cloaking_is_enabled boolean,
    cloaking_title string?,
    cloaking_meta_description string?, cloaking_custom_js string?, cloaking_favicon address?,
    cloaking_opengraph address?, forward_query_parameters_is_enabled boolean, utm_source string?,
    utm_medium string?, utm_campaign string?, targeting_type string?
"""
PIXEL = "id integer, type string, name string, pixel string, last_datetime time?, datetime time"
HANDLER = """
    id integer, type string, name string, settings object, is_enabled boolean, last_datetime time?,
    datetime time, is_confirmed boolean
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
    id integer, email string, name string?, timezone string, language string, is_admin boolean, datetime time
"""
DELIVERY = """
    id integer, type string, status string, attempts [object], next_attempt time?, datetime time
"""
TRIAL = "delivery_id integer, status string, detail string?"
CHECKED = "is_verified boolean, checks [object]"
EXPLANATION = "outcome string, status integer, location string?, steps [object], visitor object"
META = "page integer, results_per_page integer, total integer, total_pages integer"
NEIGHBOURS = "first address, last address, next address?, prev address?, self address"
PROBLEM = """
    type string, title string, status integer, detail string, instance string, message string, errors [object]
"""


def read(words: str) -> Schema:
    """An object of these keys. Later versions may add some; none of these goes away."""
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
    "Project": read(PROJECT),
    "Domain": with_details(
        "warnings",
        with_details("verification", read(DOMAIN), read(VERIFICATION)),
        list_of(read(WARNING)),
    ),
    "User": read(USER),
    "Delivery": with_details("attempts", read(DELIVERY), list_of(ATTEMPT)),
    "Trial": read(TRIAL),
    "Verification": with_details("checks", read(CHECKED), list_of(CHECK)),
    "Explanation": with_details("steps", read(EXPLANATION), list_of(STEP)),
    "Row": {
        "type": "object",
        "properties": {"pageviews": {"type": "integer"}, "visitors": {"type": "integer"}},
        "required": ["pageviews", "visitors"],
        "description": "Beside these, what the row is of, under the name of the type.",
    },
    "Made": read("id integer"),
    "Meta": read(META),
    "Neighbours": read(NEIGHBOURS),
    "Problem": with_details("errors", read(PROBLEM), list_of(ENTRY)),
}
