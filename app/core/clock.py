"""What time is it, and how are moments written down?"""

from __future__ import annotations

import datetime as dt

FORMAT = "%Y-%m-%d %H:%M:%S"


def now() -> dt.datetime:
    """This moment in UTC, whole seconds: what is stored and shown."""
    return dt.datetime.now(dt.UTC).replace(microsecond=0)


def written(moment: dt.datetime | None) -> str | None:
    """`YYYY-MM-DD HH:MM:SS` in UTC, as the API gives every time."""
    # isoformat, not strftime: that writes the year 999 without its zero
    return (
        None if moment is None else moment.astimezone(dt.UTC).replace(tzinfo=None).isoformat(" ", "seconds")
    )


def written_ms(time_ms: int) -> str:
    """The same of milliseconds since 1970, the part of a second left out."""
    return str(written(dt.datetime.fromtimestamp(time_ms // 1000, dt.UTC)))
