"""Destination checks: one event when a destination begins to fail, one when it recovers, and none else."""

from __future__ import annotations

import datetime as dt
import ipaddress
import threading

import pytest
from sqlalchemy import select, update

from app.core.clock import now
from app.jobs import outbound
from app.jobs.fair_pool import FairPool, run_fairly
from app.jobs.outbound import check_destinations
from app.links import destination_checks, services
from app.links.models import DestinationCheck, link_notification_handler
from app.notifications import events
from app.notifications.models import Event
from tests.net.odd_answers import ANSWERS, no_dns, redirects
from tests.notifications.peers import Peers, Script

__all__ = ["no_dns"]

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)


def answers(peers: Peers, **statuses: int) -> Script:
    """A server that answers each method with its status."""

    def script(line) -> None:
        method = peers.hear(line).split()[0].decode()
        line.sendall(f"HTTP/1.1 {statuses[method]} X\r\nLocation: /\r\nContent-Length: 0\r\n\r\n".encode())

    return script


@pytest.mark.parametrize(
    ("head", "get", "words"),
    [
        (200, 500, None),
        (405, 200, None),
        (404, 200, None),
        (403, 403, None),
        (404, 404, "404 Not Found"),
        (500, 503, "503 Service Unavailable"),
        (301, 301, "too many times"),
    ],
)
def test_head_and_where_that_is_not_liked_get(peers, head, get, words):
    found = destination_checks.problem(peers.serve(answers(peers, HEAD=head, GET=get)).url, LOOPBACK)
    assert (words in found) if words else found is None
    assert peers.heard[0].startswith(b"HEAD ")


def test_who_does_not_answer_at_all(peers):
    assert "broke off" in destination_checks.problem(peers.serve(peers.resets).url, LOOPBACK)


def test_a_private_network_is_not_asked(peers):
    with pytest.raises(destination_checks.NotOurs):
        destination_checks.problem(peers.serve(peers.resets).url)
    there = peers.serve(
        peers.says(b"HTTP/1.1 302 X\r\nLocation: http://10.1.2.3/\r\nContent-Length: 0\r\n\r\n")
    )
    with pytest.raises(destination_checks.NotOurs):
        destination_checks.problem(there.url, LOOPBACK)


# --- rows


@pytest.fixture
def watched(session, alice, make_link, make_handler):
    """A link that is checked: its owner wants checks, and it has a handler."""
    alice.checks_destinations = True
    link = make_link(alice)
    rows = {"link_id": link.id, "notification_handler_id": make_handler(alice).id}
    session.execute(link_notification_handler.insert(), [rows])
    session.commit()
    return link


def enrolled(session) -> list[tuple[int, str]]:
    session.commit()
    destination_checks.enrol(session)
    session.commit()
    return [tuple(row) for row in session.execute(select(DestinationCheck.link_id, DestinationCheck.url))]


def come(session, reason: str | None, *, is_known: bool = True) -> list[tuple[str, dict]]:
    """Store one more result for all checks. Returns the events that it raised."""
    rows = session.execute(select(DestinationCheck.id, DestinationCheck.url)).all()
    session.rollback()
    destination_checks.write_down(
        session, [destination_checks.Result(id_, url, reason, is_known) for id_, url in rows]
    )
    found = session.scalars(select(Event)).all()
    for row in found:
        session.delete(row)
    session.commit()
    return [(row.type, row.data) for row in found]


@pytest.mark.databases
def test_three_in_a_row_are_a_failure_and_one_success_ends_it(session, watched):
    assert enrolled(session) == [(watched.id, watched.location_url)]
    assert [come(session, reason) for reason in ("a", "b", None, "c", "d")] == [[]] * 5
    assert come(session, "e") == [(events.FAILING, {"reason": "e"})]
    assert come(session, "f") == []
    [fault] = destination_checks.failing(session, [watched.id]).values()
    assert (fault.reason, fault.checked is not None) == ("f", True), "the latest, not the first"
    session.execute(update(DestinationCheck).values(checked_datetime=now() - dt.timedelta(days=1)))
    session.commit()
    assert come(session, "g" * 600) == []
    assert come(session, "not known", is_known=False) == []
    [again] = destination_checks.failing(session, [watched.id]).values()
    assert again.checked and fault.checked and again.checked >= fault.checked
    assert (again.since, again.reason) == (fault.since, "g" * 512)
    [(type_, data)] = come(session, None)
    assert (type_, list(data)) == (events.RECOVERED, ["failing_since"])
    assert come(session, None) == []


