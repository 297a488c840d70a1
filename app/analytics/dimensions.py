"""Dimensions that clicks are broken down and filtered by."""

from __future__ import annotations

from typing import NamedTuple


class Dimension(NamedTuple):
    """`number` is its id in roll-ups and never changes. `columns` hold the value.

    They are columns of the click or of its user agent: one, or two whose texts together make the value.
    """

    number: int
    columns: tuple[str, ...]


DIMENSIONS: dict[str, Dimension] = {
    "referrer_host": Dimension(1, ("referrer_host_id",)),
    "referrer_path": Dimension(2, ("referrer_host_id", "referrer_path_id")),
    "continent_code": Dimension(3, ("continent_code_id",)),
    "country_code": Dimension(4, ("country_code_id",)),
    "city_name": Dimension(5, ("city_name_id",)),
    "os_name": Dimension(6, ("os_name_id",)),
    "browser_name": Dimension(7, ("browser_name_id",)),
    "device_type": Dimension(8, ("device_type_id",)),
    "browser_language": Dimension(9, ("language_id",)),
    "utm_source": Dimension(10, ("utm_source_id",)),
    "utm_medium": Dimension(11, ("utm_medium_id",)),
    "utm_campaign": Dimension(12, ("utm_campaign_id",)),
    "destination": Dimension(13, ("destination_id",)),
}
OVERVIEW, HOUR = "overview", "hour"
TYPES = (OVERVIEW, HOUR, *DIMENSIONS)
