"""Under which purposes are a link's fields folded, and what does each fold say while it is closed?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from app.forms import ResourceForm

# a field says this word while it is on; its own value instead where the word is VALUE
VALUE = "value"


class Fold(NamedTuple):
    """One purpose; `fields` are its fields with what each says."""

    title: str
    icon: str
    fields: Mapping[str, str]


FOLDS = {
    "labels": Fold("Labels", "tag", {"title": VALUE, "tags": "Tags", "project_id": VALUE, "notes": "Notes"}),
    "address": Fold(
        "Address",
        "route",
        {"http_status_code": VALUE, "app_linking_is_enabled": "Opens apps", "is_enabled": ""},
    ),
    "when": Fold(
        "When",
        "calendar-clock",
        {
            "schedule": "Schedule",
            "start_date": "",
            "end_date": "",
            "clicks_limit": "Click limit",
            "expiration_url": "Next address",
        },
    ),
    "where": Fold("Who goes where", "split", {"targeting_type": VALUE}),
    "protection": Fold("Protection", "shield", {"password": "Password", "sensitive_content": "Warning page"}),
    "appearance": Fold(
        "Appearance",
        "palette",
        {
            "cloaking_title": "Social card",
            "cloaking_meta_description": "Social card",
            "cloaking_opengraph": "Social card",
            "cloaking_is_enabled": "Cloaked",
            "cloaking_favicon": "",
            "cloaking_custom_js": "",
        },
    ),
    "tracking": Fold(
        "Tracking",
        "chart-no-axes-column",
        {
            "pixels_ids": VALUE,
            "utm_source": VALUE,
            "utm_medium": VALUE,
            "utm_campaign": VALUE,
            "forward_query_parameters_is_enabled": "Passes parameters on",
        },
    ),
    "tell": Fold("Tell me", "bell", {"email_reports": VALUE}),
}
WORDS = {name: word for fold in FOLDS.values() for name, word in fold.fields.items()}
# what a field of these has while it is as any other link's
USUAL = {"http_status_code": 302}


def words_on(form: ResourceForm, fold: str, names: Mapping[str, Mapping[Any, str]]) -> list[str]:
    """What a fold says. `names` gives the words of values by field: those of ids are names of rows."""
    return list(dict.fromkeys(said(form, fold, names)))


def said(form: ResourceForm, fold: str, names: Mapping[str, Mapping[Any, str]]) -> Iterator[str]:
    for name, word in FOLDS[fold].fields.items():
        data = form[name].data if name in form else None
        if not data or data == USUAL.get(name) or not word:
            continue
        if word != VALUE:
            yield word
        else:
            values = data if isinstance(data, list) else [data]
            yield from (str(names.get(name, {}).get(value, value)) for value in values)


def is_wrong(form: ResourceForm, fold: str) -> bool:
    """Has any of its fields an error? (Those of pairs are the targeting's.)"""
    names = FOLDS[fold].fields
    prefix = "targeting_" if fold == "where" else "\0"
    return any(field.errors and (field.name in names or field.name.startswith(prefix)) for field in form)
