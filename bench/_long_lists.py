"""What benchmarks with very many links share."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from app.core.config import Settings
from app.core.database import prepare_engine
from app.jobs.link_bitmaps import BitmapMaker


def chunks(links: int, size: int = 5000) -> Iterator[range]:
    return (range(first, min(first + size, links + 1)) for first in range(1, links + 1, size))


def make_bitmaps(settings: Settings) -> None:
    """Make the bitmaps of long lists, as the worker does beside the web processes."""
    engine = sa.create_engine(settings.database_url)
    prepare_engine(engine, settings)
    maker = BitmapMaker(engine)
    maker.turn()
    while any(rounds.steps is not None for rounds in maker.rounds.values()):
        maker.turn()
    engine.dispose()
