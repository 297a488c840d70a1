"""Stores numbers of clicks of links, as the worker has counted and copied them."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from app.analytics.models import Counter
from app.core.config import Settings
from app.core.database import prepare_engine
from app.links.clicks import ClickCopies


def store_clicks(settings: Settings, clicks: Mapping[int, int]) -> None:
    """By ids of links. The counters are in a file of their own, which only the ingesting process writes."""
    if not clicks:
        return
    engine = sa.create_engine(settings.database_url)
    prepare_engine(engine, settings, clicks_mode="rw")
    rows = [{"link_id": id_, "clicks": count} for id_, count in clicks.items()]
    with engine.begin() as connection:
        connection.execute(sa.insert(Counter), rows)
    copies = ClickCopies(engine)
    copies.add(clicks.keys())
    copies.step()
    engine.dispose()
