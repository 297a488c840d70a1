"""Words for dimensions of statistics and their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from app.dashboard.shared.words import words_for
from app.geo.names import CONTINENT_NAMES, COUNTRY_NAMES
from app.i18n.messages import lazy_gettext as _l
from app.links import targeting
from app.links.language_names import PRIMARY_LANGUAGES


class DimensionWords(NamedTuple):
    """What pages say of a dimension, each a whole message.

    `one`: the name of a value, for UTM that of the parameter. `all_of_them` and `as_csv`: on the ways to the
    whole list and to a file of it. `tab`: what a tab says where `many` is too long.
    """

    one: str
    many: str
    all_of_them: str
    as_csv: str
    tab: str = ""
    unknown: str = _l("Unknown")


WORDS: Mapping[str, DimensionWords] = {
    dimension: DimensionWords(**{"one": dimension.replace("utm_", "UTM "), **words})
    for dimension, words in words_for("dimensions").items()
}
NAMES: Mapping[str, Mapping[str, str]] = {
    "country_code": COUNTRY_NAMES,
    "continent_code": CONTINENT_NAMES,
    "device_type": targeting.DEVICES,
    "browser_language": PRIMARY_LANGUAGES,
}
DEVICE_ICONS = {"desktop": "monitor", "mobile": "smartphone", "tablet": "tablet"}


def word(dimension: str, value: str | None) -> str:
    if value is None:
        return WORDS[dimension].unknown
    return NAMES.get(dimension, {}).get(value, value)
