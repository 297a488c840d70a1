"""Commands of events: `way events follow` reads the feed, `way subscriptions` has them sent to an address."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import click

from waypost_client.cli.command import Group, Session, shared_options, way
from waypost_client.cli.links import first
from waypost_client.cli.options import given, options_of
from waypost_client.cli.output import print_json, print_object, print_rows
from waypost_client.fields import SubscriptionFilters, SubscriptionOptions
from waypost_client.objects import Event, encode

PAGE_SIZE = 1000
RARE = "link.restored"
COLUMNS = ("id", "name", "target_url", "events", "is_enabled")

events = Group("events", help="Reads clicks and changes of links as they happen.")
subscriptions = Group("subscriptions", help="Sends events to addresses.")
way.add_command(events)
way.add_command(subscriptions)


class FollowedFeed:
    """The feed of the key's workspace. `cursor`: where to go on; all before it has been given out."""

    def __init__(
        self, session: Session, cursor: str | None, types: tuple[str, ...], link_id: int | None
    ) -> None:
        self.feed, self.cursor = session.client.events, cursor
        self.types, self.link_id = types, link_id

    def skip(self) -> None:
        """Passes all that there is now. A cursor is a place in the whole feed, so a rare type will do."""
        for _ in self.read((RARE,)):
            pass

    def read(self, types: tuple[str, ...] = ()) -> Iterator[Event]:
        """Events up to the end of the feed. The cursor moves with each page, once that was taken."""
        is_more = True
        while is_more:
            wanted = types or self.types
            page = self.feed.page(self.cursor, type=wanted, link_id=self.link_id, limit=PAGE_SIZE)
            yield from page.data
            self.cursor, is_more = page.meta.next, page.meta.is_more


@events.command()
@click.option("--after", metavar="CURSOR", help="Go on after this cursor.")
@click.option("--all", "is_all", is_flag=True, help="Begin with the oldest event that is kept.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only these; may be repeated.")
@click.option("--link-id", type=click.IntRange(1), help="Only events of this link.")
@click.option("--once", is_flag=True, help="End at the end of the feed instead of waiting for more.")
@click.option("--poll", type=click.FloatRange(0.2, 3600), default=2.0, show_default=True, help="Seconds.")
@shared_options
def follow(
    session: Session,
    after: str | None,
    is_all: bool,
    types: tuple[str, ...],
    link_id: int | None,
    once: bool,
    poll: float,
) -> None:
    """Prints events as lines of JSON, oldest first, as they happen.

    Without --after or --all it begins with the next event. Ctrl-C ends it; the cursor to go on with is on
    standard error then.
    """
    if after is not None and is_all:
        raise click.UsageError("--after and --all exclude each other.")
    feed = FollowedFeed(session, after, types, link_id)
    try:
        if after is None and not is_all:
            feed.skip()
        while True:
            for event in feed.read():
                click.echo(json.dumps(encode(event), ensure_ascii=True))
            if once:
                break
            time.sleep(poll)
    except KeyboardInterrupt:
        pass  # the usual end
    click.echo(f"Go on with --after {feed.cursor}", err=True)


@subscriptions.command("list")
@options_of(SubscriptionFilters, "page", "results_per_page")
@click.option("--limit", type=click.IntRange(0), default=100, show_default=True, help="0 is all.")
@shared_options
def list_(session: Session, limit: int, **filters: Any) -> None:
    """Lists subscriptions."""
    rows = session.client.subscriptions.find(**given(filters))
    print_rows(first(rows, limit), COLUMNS, as_json=session.as_json)


@subscriptions.command()
@click.argument("target_url")
@click.argument("events", nargs=-1, required=True)
@options_of(SubscriptionOptions)
@shared_options
def create(session: Session, target_url: str, events: tuple[str, ...], **options: Any) -> None:
    """Sends EVENTS (link.clicked, link.created and others) to TARGET_URL, signed by the printed secret."""
    made = session.client.subscriptions.create(target_url, events, **given(options))
    print_object(made, as_json=session.as_json)


@subscriptions.command()
@click.argument("id", type=click.IntRange(1))
@shared_options
def show(session: Session, id: int) -> None:
    """Shows all of one."""
    print_object(session.client.subscriptions.read(id), as_json=session.as_json)


@subscriptions.command()
@click.argument("id", type=click.IntRange(1))
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options
def delete(session: Session, id: int, yes: bool) -> None:
    """Unsubscribes."""
    if not yes:
        click.confirm(f"Delete {id}?", abort=True, err=True)
    session.client.subscriptions.delete(id)
    if session.as_json:
        print_json([id])


@subscriptions.command()
@click.argument("event")
@shared_options
def samples(session: Session, event: str) -> None:
    """Prints bodies as a subscribed address gets them, as JSON."""
    print_json(session.client.subscriptions.samples(event))
