"""The current time in UTC, and the format of times."""

from __future__ import annotations

import datetime as dt

FORMAT = "%Y-%m-%d %H:%M:%S"


def now() -> dt.datetime:
    """The current time in UTC in whole seconds, as it is stored and shown."""
    return dt.datetime.now(dt.UTC).replace(microsecond=0)


def format_utc(moment: dt.datetime | None) -> str | None:
    """`YYYY-MM-DD HH:MM:SS` in UTC, as the API gives every time."""
    # isoformat, not strftime: that writes the year 999 without its zero
    return (
        None if moment is None else moment.astimezone(dt.UTC).replace(tzinfo=None).isoformat(" ", "seconds")
    )


def written_ms(time_ms: int) -> str:
    """The same format for milliseconds since 1970, without the fraction of a second."""
    return str(format_utc(dt.datetime.fromtimestamp(time_ms // 1000, dt.UTC)))
