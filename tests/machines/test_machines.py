"""Several machines on one PostgreSQL and one Redis: everything counts once, whatever is killed or stopped."""

from __future__ import annotations

import http.client
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.machines import cluster as machines
from tests.machines.cluster import MACHINES, Cluster
from tests.machines.load import HOST, Load
from tests.notifications.sinks import Sink
from tests.server import BROWSER, wait_for

pytestmark = pytest.mark.full

HOT = ("hot-1", "hot-2", "hot-3")
LIMITED = {"limited-1": 40, "limited-2": 90}
STARTS = 12
PART = 40  # visits that one machine answers between two disturbances
SEEN_SECONDS = 1.0  # the contract's


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with machines.started(tmp_path_factory.mktemp("machines")) as found:
        yield found


@pytest.fixture
def sink() -> Iterator[Sink]:
    found = Sink()
    yield found
    found.close()


def location(cluster: Cluster, at: int, alias: str, address: str = "192.0.2.9") -> tuple[int, str]:
    """The answer of one machine to a visitor: its status, and where it redirects to."""
    line = http.client.HTTPConnection("127.0.0.1", cluster.machines[at].port, timeout=20)
    headers = {"User-Agent": BROWSER, "X-Forwarded-For": address, "X-Forwarded-Host": HOST}
    try:
        line.request("GET", f"/{alias}", headers=headers)
        answer = line.getresponse()
        return answer.status, answer.getheader("Location", "")
    finally:
        line.close()


def change_and_measure(cluster: Cluster, link_id: int, alias: str, at: int) -> float:
    """Change a link at one machine. Returns after how many seconds all redirect to the new destination."""
    new = f"https://example.com/{time.monotonic_ns()}"
    for number in range(MACHINES):  # all have it in memory
        assert location(cluster, number, alias)[0] == 302
    cluster.api("POST", f"links/{link_id}", at=at, location_url=new)
    begun = time.monotonic()
    waiting = set(range(MACHINES))
    while waiting and time.monotonic() < begun + 10:
        waiting -= {number for number in waiting if location(cluster, number, alias)[1] == new}
    assert not waiting
    return time.monotonic() - begun


def test_a_changed_link_is_changed_on_all_within_a_second(cluster: Cluster) -> None:
    link_id = cluster.make_link(url="changed", location_url="https://example.com/before")
    for at in range(MACHINES):
        assert change_and_measure(cluster, link_id, "changed", at) < SEEN_SECONDS


def make_links(cluster: Cluster, sink: Sink) -> dict[str, int]:
    """The hot and the limited links, and those that start soon. All tell the sink of their events."""
    webhook = {"name": "Sink", "type": "webhook", "webhook": sink.url()}
    handler = int(cluster.api("POST", "notification-handlers", **webhook)["id"])
    told = {"email_reports": [handler]}
    ids = {}
    for number, alias in enumerate((*HOT, *LIMITED)):
        fields = {"clicks_limit": LIMITED[alias]} if alias in LIMITED else {}
        ids[alias] = cluster.make_link(
            at=number % MACHINES, url=alias, location_url=f"https://example.com/{alias}", **told, **fields
        )
    for number in range(STARTS):
        start = f"{datetime.now(UTC) + timedelta(seconds=4 + 2 * number):%Y-%m-%d %H:%M:%S}"
        dates = {"schedule": True, "start_date": start}
        ids[f"start-{number}"] = cluster.make_link(
            at=number % MACHINES, url=f"start-{number}", location_url="https://example.com/", **told, **dates
        )
    return ids


def wait_for_part(load: Load, *at: int) -> None:
    """Wait until each of these machines has answered some more visits."""
    wanted = {number: load.answered(number) + PART for number in at}
    wait_for(lambda: all(load.answered(n) >= part for n, part in wanted.items()), "visits of all")


def test_nothing_is_lost_or_counted_twice_whatever_is_killed_or_stopped(cluster: Cluster, sink: Sink) -> None:
    ids = make_links(cluster, sink)
    load = Load(cluster.machines, (*HOT, *LIMITED))
    everybody = tuple(range(MACHINES))
    load.start()
    try:
        wait_for_part(load, *everybody)
        for number, machine in enumerate(cluster.machines):
            machine.kill()
            wait_for_part(load, *(other for other in everybody if other != number))
            machine.start()
            wait_for_part(load, *everybody)
        cluster.redis.stop()
        wait_for_part(load, *everybody)
        cluster.redis.start()
        wait_for_part(load, *everybody)
        cluster.postgres.stop()
        wait_for_part(load, *everybody)  # from memory, into the journals
        dying = cluster.machines[-1]
        dying.kill()  # with clicks in its journal that no database has seen
        cluster.postgres.start()
        wait_for_part(load, *everybody[:-1])
        dying.start()
        wait_for_part(load, *everybody)
        assert change_and_measure(cluster, ids[HOT[0]], HOT[0], at=1) < SEEN_SECONDS
    finally:
        load.stop()

    check_counts(cluster, load, ids)
    check_events(cluster, sink, ids)


