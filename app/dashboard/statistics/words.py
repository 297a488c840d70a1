"""Words for dimensions of statistics and their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

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
    "referrer_host": DimensionWords(
        one=_l("Referrer"),
        many=_l("Referrers"),
        all_of_them=_l("All referrers"),
        as_csv=_l("Referrers as CSV"),
        unknown=_l("Direct or unknown"),
    ),
    "referrer_path": DimensionWords(
        one=_l("Page"),
        many=_l("Pages"),
        all_of_them=_l("All pages"),
        as_csv=_l("Pages as CSV"),
        unknown=_l("Direct or unknown"),
    ),
    "utm_source": DimensionWords(
        one="UTM source",
        many=_l("UTM sources"),
        all_of_them=_l("All UTM sources"),
        as_csv=_l("UTM sources as CSV"),
        tab=_l("Sources"),
        unknown=_l("None"),
    ),
    "utm_medium": DimensionWords(
        one="UTM medium",
        many=_l("UTM media"),
        all_of_them=_l("All UTM media"),
        as_csv=_l("UTM media as CSV"),
        tab=_l("Media"),
        unknown=_l("None"),
    ),
    "utm_campaign": DimensionWords(
        one="UTM campaign",
        many=_l("UTM campaigns"),
        all_of_them=_l("All UTM campaigns"),
        as_csv=_l("UTM campaigns as CSV"),
        tab=_l("Campaigns"),
        unknown=_l("None"),
    ),
    "country_code": DimensionWords(
        one=_l("Country"),
        many=_l("Countries"),
        all_of_them=_l("All countries"),
        as_csv=_l("Countries as CSV"),
    ),
    "city_name": DimensionWords(
        one=_l("City"),
        many=_l("Cities"),
        all_of_them=_l("All cities"),
        as_csv=_l("Cities as CSV"),
    ),
    "continent_code": DimensionWords(
        one=_l("Continent"),
        many=_l("Continents"),
        all_of_them=_l("All continents"),
        as_csv=_l("Continents as CSV"),
    ),
    "browser_name": DimensionWords(
        one=_l("Browser"),
        many=_l("Browsers"),
        all_of_them=_l("All browsers"),
        as_csv=_l("Browsers as CSV"),
    ),
    "os_name": DimensionWords(
        one=_l("System"),
        many=_l("Systems"),
        all_of_them=_l("All systems"),
        as_csv=_l("Systems as CSV"),
    ),
    "device_type": DimensionWords(
        one=_l("Device"),
        many=_l("Devices"),
        all_of_them=_l("All devices"),
        as_csv=_l("Devices as CSV"),
    ),
    "browser_language": DimensionWords(
        one=_l("Language"),
        many=_l("Languages"),
        all_of_them=_l("All languages"),
        as_csv=_l("Languages as CSV"),
    ),
    "destination": DimensionWords(
        one=_l("Destination"),
        many=_l("Destinations"),
        all_of_them=_l("All destinations"),
        as_csv=_l("Destinations as CSV"),
    ),
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
