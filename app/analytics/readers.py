"""The reader of clicks that belongs to a session or connection: where its engine says that they are."""

from __future__ import annotations

import datetime as dt

from sqlalchemy.engine import Connection

from app.analytics.click_reader import ClickReader
from app.analytics.clickhouse.reader import ClickHouseReader
from app.analytics.periods import EPOCH, ONE_DAY
from app.analytics.scope import Bind
from app.analytics.sql_reader import SqlReader
from app.core.database import CLICKHOUSE


def reader_of(bind: Bind) -> ClickReader:
    engine = bind.engine if isinstance(bind, Connection) else bind.get_bind()
    address = engine.get_execution_options().get(CLICKHOUSE)
    return SqlReader(bind) if address is None else ClickHouseReader(address, bind)


def first_moment(bind: Bind, workspace_id: int) -> dt.datetime | None:
    """When the first of the owner's days with clicks begins."""
    found = reader_of(bind).first_day(workspace_id)
    return None if found is None else dt.datetime.combine(EPOCH + found * ONE_DAY, dt.time(), dt.UTC)