def test_what_is_not_known_says_nothing(session, watched):
    enrolled(session)
    assert [come(session, "x", is_known=known) for known in (True, False, True, False)] == [[]] * 4
    assert len(come(session, "x")) == 1


def test_it_comes_back_sooner_after_a_failure(session, watched):
    enrolled(session)
    for reason, least, most in ((None, 24, 36), ("x", 4, 6), ("x", 4, 6), ("x", 24, 36)):
        come(session, reason)
        [row] = session.scalars(select(DestinationCheck))
        assert least * 60 <= (row.due - row.planned).total_seconds() <= most * 60


def test_another_destination_begins_anew(session, watched):
    enrolled(session)
    for _ in range(3):
        come(session, "x")
    services.update(watched, {"location_url": "https://example.com/other"})
    assert enrolled(session) == [(watched.id, "https://example.com/other")]
    [row] = session.scalars(select(DestinationCheck))
    assert (row.failures, row.failing_since, row.reason, row.checked_datetime) == (0, None, None, None)
    assert come(session, None) == [], "nothing has recovered: it is another one"


@pytest.mark.parametrize("why", ["owner", "link", "handler", "scheme"])
def test_who_does_not_want_it_or_has_nobody_to_be_told_is_left_alone(session, watched, why):
    assert len(enrolled(session)) == 1
    if why == "owner":
        from app.accounts.models import User

        session.get(User, watched.user_id).checks_destinations = False
    elif why == "handler":
        watched.handlers[0].is_enabled = False
    else:
        services.update(watched, {"is_enabled": False} if why == "link" else {"location_url": "tel:+49123"})
    assert enrolled(session) == []


@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
def test_a_round(session, settings, watched, peers, make_link, alice):
    services.update(watched, {"location_url": peers.serve(answers(peers, HEAD=404, GET=404)).url})
    session.commit()
    check_destinations(session, settings)
    session.commit()
    [row] = session.scalars(select(DestinationCheck))
    assert (row.failures, row.url) == (1, watched.location_url)
    assert (row.reason, row.checked_datetime is None) == ("The server answered 404 Not Found.", False)
    check_destinations(session, settings)
    assert len(peers.heard) == 2, "it was not due again"


@pytest.mark.usefixtures("no_dns")
@pytest.mark.parametrize("name", ANSWERS)
def test_whatever_is_odd_is_no_answer(peers, name):
    """A problem in words, or an unknown result: never an error."""
    peer = peers.serve(peers.says(ANSWERS[name]))
    check = destination_checks.Check(1, peer.url, 1)
    result = destination_checks.ask(check, LOOPBACK)
    assert (result.id, result.url) == (1, peer.url)
    assert result.problem is None or (result.problem.endswith(".") and result.problem.isprintable())


def test_all_redirects_of_a_check_share_the_time_of_a_request(peers, monkeypatch):
    peer = peers.serve(peers.says(redirects(b"/")))
    asked = []

    def request(*arguments, seconds, **options):
        asked.append(seconds)
        return real(*arguments, seconds=seconds, **options)

    real = destination_checks.net_http.request
    monkeypatch.setattr(destination_checks.net_http, "request", request)
    destination_checks.problem(peer.url, LOOPBACK)
    assert len(asked) == 2 * destination_checks.HOPS
    for method in (asked[: destination_checks.HOPS], asked[destination_checks.HOPS :]):
        assert method == sorted(method, reverse=True)
        assert method[0] <= destination_checks.net_http.SECONDS


ODD = ("http://[/x", "http://h:x/", "gopher://h:1/")


@pytest.fixture
def watch(session, make_link, make_handler):
    """`watch(user, url)`: a link of the user that is checked."""

    def make(user, url):
        user.checks_destinations = True
        link = make_link(user, location_url=url)
        rows = {"link_id": link.id, "notification_handler_id": make_handler(user).id}
        session.execute(link_notification_handler.insert(), [rows])
        session.commit()
        return link

    return make


