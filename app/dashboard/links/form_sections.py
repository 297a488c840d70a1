"""Sections of the link form, and the summary that each shows while it is closed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from app.i18n.messages import lazy_gettext as _l
from app.input.forms import ResourceForm
from app.links.schema import SETTINGS
from app.links.setting import VALUE


class Fold(NamedTuple):
    """One section. `fields`: its fields, each with its word in the summary."""

    title: str
    icon: str
    fields: Mapping[str, str]


def section(name: str, title: str, icon: str, *first: str) -> Fold:
    """The section with the settings of that name in `links.schema`. `first`: those before all others."""
    mine = {field: one.summary for field, one in SETTINGS.items() if one.section == name}
    return Fold(title, icon, {field: mine[field] for field in dict.fromkeys((*first, *mine))})


FOLDS = {
    "labels": section("labels", _l("Organize"), "tag", "title", "tags"),
    "address": section("address", _l("Address"), "route"),
    "when": section("when", _l("Schedule & limits"), "calendar-clock"),
    "where": section("where", _l("Targeting"), "split"),
    "protection": section("protection", _l("Protection"), "shield", "password"),
    "appearance": section(
        "appearance",
        _l("Appearance"),
        "palette",
        *("cloaking_title", "cloaking_meta_description", "cloaking_opengraph"),
    ),
    "tracking": section(
        "tracking",
        _l("Tracking"),
        "chart-no-axes-column",
        "pixels_ids",
        "utm_source",
        "utm_medium",
        "utm_campaign",
    ),
    "tell": section("tell", _l("Notifications"), "bell"),
}
WORDS = {name: word for fold in FOLDS.values() for name, word in fold.fields.items()}
# defaults: a field that has its default is not in the summary
USUAL = {"http_status_code": 302}


def words_on(form: ResourceForm, fold: str, names: Mapping[str, Mapping[Any, str]]) -> list[str]:
    """The summary of a section. `names` gives words for values by field: for ids the names of their rows."""
    return list(dict.fromkeys(section_summary(form, fold, names)))


def section_summary(form: ResourceForm, fold: str, names: Mapping[str, Mapping[Any, str]]) -> Iterator[str]:
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
    """Whether a field of the section has an error. (Fields named `targeting_…` belong to `where`.)"""
    names = FOLDS[fold].fields
    prefix = "targeting_" if fold == "where" else "\0"
    return any(field.errors and (field.name in names or field.name.startswith(prefix)) for field in form)
