"""`flask events`: follows the feed of a workspace, and shows how far it is."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import click
from flask import current_app
from flask.cli import with_appcontext
from sqlalchemy import select

from app.accounts.models import Workspace
from app.accounts.workspaces import IS_HERE
from app.cli.failures import ReadingCommand
from app.cli.tables import print_table
from app.core.extensions import db
from app.events.feed.reading import FeedPage, newest_cursor, newest_position, read, read_state
from app.events.feed.waiting import count_drafts
from app.events.types import TYPES
from app.notifications.site import SiteUrls, site_of

POLL_SECONDS = 0.5


@click.group("events")
def events() -> None:
    """What happens to links: follow it, and see how far its feed is."""


@events.command("follow", cls=ReadingCommand)
@click.option(
    "--workspace", "workspace_id", type=click.IntRange(1), help="Its id; not needed for the only one."
)
@click.option("--after", metavar="CURSOR", help="Go on after this cursor, of the API or of an earlier call.")
@click.option("--all", "is_all", is_flag=True, help="Begin with the oldest event that is kept.")
@click.option("--type", "types", type=click.Choice(TYPES), multiple=True, help="Only these; may be repeated.")
@click.option("--link", "link_id", type=click.IntRange(1), help="Only events of the link with this id.")
@click.option("--once", is_flag=True, help="End at the end of the feed instead of waiting for more.")
@with_appcontext
def follow(
    workspace_id: int | None,
    after: str | None,
    is_all: bool,
    types: tuple[str, ...],
    link_id: int | None,
    once: bool,
) -> None:
    """Print events of a workspace as lines of JSON, oldest first, as they happen.

    Without --after or --all it begins with the next event. Ctrl-C ends it; the cursor to go on with is
    printed on stderr then.
    """
    if after is not None and is_all:
        raise click.UsageError("--after and --all exclude each other.")
    workspace = workspace_id or find_only_workspace()
    feed = FollowedFeed(workspace, site_of(current_app.config["WAYPOST"]), frozenset(types) or None, link_id)
    feed.cursor = after if after is not None or is_all else newest_cursor(db.session, workspace)
    try:
        for page in feed.pages(once=once):
            click.echo(
                "".join(f"{json.dumps(event, ensure_ascii=False)}\n" for event in page.events), nl=False
            )
    except KeyboardInterrupt:
        pass  # the usual end
    click.echo(f"Go on with --after {feed.cursor}", err=True)


class FollowedFeed:
    """The feed of a workspace, page by page. `cursor`: where to go on."""

    def __init__(
        self, workspace_id: int, site: SiteUrls, types: frozenset[str] | None, link_id: int | None
    ) -> None:
        self.workspace_id, self.site, self.types, self.link_id = workspace_id, site, types, link_id
        self.cursor: str | None = None

    def pages(self, *, once: bool) -> Iterator[FeedPage]:
        """All pages; where there are no more, looks again and again. A page that was taken is passed."""
        while True:
            seen = newest_position(db.session)
            page = self.read()
            yield page
            self.cursor = page.next
            if not page.is_more:
                if once:
                    return
                wait_for_more(seen)

    def read(self) -> FeedPage:
        page = read(
            db.session, self.site, self.workspace_id, self.cursor, types=self.types, link_id=self.link_id
        )
        db.session.rollback()
        return page


def wait_for_more(seen: int) -> None:
    """Waits until the feed has a later position, of whichever workspace."""
    while True:
        found = newest_position(db.session)
        db.session.rollback()
        if found > seen:
            return
        time.sleep(POLL_SECONDS)


def find_only_workspace() -> int:
    found = db.session.execute(
        select(Workspace.id, Workspace.name).where(IS_HERE).order_by(Workspace.id)
    ).all()
    db.session.rollback()
    if len(found) != 1:
        named = ", ".join(f"{id_} ({name})" for id_, name in found[:20]) or "there is none"
        raise click.UsageError(f"Name one by --workspace: {named}.")
    return int(found[0].id)


@events.command("status", cls=ReadingCommand)
@with_appcontext
def status() -> None:
    """Show how far the feed is: its first and last position, and how many changes have no place yet."""
    state, drafts = read_state(db.session), count_drafts(db.session)
    print_table(("FIRST", "LAST", "WAITING"), [(f"{state.first:,}", f"{state.last:,}", f"{drafts:,}")])
