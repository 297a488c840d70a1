"""Time of every dashboard page with 100,000 links: `python -m bench.pages`

All but the list of links (`bench.list`): statistics of all, of a project and of a link, part by part, forms
and dialogs, the preview that follows the typing, trash, history, and what is written. The owner also has
200,000 clicks, and a trash with some hundred links. Flask's test client asks the real application, on SQLite.
The target holds for nineteen of twenty requests. `--keep` keeps what was made.
"""

from __future__ import annotations

import argparse
import gc
import logging
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from sqlalchemy import select
from werkzeug.test import TestResponse

from app import create_app
from app.accounts.models import User
from app.core.config import load_settings
from app.core.extensions import db
from app.dashboard.statistics.views import OF_MANY, OF_ONE, REALTIME
from bench.list import EMAIL, TARGET_MS, Asker, Way, measure
from bench.vitals import LINKS, make
from tests.migrations import environ, migrate

HTMX = {"HX-Request": "true"}
THROWN = 300
FORM = {
    "location_url": "https://example.com/a/long/address?of=something",
    "is_enabled": "1",
    "tags": "spring\nsale",
}
LISTS = ("projects", "domains", "pixels", "handlers", "keys", "imports", "trash", "users")
PAGES = (*(f"{name}/" for name in LISTS), "api/", "account/", "account/data", "instance/", "imports/")
DIALOGS = (
    *("links/new", "links/bulk", "projects/new", "domains/new", "pixels/new", "handlers/new", "keys/new"),
    *("projects/4", "projects/4/delete", "pixels/5", "pixels/5/delete", "handlers/6", "handlers/6/delete"),
    *("handlers/6/deliveries", "domains/1", "domains/1/delete", "trash/empty", "account/delete"),
)
OF_A_LINK = ("", "/delete", "/destination", "/history", "/more", "/qr", "/try", "/statistics/")
PERIODS = ("", "?period=91d", "?period=day")
FILTERED = "?browser_name=Chrome"


class Visitor:
    """The owner, who requests one path after the other. A path's `{id}` is another link each time."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker

    def link(self, number: int) -> int:
        return number * 7919 % (LINKS - 2 * THROWN) + 2 * THROWN

    def get(self, path: str, number: int, *, part: bool = False) -> TestResponse:
        address = f"/dashboard/{path.replace('{id}', str(self.link(number)))}"
        return self.asker.client.get(address, headers=HTMX if part else {}, follow_redirects=True)

    def get_page(self, size: str, number: int) -> TestResponse:
        """Request another page of the list each time."""
        return self.get(f"links/?results_per_page={size}&page={number * 7 % 380 + 1}", number)

    def post(self, path: str, data: Mapping[str, str], number: int) -> TestResponse:
        sent = {"csrf_token": self.asker.csrf, **data}
        address = f"/dashboard/{path.replace('{id}', str(self.link(number)))}"
        return self.asker.client.post(address, data=sent, headers=HTMX)

    def trashed(self, number: int, name: str) -> TestResponse:
        return self.get(f"trash/{number + 1}/{name}", number, part=True)

    def pages(self) -> Iterator[Way]:
        for path in (*PAGES, *(f"links/{{id}}{name}" for name in OF_A_LINK)):
            yield Way(path, partial(self.get, path))
        for size in ("", "100", "250"):
            yield Way(f"links/ of {size or 25}", partial(self.get_page, size))
        yield Way("trash/?page=9", partial(self.get, "trash/?page=9"))
        for path in DIALOGS:
            yield Way(f"dialog {path}", partial(self.get, path, part=True))
        for name in ("restore", "delete"):
            yield Way(f"dialog trash/{{id}}/{name}", partial(self.trashed, name=name))

    def figures(self) -> Iterator[Way]:
        """Each part of statistics that a page requests by itself."""
        for scope, parts in (("statistics", OF_MANY), ("projects/4/statistics", OF_MANY)):
            yield Way(f"{scope}/", partial(self.get, f"{scope}/"))
            for part in parts:
                for period in PERIODS if part in {"overview", "links", "sources"} else PERIODS[:1]:
                    path = f"{scope}/{part}{period}"
                    yield Way(path, partial(self.get, path, part=True))
            yield Way(
                f"{scope}/sources{FILTERED}", partial(self.get, f"{scope}/sources{FILTERED}", part=True)
            )
            yield Way(f"{scope}/list/links", partial(self.get, f"{scope}/list/links", part=True))
        for part in REALTIME:
            path = f"statistics/{part}?period=realtime"
            yield Way(path, partial(self.get, path, part=True))
        for part in OF_ONE:
            yield Way(
                f"links/1/statistics/{part}", partial(self.get, f"links/1/statistics/{part}", part=True)
            )

    def writes(self) -> Iterator[Way]:
        yield Way("preview while typing", partial(self.post, "links/preview", FORM))
        yield Way("preview of a stored one", partial(self.post, "links/{id}/preview", FORM))
        yield Way("create a link", partial(self.post, "links/new", FORM))
        yield Way("save a link", partial(self.post, "links/{id}", FORM))
        yield Way("switch a link", partial(self.post, "links/{id}/switch", {}))
        yield Way(
            "create a project", partial(self.post, "projects/new", {"name": "One more", "color": "#0b6e66"})
        )
        yield Way(
            "create a pixel",
            partial(self.post, "pixels/new", {"type": "social_a", "name": "One", "pixel": "12"}),
        )
        lines = "\n".join(f"https://example.com/{n}" for n in range(100))
        yield Way(
            "create 100 links", partial(self.post, "links/bulk", {"is_bulk": "1", "location_urls": lines})
        )

    def throws_away(self) -> Way:
        return Way("delete a link", lambda number: self.post(f"links/{number + 2}/delete", {}, number))


def tell(way: Way, times: int) -> bool:
    """Print a line of the table. Returns whether the target is met."""
    took = measure(way, times)
    p95 = took[max(0, -(-len(took) * 19 // 20) - 1)]
    verdict = "  OVER" if p95 > TARGET_MS else ""
    print(f"{way.name:<46}{statistics.median(took):>8.0f}{p95:>8.0f}{verdict}", flush=True)
    return p95 <= TARGET_MS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--times", type=int, default=20, help="how often each is asked")
    parser.add_argument("--only", default="", help="those whose name has this in it")
    parser.add_argument("--keep", type=Path, help="a directory in which what is made stays")
    options = parser.parse_args()
    logging.disable(logging.INFO)
    with tempfile.TemporaryDirectory() as place:
        data_dir = options.keep or Path(place) / "data"
        if is_new := not (data_dir / "made").exists():
            make(data_dir)
        settings = load_settings(environ(data_dir))
        migrate(settings.data_dir, settings.database_url)  # kept data may be of an older version
        app = create_app(settings)
        gc.collect()
        gc.freeze()  # as a web process does: or every fourth page waits for a full collection
        with app.app_context():
            owner = db.session.scalars(select(User).where(User.email == EMAIL)).one()
            owner.is_admin = True
            db.session.commit()
        visitor = Visitor(Asker(app.test_client(), "", LINKS))
        print(f"{f'{LINKS:,} links, ms of {options.times} each':<46}{'p50':>8}{'p95':>8}")
        held = [tell(visitor.throws_away(), THROWN)] if is_new else []
        ways = [*visitor.pages(), *visitor.figures(), *visitor.writes()]
        held += [tell(way, options.times) for way in ways if options.only in way.name]
    if not all(held):
        sys.exit(f"{held.count(False)} are over {TARGET_MS} ms")


if __name__ == "__main__":
    main()
