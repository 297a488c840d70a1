"""Time of the list of 1,000,000 links with every filter, order and search: `python -m bench.list`

One owner has that many links of all kinds, another a tenth of it. A request is measured without the socket:
Flask's test client asks the real application. Of each filter and order the first page, one in the middle
(the farthest from both ends) and the last are asked for. A target holds for nineteen of twenty requests.
`--postgres` uses a temporary PostgreSQL instead of SQLite. With `--members 20` as many people share the
workspace, and have made its links in turn. `--processor` measures processor time, for a machine that has
other work; PostgreSQL's own is not in it. `--keep` names a directory in which the links of SQLite stay.
"""

from __future__ import annotations

import argparse
import datetime as dt
import gc
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import sqlalchemy as sa
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app import create_app
from app.accounts.access import EDITOR, VIEWER
from app.accounts.keys import create_key
from app.accounts.models import Workspace
from app.accounts.workspaces import access_of, add_member
from app.analytics.models import Counter
from app.core.config import Settings, load_settings
from app.core.database import begin_write, prepare_engine
from app.core.extensions import db
from app.dashboard.links.filters import LISTING, RULES
from app.dashboard.links.states import STATES
from app.domains.models import Domain
from app.links.clicks import ClickCopies
from app.links.models import Alias, Link, LinkTag, link_clicks, link_notification_handler, link_pixel
from app.links.search_text import folded_notes
from app.links.targeting import TYPES
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project
from bench._stored_links import chunks
from tests import postgres
from tests.migrations import environ, migrate
from tests.users import create_user

TARGET_MS, FILTERED_MS, SEARCH_MS = 200, 300, 150  # of a page, one with a filter, and one of a search
SHORT_WORDS_MS = 5000
KEY = "key"  # a file of what `--keep` names
LAST_PAGE = re.compile(r'rel="prev" href="[^"]*[?;]page=([0-9]+)')
EMAIL, PASSWORD = "bench@example.com", "five small boats go upriver"
SOME = 12  # projects, pixels, handlers
WORDS = (
    "spring",
    "sale",
    "Straße",
    "launch",
    "letter",
    "größer",
    "team",
    "guide",
    "東京",
    "café",
    "price",
    "help",
)
PLAIN: Mapping[str, Any] = {
    "targeting_type": None,
    "password_hash": None,
    "sensitive_content": False,
    "clicks_limit": None,
    "cloaking_is_enabled": False,
    "app_linking_is_enabled": False,
    "is_enabled": True,
}
KINDS: tuple[Mapping[str, Any], ...] = (
    *({"targeting_type": name} for name in TYPES),
    *({"password_hash": "$argon2id$"}, {"sensitive_content": True}, {"clicks_limit": 50}),
    *({"clicks_limit": 5000}, {"cloaking_is_enabled": True}, {"app_linking_is_enabled": True}),
    {"is_enabled": False},
)
API_STATUS = {"state", "rule", "handler_id"}  # filters of the dashboard alone
SEARCHES = {
    "one": "-77777",
    "in most": "example.com",
    "in some": "STRASSE",
    "beyond ASCII": "GRÖSSER",
    "of 3 letters": "東京 no",
    "of 2 letters": "é ",
    "of 1 letter": "7",
    "of nothing": "nowhere at all",
    "literal": "%",
}


class Way(NamedTuple):
    """One kind of request, and the function that sends it. Each number makes it another page."""

    name: str
    ask: Callable[[int], TestResponse]
    target_ms: int = TARGET_MS


# ------------------------------------------------------------------- stored rows


def fill(settings: Settings, links: int, members: int = 1) -> str:
    key = store_owners(settings, links, members)
    count(settings, links)
    return key