def check_counts(cluster: Cluster, load: Load, ids: dict[str, int]) -> None:
    """Each answered visit is counted once; one without an answer at most once; and no other is."""
    visits = load.by_status()
    for alias in (*HOT, *LIMITED):
        answered, unanswered = visits[alias][302], visits[alias][0]
        rows = wait_for_rows(cluster, ids[alias], answered)
        without_number = rows.pop("", 0)  # those of `change_and_measure`
        assert bool(without_number) == (alias == HOT[0])
        assert {number: n for number, n in rows.items() if n != 1} == {}, f"{alias}: counted twice"
        assert set(rows) - answered - unanswered == set(), f"{alias}: counted without an answer"
        counted = sum(rows.values()) + without_number
        assert cluster.clicks(ids[alias]) == counted, f"{alias}: the counter and the rows differ"
    for alias, limit in LIMITED.items():
        assert len(visits[alias][302]) <= limit
        assert cluster.clicks(ids[alias]) == limit
        assert visits[alias].keys() <= {302, 410, 503, 0}
    for alias in HOT:
        assert visits[alias].keys() <= {302, 0}, "a link in memory is answered, whatever is away"


def wait_for_rows(cluster: Cluster, link_id: int, answered: set[str]) -> Counter[str]:
    """The rows of a link, once the journals are ingested."""

    def are_ingested() -> bool:
        waiting = cluster.rows("SELECT count(*) FROM clicks.position WHERE rows_offset < counters_offset")
        found = rows_of(cluster, link_id)
        # a visit that had no answer may have come to a journal all the same
        return answered <= set(found) and waiting == [(0,)] and cluster.clicks(link_id) == found.total()

    wait_for(are_ingested, "the rows", 30)
    return rows_of(cluster, link_id)


def rows_of(cluster: Cluster, link_id: int) -> Counter[str]:
    """How many rows the visit of each number has; "" for those without a number."""
    found = cluster.rows(
        "SELECT coalesce(value, ''), count(*) FROM clicks.click"
        " LEFT JOIN clicks.term ON term.id = utm_source_id WHERE link_id = %s GROUP BY 1",
        link_id,
    )
    return Counter({str(number): int(n) for number, n in found})


def check_events(cluster: Cluster, sink: Sink, ids: dict[str, int]) -> None:
    """Each event has one id, however often it was sent."""

    def ids_of_events() -> dict[tuple[str, int], set[str]]:
        found: dict[tuple[str, int], set[str]] = defaultdict(set)
        for _, webhook_id, body in list(sink.heard):
            found[str(body["type"]), body["data"]["link"]["id"]].add(webhook_id)  # type: ignore[index]
        return found

    expected = {("link.clicks_limit_reached", ids[alias]) for alias in LIMITED}
    expected |= {("link.started", ids[f"start-{number}"]) for number in range(STARTS)}
    # a killed machine's deliveries are sent again within a minute
    wait_for(lambda: expected <= ids_of_events().keys(), "the events", 90)
    assert {event: len(found) for event, found in ids_of_events().items()} == dict.fromkeys(expected, 1)


# needs the shared daily salt
def test_a_visitor_of_all_machines_is_one(cluster: Cluster) -> None:
    link_id = cluster.make_link(url="visitor", location_url="https://example.com/")
    for _ in range(2):
        for at in range(MACHINES):
            assert location(cluster, at, "visitor", "192.0.2.77")[0] == 302
    wait_for(lambda: cluster.clicks(link_id) == 2 * MACHINES, "the clicks", 20)

    def overview() -> tuple[int, int]:
        days = cluster.api("GET", f"statistics/{link_id}")
        return sum(day["pageviews"] for day in days), sum(day["visitors"] for day in days)

    wait_for(lambda: overview()[0] == 2 * MACHINES, "the statistics", 20)
    assert overview() == (2 * MACHINES, 1)
