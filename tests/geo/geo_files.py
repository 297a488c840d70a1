"""Makes small geolocation files in each of the layouts in use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mmdb_writer import MMDBWriter
from netaddr import IPSet

Records = dict[str, dict[str, Any]]

LONDON = {
    "continent": {"code": "EU", "geoname_id": 6255148, "names": {"en": "Europe", "de": "Europa"}},
    "country": {"iso_code": "GB", "geoname_id": 2635167, "names": {"en": "United Kingdom"}},
    "city": {"geoname_id": 2643743, "names": {"de": "London", "en": "London"}},
    "location": {"latitude": 51.5142, "longitude": -0.0931, "time_zone": "Europe/London"},
}
NETWORK = "81.2.69.0/24"
ADDRESS = "81.2.69.142"


def write_geo_file(
    path: Path,
    records: Records | None = None,
    *,
    kind: str = "GeoLite2-City",
    version: int = 6,
) -> Path:
    """Writes a file beside `path` and renames it, as every replacement of such a file must."""
    writer = MMDBWriter(version, kind, languages=["en"], ipv4_compatible=version == 6)
    for network, record in (records or {NETWORK: LONDON}).items():
        writer.insert_network(IPSet([network]), record)
    draft = path.with_suffix(".new")
    writer.to_db_file(str(draft))
    return draft.replace(path)