@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
@pytest.mark.parametrize(
    "what", ["an odd answer", "an odd address", "a fault of ours", "a fault when it is written down"]
)
def test_one_odd_destination_holds_up_no_other(
    session, settings, alice, bob, watch, peers, monkeypatch, what
):
    """And the odd one is checked again at the usual interval, not in every round."""
    odd_url = peers.serve(peers.says(redirects(b"gopher://h:1/"))).url if what == "an odd answer" else ODD[0]
    good = answers(peers, HEAD=404, GET=404)
    odd, fine = watch(alice, odd_url), watch(bob, peers.serve(good).url)
    other = watch(alice, peers.serve(good).url)
    asked = []

    def ask(check, allowed):
        asked.append(check.url)
        if what == "a fault of ours" and check.url == odd_url:
            raise RecursionError
        return real_ask(check, allowed)

    def write_down(session, results):
        if what.endswith("down") and results[0].url == odd_url:
            raise ValueError("A string literal cannot contain NUL (0x00) characters.")
        real_write_down(session, results)

    real_ask, real_write_down = destination_checks.ask, destination_checks.write_down
    monkeypatch.setattr(destination_checks, "ask", ask)
    monkeypatch.setattr(destination_checks, "write_down", write_down)
    monkeypatch.setattr(outbound, "check_errors", type(outbound.check_errors)("checks", first_seconds=1800.0))
    for _ in range(3):
        check_destinations(session, settings)
    rows = {row.link_id: row for row in session.scalars(select(DestinationCheck))}
    assert [rows[link.id].failures for link in (fine, other)] == [1, 1]
    assert sorted(asked) == sorted([odd.location_url, fine.location_url, other.location_url])
    if not what.startswith("a fault"):
        assert (rows[odd.id].failures, bool(rows[odd.id].reason)) == (1, True)
        assert rows[odd.id].due > rows[odd.id].planned


@pytest.mark.databases
def test_owners_take_turns(session, alice, bob, watch):
    mine = [watch(alice, f"https://a{n}.example/") for n in range(5)]
    other = watch(bob, "https://b.example/")
    enrolled(session)
    checks_of = {row.link_id: row.id for row in session.scalars(select(DestinationCheck))}
    first = [check.id for check in destination_checks.due(session, 2)]
    assert sorted(first) == sorted([checks_of[mine[0].id], checks_of[other.id]])
    assert checks_of[other.id] not in [
        check.id for check in destination_checks.due(session, 2, [checks_of[other.id]])
    ]


@pytest.mark.databases
def test_more_links_than_are_enrolled_at_once(session, alice, bob, watch, monkeypatch):
    """Owners in turns; rows that are not wanted any more are deleted in batches."""
    monkeypatch.setattr(destination_checks, "BATCH_SIZE", 2)
    mine = [watch(alice, f"https://a{n}.example/") for n in range(4)]
    other = watch(bob, "https://b.example/")
    assert {link for link, _ in enrolled(session)} == {mine[0].id, other.id}
    assert len(enrolled(session)) == 4
    assert len(enrolled(session)) == 5
    alice.checks_destinations = False
    assert len(enrolled(session)) == 3
    assert enrolled(session) == [(other.id, other.location_url)]


# --- turns


def test_one_server_is_asked_one_question_at_a_time():
    pool = FairPool()
    one, same, other, hers = (
        destination_checks.Check(1, "https://a.example/1", 1),
        destination_checks.Check(2, "https://A.example/2", 2),
        destination_checks.Check(3, "https://b.example/", 1),
        destination_checks.Check(4, "https://c.example/", 1),
    )
    assert [pool.is_free(each) for each in (one, same, other, hers)] == [True] * 4
    pool.begin(one)
    assert [pool.is_free(each) for each in (same, other, hers)] == [False, True, True]
    pool.begin(other)
    assert [pool.is_free(each) for each in (same, hers)] == [False, False], "an owner has two threads at most"
    pool.end(one)
    assert [pool.is_free(each) for each in (same, hers)] == [False, True], "a server has a pause"


def test_an_owner_whose_servers_hang_holds_up_no_other():
    """The two threads of this owner hang until all checks of the others are done."""
    slow = [destination_checks.Check(number, f"https://slow{number}.example/", 1) for number in range(40)]
    quick = [
        destination_checks.Check(100 + number, f"https://q{number}.example/", 2 + number)
        for number in range(40)
    ]
    done, others_are_done = [], threading.Event()

    def work(check):
        if check.workspace_id == 1:
            assert others_are_done.wait(90)
        return check.id

    for check, future in run_fairly([*slow, *quick], work, seconds=90):
        done.append(future.result())
        if len(done) == len(quick):
            assert set(done) == {check.id for check in quick}
            others_are_done.set()
        if len(done) > len(quick) + 2:
            break