def store_owners(settings: Settings, links: int, members: int = 1) -> str:
    """Store an owner with so many links, and a stranger with a tenth of it. Returns the owner's API key.

    `members`: how many people are in the owner's workspace.
    """
    migrate(settings.data_dir, settings.database_url)
    app = create_app(settings)
    with app.app_context():
        begin_write(db.session)
        owner, stranger = create_user(EMAIL, PASSWORD), create_user("other@example.com", PASSWORD)
        _, key = create_key(access_of(owner), "bench")
        with indexes_made_afterwards():
            for user, numbers in ((owner, range(links)), (stranger, range(links, links + links // 10))):
                whose = access_of(user).row_columns
                around = surround(whose)
                people = join(whose["workspace_id"], members - 1) if user is owner else []
                for some in chunks(len(numbers)):
                    store(whose, [numbers[one - 1] + 1 for one in some], around, [user.id, *people])
                    db.session.commit()
        db.session.commit()
        if not settings.is_sqlite:  # as PostgreSQL's autovacuum does
            db.session.commit()
            with db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(sa.text("VACUUM ANALYZE"))
        db.engine.dispose()
    return key


@contextmanager
def indexes_made_afterwards() -> Iterator[None]:
    """Links are stored without indexes, and on SQLite without triggers, which takes a third of the time."""
    connection = db.session.connection()
    if connection.dialect.name == "sqlite":
        wanted = "SELECT type, name, sql FROM sqlite_master WHERE sql != '' AND tbl_name IN :tables"
    else:
        wanted = """SELECT 'index' AS type, indexname AS name, indexdef AS sql FROM pg_indexes
            WHERE tablename IN :tables AND indexname LIKE 'ix_%'"""
    tables = [model.name for model in (Link.__table__, Alias.__table__, LinkTag.__table__, link_pixel)]
    tables.append(link_notification_handler.name)
    found = connection.execute(sa.text(wanted).bindparams(sa.bindparam("tables", tables, expanding=True)))
    later = [row for row in found.all() if row.type in {"index", "trigger"}]
    for kind, name, _ in later:
        connection.execute(sa.text(f"DROP {kind} {name}"))
    yield
    connection = db.session.connection()
    for _, _, sql in later:
        connection.exec_driver_sql(sql)
    if connection.dialect.name == "sqlite":
        copied = ", ".join({*link_clicks.c.keys()} - {"link_id", "clicks"})
        rows = f"INSERT INTO link_clicks (link_id, clicks, {copied}) SELECT id, 0, {copied} FROM link"
        connection.execute(sa.text(rows))
        connection.execute(sa.text("INSERT INTO link_search (link_search) VALUES ('rebuild')"))


def join(workspace_id: int, count: int) -> list[int]:
    """Store members of the workspace beside its owner, every other one a viewer. Returns their ids."""
    workspace = db.session.get_one(Workspace, workspace_id)
    users = [create_user(f"member{number}@example.com", PASSWORD) for number in range(count)]
    for number, user in enumerate(users):
        add_member(workspace, user, VIEWER if number % 2 else EDITOR)
    return [user.id for user in users]


def surround(whose: Mapping[str, int]) -> Mapping[str, list[int]]:
    """Store rows that links can refer to, a dozen of each. Returns their ids by table."""
    rows: dict[str, list[Any]] = {
        "project": [Project(**whose, name=f"Project {n}") for n in range(SOME)],
        "pixel": [Pixel(**whose, type="social_a", name=f"Pixel {n}", pixel=str(n)) for n in range(SOME)],
        "handler": [
            NotificationHandler(**whose, type="email", name=f"Me {n}", settings={"email": EMAIL})
            for n in range(SOME)
        ],
        "domain": [Domain(**whose, host=f"go{whose['user_id']}.example", is_verified=True, token="t")],
    }
    db.session.add_all([row for some in rows.values() for row in some])
    db.session.flush()
    return {name: [row.id for row in some] for name, some in rows.items()}


def store(
    whose: Mapping[str, int], numbers: list[int], around: Mapping[str, list[int]], users: list[int]
) -> None:
    """Store links that these users have made in turn."""
    rows = [link_row(number, {**whose, "user_id": users[number % len(users)]}, around) for number in numbers]
    db.session.execute(sa.insert(Link), rows)
    aliases = [
        {
            "domain_id": row["domain_id"] or 0,
            "key": row["url"].casefold(),
            "link_id": row["id"],
            "workspace_id": whose["workspace_id"],
        }
        for row in rows
    ]
    db.session.execute(sa.insert(Alias), aliases)
    tags = [{"link_id": n, "tag": tag, "position": i} for n in numbers for i, tag in enumerate(tags_of(n))]
    db.session.execute(sa.insert(LinkTag), tags)
    pixels = [{"link_id": n, "pixel_id": around["pixel"][n % SOME]} for n in numbers if n % 4 == 0]
    db.session.execute(sa.insert(link_pixel), pixels)
    handlers = [
        {"link_id": n, "notification_handler_id": around["handler"][n % SOME]} for n in numbers if n % 5 == 0
    ]
    db.session.execute(sa.insert(link_notification_handler), handlers)


def tags_of(number: int) -> list[str]:
    return [WORDS[number % 5], f"tag {number % 300}"] if number % 3 else []


def link_row(number: int, whose: Mapping[str, int], around: Mapping[str, list[int]]) -> dict[str, Any]:
    """A link's columns. Most links are plain, one in five has an option, and some have dates."""
    chance, now = random.Random(number), dt.datetime.now(dt.UTC).replace(microsecond=0)
    a, b = chance.choice(WORDS), chance.choice(WORDS)
    start = now + dt.timedelta(days=chance.randint(-90, 30))
    has_dates = chance.random() < 0.06
    return {
        **PLAIN,
        **(chance.choice(KINDS) if chance.random() < 0.2 else {}),
        "id": number,
        **whose,
        "search_notes": folded_notes(None, tags_of(number)),
        "url": f"{a}-{number}" if number % 3 else f"{number:07x}",
        "location_url": f"https://{number % 500}.example.com/{a}/{b}/{number}?ref=bench&page={number % 17}",
        "title": f"{a} {b} no. {number}".title() if number % 4 else None,
        "targeting": [],
        "project_id": around["project"][number % SOME] if number % 2 else None,
        "domain_id": around["domain"][0] if number % 10 == 0 else None,
        "schedule": has_dates,
        "start_date": start if has_dates else None,
        "end_date": start + dt.timedelta(days=40) if has_dates else None,
        "last_datetime": now - dt.timedelta(seconds=chance.randint(0, 10**7)) if number % 2 else None,
        "datetime": now - dt.timedelta(minutes=2 * 10**5 - number),
    }


def count(settings: Settings, links: int) -> None:
    """Store clicks of most links, in the file that only the ingesting process writes."""
    engine = sa.create_engine(settings.database_url)
    prepare_engine(engine, settings, clicks_mode="rw")
    rows = [
        {"link_id": n, "clicks": random.Random(n).randint(1, 20_000)} for n in range(1, links + 1) if n % 5
    ]
    with engine.begin() as connection:
        connection.execute(sa.insert(Counter), rows)
    copies = ClickCopies(engine)
    while copies.step():
        pass
    engine.dispose()


# --------------------------------------------------------------------- requests


class Asker:
    """The owner, signed in and with an API key."""

    def __init__(self, client: FlaskClient, key: str, links: int) -> None:
        self.client, self.key, self.links = client, key, links
        self.lasts: dict[str, int] = {}  # the number of the last page by query
        data = {"csrf_token": self.token("/login"), "email": EMAIL, "password": PASSWORD}
        if client.post("/login", data=data).status_code != 303:
            raise RuntimeError("The bench can't sign in.")
        self.csrf = self.token("/dashboard/account/")

    def token(self, path: str) -> str:
        found = re.search(r'name="csrf_token" value="([^"]+)"', self.client.get(path).text)
        return found[1] if found else ""

    def page(self, query: Mapping[str, str], number: int) -> TestResponse:
        last = max(1, self.links // int(query.get("results_per_page", 25)))
        page = query.get("page", "").replace("any", str(number * 7919 % last + 1))
        return self.client.get(f"/dashboard/links/?{urlencode({**query, 'page': page})}")

    def page_at(self, query: Mapping[str, str], place: str, number: int) -> TestResponse:
        """The page in the middle of the list, or the last one."""
        key = urlencode(query)
        if key not in self.lasts:  # a page past the end leads back to the last one
            found = LAST_PAGE.search(self.page({**query, "page": str(10**9)}, number).text)
            self.lasts[key] = int(found[1]) if found else 1
        last = self.lasts[key]
        return self.page({**query, "page": str(last if place == "last" else max(1, last // 2))}, number)

    def api(self, query: Mapping[str, str], number: int) -> TestResponse:  # noqa: ARG002
        headers = {"Authorization": f"Bearer {self.key}"}
        return self.client.get(f"/api/links/?{urlencode(query)}", headers=headers)

    def select_all(self, query: Mapping[str, str], number: int) -> TestResponse:  # noqa: ARG002
        """Ask to delete all that match. The answer shows how many, and asks before anything is deleted."""
        data = {"csrf_token": self.csrf, "do": "delete", "all": "1", "query": urlencode(query)}
        return self.client.post("/dashboard/links/many", data=data)

    def ways(self) -> Iterator[Way]:
        questions = dict(self.questions())
        for name, query in questions.items():
            most = target_of(query)
            yield Way(name, partial(self.page, query), most)
            for place in ("middle", "last") if "page" not in query else ():
                yield Way(f"{name}, {place}", partial(self.page_at, query, place), most)
        for name, query in questions.items():
            most = target_of(query)
            if not API_STATUS & query.keys() and "page" not in query:
                yield Way(f"API: {name}", partial(self.api, query), most)
            if "order_by" not in query and "results_per_page" not in query:
                yield Way(f"select all: {name}", partial(self.select_all, query), most)

    def questions(self) -> Iterator[tuple[str, dict[str, str]]]:
        yield "plain", {}
        yield "any page", {"page": "any"}
        yield "any page of 100", {"page": "any", "results_per_page": "100"}
        for name in STATES:
            yield f"state {name}", {"state": name}
        for name in RULES:
            yield f"rule {name}", {"rule": name}
        for name, value in (("project_id", "4"), ("project_id", "0"), ("domain_id", "1"), ("domain_id", "0")):
            yield f"{name} {value}", {name: value}
        for name, value in (("tag", "spring"), ("tag", "tag 7"), ("pixel_id", "5"), ("handler_id", "6")):
            yield f"{name} {value}", {name: value}
        day = (dt.datetime.now(dt.UTC) - dt.timedelta(days=100)).date().isoformat()
        yield "created from", {"datetime_start": day}
        yield "created until", {"datetime_end": day}
        for name in LISTING.orders:
            yield f"by {name}", {"order_by": name}
            yield f"by {name}, rising", {"order_by": name, "order_type": "ASC"}
            yield f"by {name}, of a project", {"order_by": name, "project_id": "4"}
            yield f"by {name}, of active ones", {"order_by": name, "state": "active"}
        for name, text in SEARCHES.items():
            yield f"search {name}", {"search": text}
        yield "search in titles", {"search": "no", "search_by": "title"}
        yield "all together", {"search": "e", "state": "active", "tag": "sale", "order_by": "clicks"}


def target_of(query: Mapping[str, str]) -> int:
    if "search" in query:
        return SEARCH_MS if len(query["search"]) > 2 else SHORT_WORDS_MS
    return FILTERED_MS if query.keys() & LISTING.filters.keys() else TARGET_MS


@contextmanager
def own_postgres() -> Iterator[str]:
    with postgres.session(), postgres.started():
        with postgres.connect() as connection:
            connection.execute("CREATE DATABASE bench_list")
        yield postgres.address("bench_list")


def measure(way: Way, times: int, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    took = []
    for number in range(times + 1):
        began = clock()
        answer = way.ask(number)
        took.append((clock() - began) * 1000)
        if answer.status_code != 200 and "Select the links first" not in answer.text:
            raise RuntimeError(f"{way.name}: {answer.status_code} {answer.text[:300]}")
    return sorted(took[1:])  # the first request is not measured


def kept_key(data_dir: Path) -> str:
    """The owner's API key, where the links of an earlier run are there."""
    return (data_dir / KEY).read_text() if (data_dir / KEY).exists() else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=20, help="how often each way is asked")
    parser.add_argument("--only", default="", help="ways whose name has this in it")
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--members", type=int, default=1, help="people in the workspace")
    parser.add_argument("--processor", action="store_true", help="measure processor time")
    parser.add_argument("--keep", type=Path, help="a directory in which what is made stays")
    options = parser.parse_args()
    if options.keep and options.postgres:
        parser.error("--keep is for SQLite")
    clock = time.process_time if options.processor else time.perf_counter
    with ExitStack() as stack:
        data_dir = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(own_postgres()) if options.postgres else ""
        settings = load_settings(environ(data_dir, url, API_RATE_LIMIT="0"))
        key = kept_key(data_dir) or fill(settings, options.links, options.members)
        (data_dir / KEY).write_text(key)
        asker = Asker(create_app(settings).test_client(), key, options.links)
        gc.collect()
        gc.freeze()  # as web processes do: else a request now and then takes 100 ms more
        slow = 0
        kind = "ms of processor time" if options.processor else "ms"
        print(f"{options.links:,} links of {options.members} members, {kind} of {options.times} each")
        print(f"{'p50':>52}{'p95':>8}")
        for way in asker.ways():
            if options.only in way.name:
                took = measure(way, options.times, clock)
                p95 = took[max(0, -(-len(took) * 19 // 20) - 1)]
                slow += p95 > way.target_ms
                verdict = f"  OVER {way.target_ms}" if p95 > way.target_ms else ""
                print(f"{way.name:<44}{statistics.median(took):>8.0f}{p95:>8.0f}{verdict}", flush=True)
    if slow:
        sys.exit(f"{slow} are over their targets")


if __name__ == "__main__":
    main()
