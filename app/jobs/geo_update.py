"""Updates the geolocation file every week, where `flask geo update` has downloaded it before."""

from __future__ import annotations

import logging

from sqlalchemy.orm import Session

from app.core.clock import now
from app.core.config import Settings
from app.geo import update as geo_update
from app.geo.lookup import database_path

log = logging.getLogger(__name__)


def refresh_places(_session: Session, settings: Settings) -> None:
    """Updates the file once a week, and the next day where that failed. The old file serves until then."""
    path = database_path(settings.geoip_db, settings.data_dir)
    source = geo_update.stale_source(path, now())
    if source is None:
        return
    try:
        status = geo_update.update(
            path,
            source.url or settings.geoip_url,
            today=now().date(),
            allowed=settings.allow_private_networks,
        )
        log.info("The geolocation database was updated: %s", status.kind)
    except (geo_update.NotUpdated, OSError) as error:
        log.warning("The geolocation database was not updated: %s", error)
