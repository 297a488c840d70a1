"""How does the file of places stay new by itself, where `flask geo update` has fetched it before?"""

from __future__ import annotations

import logging

from sqlalchemy.orm import Session

from app.clock import now
from app.config import Settings
from app.visits import geo_update
from app.visits.place import database_path

log = logging.getLogger(__name__)


def refresh_places(_session: Session, settings: Settings) -> None:
    """Once a week, and on the next day again where that failed: the old file serves until then."""
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
        log.info("There is a newer file of places: %s", status.kind)
    except (geo_update.NotUpdated, OSError) as error:
        log.warning("The file of places stays as it is: %s", error)
