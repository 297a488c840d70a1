"""The messages that programs get of a page of events: clicks in batches, each change by itself."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from app.core.clock import now
from app.events.types import CLICKED
from app.input.parsers import parse_datetime

MAX_CLICKS = 100
# of the JSON of a batch: half of what a body template may print, for the other half is what escaping adds
MAX_BYTES = 24 * 1024


class PushedMessage(NamedTuple):
    """What one delivery holds."""

    type: str
    data: dict[str, Any]
    datetime: dt.datetime


def messages_of(events: Sequence[Mapping[str, Any]], *, max_bytes: int | None = None) -> list[PushedMessage]:
    """One message for each change, and one for each batch of clicks, in the order of the feed."""
    clicks = [event["data"] for event in events if event["type"] == CLICKED]
    changes = [change_of(event) for event in events if event["type"] != CLICKED]
    batches = batches_of(clicks, max_bytes)
    return [*changes, *(PushedMessage(CLICKED, {"clicks": batch}, now()) for batch in batches)]


def change_of(event: Mapping[str, Any]) -> PushedMessage:
    data = {"event_id": event["id"], **event["data"]}
    return PushedMessage(event["type"], data, parse_datetime(event["datetime"]))


def batches_of(clicks: Iterable[Mapping[str, Any]], max_bytes: int | None) -> Iterator[list[Any]]:
    """The clicks in batches of MAX_CLICKS at most, and of `max_bytes` unless one click alone is larger."""
    batch: list[Any] = []
    size = 0
    for click in clicks:
        length = len(json.dumps(click)) if max_bytes else 0
        if len(batch) == MAX_CLICKS or (batch and max_bytes and size + length > max_bytes):
            yield batch
            batch, size = [], 0
        batch.append(click)
        size += length
    if batch:
        yield batch
