"""By what can visits be told apart?"""

from __future__ import annotations

from typing import NamedTuple


class Dimension(NamedTuple):
    """Columns of a click that hold its value: one, or the two whose texts make the value together.

    `of_agent` names what the agent's text has to be looked at for.
    """

    columns: tuple[str, ...]
    of_agent: str = ""


DIMENSIONS: dict[str, Dimension] = {
    "referrer_host": Dimension(("referrer_host_id",)),
    "referrer_path": Dimension(("referrer_host_id", "referrer_path_id")),
    "continent_code": Dimension(("continent_code_id",)),
    "country_code": Dimension(("country_code_id",)),
    "city_name": Dimension(("city_name_id",)),
    "os_name": Dimension(("agent_id",), "os_name"),
    "browser_name": Dimension(("agent_id",), "browser_name"),
    "device_type": Dimension(("agent_id",), "device_type"),
    "browser_language": Dimension(("language_id",)),
    "utm_source": Dimension(("utm_source_id",)),
    "utm_medium": Dimension(("utm_medium_id",)),
    "utm_campaign": Dimension(("utm_campaign_id",)),
    "destination": Dimension(("destination_id",)),
}
OVERVIEW, HOUR = "overview", "hour"
TYPES = (OVERVIEW, HOUR, *DIMENSIONS)
