"""Clicks of the feed: what is told of each, with the address that its link had.

Never a visitor's address, agent or hash: the readers of clicks do not even return them.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from app.analytics.click_reader import ClickBatch, ToldClick
from app.analytics.readers import reader_of
from app.analytics.single_clicks import TOLD
from app.core.clock import written_ms
from app.core.database import AnySession
from app.core.scheduling import giving_way
from app.events.drafts import LinkAddress
from app.events.feed.addresses import LinkAddresses
from app.events.feed.cursors import Cursor
from app.events.feed.entry_reader import FeedFilter
from app.events.types import CLICKED
from app.notifications.site import SiteUrls

BATCHES = 50  # in one statement
FIELDS = (
    "continent_code",
    "country_code",
    "city_name",
    "os_name",
    "browser_name",
    "device_type",
    "browser_language",
    "referrer_host",
    "referrer_path",
    "utm_source",
    "utm_medium",
    "utm_campaign",
)


class BatchClicks:
    """The clicks of some entries of a workspace. The first entry is read from the cursor's offset on."""

    def __init__(
        self, session: AnySession, site: SiteUrls, wanted: FeedFilter, rows: Sequence[Any], place: Cursor
    ) -> None:
        self.site, self.wanted = site, wanted
        self.by_position = self.read(session, [row for row in rows if self.may_have(row)], place)
        self.addresses = self.find_addresses(session)

    @property
    def is_missing_links(self) -> bool:
        """Whether a link has neither a row nor an entry that says what became of it."""
        return None in self.addresses.values()

    def find_addresses(self, session: AnySession) -> dict[tuple[int, int], LinkAddress | None]:
        """The address of each link at each of the positions where it was clicked."""
        places = {
            (click.link_id, position) for position, found in self.by_position.items() for click in found
        }
        if not places:
            return {}
        links, first = {link_id for link_id, _ in places}, min(self.by_position)
        found = LinkAddresses(session, self.wanted.workspace_id, links, first)
        return {place: found.find(*place) for place in giving_way(places)}

    def may_have(self, row: Any) -> bool:
        """Whether an entry may have clicks that are wanted."""
        links, link_id = row.link_ids, self.wanted.link_id
        return link_id is None or links is None or link_id in json.loads(links)

    def read(self, session: AnySession, rows: Sequence[Any], place: Cursor) -> dict[int, list[ToldClick]]:
        found: dict[int, list[ToldClick]] = defaultdict(list)
        for start in giving_way(range(0, len(rows), BATCHES)):
            some = sorted(rows[start : start + BATCHES], key=lambda row: int(row.first_id))
            starts = [int(row.first_id) for row in some]
            batches = [batch_of(row, place) for row in some]
            told = reader_of(session).told_clicks(self.wanted.workspace_id, batches, self.wanted.link_id)
            for click in giving_way(told):
                row = some[bisect_right(starts, click.id) - 1]
                found[row.position].append(click)
        return found

    def events_of(self, row: Any) -> list[tuple[int, dict[str, Any]]]:
        """The events of an entry, each with its click's id."""
        return [
            (click.id, self.event(click, row.position))
            for click in giving_way(self.by_position.get(row.position, ()))
        ]

    def event(self, click: ToldClick, position: int) -> dict[str, Any]:
        address = self.addresses[click.link_id, position]
        id_, moment = f"clk_{click.id}", written_ms(click.time_ms)
        texts = dict(zip(TOLD, click.texts, strict=True))
        data = {
            "id": id_,
            "datetime": moment,
            "link": self.link(click.link_id, address),
            "destination": texts["destination"],
            "is_bot": click.is_bot,
            **{name: texts[name] for name in FIELDS},
        }
        return {"id": id_, "type": CLICKED, "datetime": moment, "data": data}

    def link(self, link_id: int, address: LinkAddress | None) -> dict[str, Any]:
        return {
            "id": link_id,
            "url": address and address.url,
            "short_url": address and self.site.short_url(*address),
        }


def batch_of(row: Any, place: Cursor) -> ClickBatch:
    offset = place.offset if row.position == place.position else 0
    return ClickBatch(row.first_id + offset, row.last_id, row.first_ms, row.last_ms)
