"""Keys of a link in the API's answers, in their order, with the word for the type of each.

The words are those of `openapi.objects`.
"""

from __future__ import annotations

from app.links.schema import SETTINGS

# keys that are no settings
OTHERS = {
    "id": "integer",
    "settings": "object",
    "clicks": "integer",
    "order": "integer",
    "datetime": "time",
    "last_datetime": "time?",
    "short_url": "address",
}
# The order of the first version's keys, which clients may know by now: it stays. Later settings follow it, in
# the schema's order
FIRST = (
    *("id", "project_id", "domain_id", "type", "url", "location_url", "settings", "clicks", "order"),
    *("start_date", "end_date", "datetime", "is_enabled", "last_datetime", "short_url", "title", "notes"),
    *("tags", "pixels_ids", "email_reports", "clicks_limit", "expiration_url", "schedule"),
    *("http_status_code", "app_linking_is_enabled", "cloaking_is_enabled", "cloaking_title"),
    *("cloaking_meta_description", "cloaking_custom_js", "cloaking_favicon", "cloaking_opengraph"),
    *("forward_query_parameters_is_enabled", "utm_source", "utm_medium", "utm_campaign", "targeting_type"),
)
WORDS = OTHERS | {name: setting.answer for name, setting in SETTINGS.items() if setting.answer}
LINK_KEYS = {name: WORDS[name] for name in dict.fromkeys((*FIRST, *WORDS))}
