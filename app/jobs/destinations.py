"""How are many destinations asked without any server noticing? A few at a time, and of one server one."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from sqlalchemy.orm import Session

from app.config import Settings
from app.links import checks
from app.links.checks import Came, NotOurs
from app.notifications.networks import Network

AT_ONCE = 8
MOST = 400
SECONDS = 50.0  # of a minute; what is left is asked in the next
PAUSE = 1.0  # between two questions to one server


def check_destinations(session: Session, settings: Settings) -> None:
    """One round: what is due by now."""
    checks.enrol(session)
    session.rollback()
    until = time.monotonic() + SECONDS
    lists = by_server(checks.due(session, MOST))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for came in pool.map(lambda some: list(ask(some, settings.allow_private_networks, until)), lists):
            if came:
                checks.write_down(session, came)


def by_server(due: Mapping[int, str]) -> list[list[tuple[int, str]]]:
    servers: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for id_, url in due.items():
        servers[server_of(url)].append((id_, url))
    return list(servers.values())


def server_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def ask(some: Sequence[tuple[int, str]], allowed: Sequence[Network], until: float) -> Iterator[Came]:
    """All of one server's, one after the other; those there is no time for stay due."""
    for number, (id_, url) in enumerate(some):
        if number:
            time.sleep(PAUSE)
        if time.monotonic() > until:
            return
        try:
            yield id_, url, checks.problem(url, allowed), True
        except NotOurs:
            yield id_, url, None, False
