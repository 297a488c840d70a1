"""Click limits over two processes: exactly as many visitors get through, even across kills."""

from __future__ import annotations

import http.client
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.crowds import Owner, Reply, make_request, send_at_once, visit_at_once
from tests.server import BROWSER, Server, wait_for
from tests.test_kills import Crowd, ask, counted_visits

pytestmark = pytest.mark.full

THERE = "https://example.com/there"
VISITORS = 1000
LIMIT, KILLS, PART = 600, 3, 120
MakeServer = Callable[..., Server]


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owner]:
    """The owner of a server with two web processes."""
    directory = tmp_path_factory.mktemp("limits") / "data"
    server = Server(directory, PROCESSES="2", PIXEL_CONSENT="ask").start()
    yield Owner(server)
    server.stop()


def test_a_thousand_at_once(owner: Owner) -> None:
    let_a_thousand_come(owner, 1, 2, 10, 100)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_thousand_at_once_on_postgresql(make_server: MakeServer, database_url: str) -> None:
    owner = Owner(make_server(PROCESSES="2", DATABASE_URL=database_url))
    let_a_thousand_come(owner, 1, 100)
    set_a_limit_meanwhile(owner, 700)


def let_a_thousand_come(owner: Owner, *limits: int) -> None:
    for limit in limits:
        link_id = owner.make_link(url=f"limit-{limit}", location_url=THERE, clicks_limit=limit)
        answers = visit_at_once(owner.server.port, f"/limit-{limit}", VISITORS)
        assert answers == {(302, THERE): limit, (410, ""): VISITORS - limit}
        assert owner.clicks(link_id) == limit


@pytest.mark.parametrize("room", [700, -20], ids=["clicks are left", "more were there already"])
def test_a_limit_set_while_people_visit_is_exact_one_second_later(owner: Owner, room: int) -> None:
    set_a_limit_meanwhile(owner, room)


def set_a_limit_meanwhile(owner: Owner, room: int) -> None:
    """Both processes answer without a pause until one second after the change. Then exactly as many get
    through as the limit has left, however many got through before."""
    path = f"/busy-{abs(room)}"
    link_id = owner.make_link(url=path[1:], location_url=THERE)
    with Passers(owner.server.port, path) as passers:
        wait_for(lambda: passers.passed >= 60, "the first visitors")
        limit = passers.passed + room
        owner.change(link_id, clicks_limit=limit)
        time.sleep(1)  # not a wait for a condition: the contract allows this second
    left = max(0, limit - passers.passed)
    assert left < VISITORS
    answers = visit_at_once(owner.server.port, path, VISITORS)
    assert answers == Counter({(302, THERE): left, (410, ""): VISITORS - left})
    wait_for(lambda: owner.clicks(link_id) == passers.passed + left, "the clicks")


class Passers:
    """Visitors who come again and again at a moderate rate; `passed` is how many visits got through."""

    def __init__(self, port: int, path: str) -> None:
        self.port, self.path = port, path
        self.ended = threading.Event()
        self.answers: list[int] = []

    @property
    def passed(self) -> int:
        return self.answers.count(302)

    def visit(self) -> None:
        while not self.ended.wait(0.03):
            # to either process
            with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as line:
                line.request("GET", self.path, headers={"User-Agent": BROWSER})
                self.answers.append(line.getresponse().status)

    def __enter__(self) -> Passers:
        self.threads = [threading.Thread(target=self.visit) for _ in range(6)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()


# --- several steps, one click


def test_a_consent_ticket_leads_on_once(owner: Owner) -> None:
    spend_tickets_at_once(owner, limit=7, visitors=150)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_consent_ticket_leads_on_once_on_postgresql(make_server: MakeServer, database_url: str) -> None:
    server = make_server(PROCESSES="2", DATABASE_URL=database_url, PIXEL_CONSENT="ask")
    spend_tickets_at_once(Owner(server), limit=5, visitors=60)


def spend_tickets_at_once(owner: Owner, limit: int, visitors: int) -> None:
    """As many visitors as the limit says get the consent page. Each ticket is sent six times, works once."""
    port = owner.server.port
    pixel_id = owner.make_pixel()
    link_id = owner.make_link(url="asks", location_url=THERE, clicks_limit=limit, pixels_ids=[pixel_id])
    pages = send_at_once(port, [make_request(port, "/asks")] * visitors)
    assert Counter(page.status for page in pages) == {200: limit, 410: visitors - limit}
    tickets = [find_ticket(page) for page in pages if page.status == 200]
    forms = [{"ticket": ticket, "consent": "no"} for ticket in tickets for _ in range(6)]
    answers = send_at_once(port, [make_request(port, "/asks", form=form) for form in forms])
    for ticket in tickets:
        found = Counter(
            answer.location for answer, form in zip(answers, forms, strict=True) if form["ticket"] == ticket
        )
        assert found == {THERE: 1, "/asks": 5}
    assert owner.clicks(link_id) == limit


def test_a_tap_uses_up_one_click(owner: Owner) -> None:
    tap_at_once(owner, limit=20, visitors=45)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_tap_uses_up_one_click_on_postgresql(make_server: MakeServer, database_url: str) -> None:
    tap_at_once(Owner(make_server(PROCESSES="2", DATABASE_URL=database_url)), limit=15, visitors=30)


def tap_at_once(owner: Owner, limit: int, visitors: int) -> None:
    """More visitors than the limit have the page, and each form is sent six times at once. As many tickets
    redirect as there are clicks, and none of them twice. (Fewer forms than the server lets wait.)"""
    port = owner.server.port
    fields = {"clicks_limit": limit, "clicks_limit_confirmation_is_enabled": True}
    link_id = owner.make_link(url="taps", location_url=THERE, **fields)
    pages = send_at_once(port, [make_request(port, "/taps")] * visitors)
    assert {page.status for page in pages} == {200}
    assert owner.clicks(link_id) == 0
    forms = [{"ticket": find_ticket(page)} for page in pages for _ in range(6)]
    answers = send_at_once(port, [make_request(port, "/taps", form=form) for form in forms])
    assert {(answer.status, answer.location) for answer in answers} <= {
        (303, THERE),
        (303, "/taps"),
        (410, ""),
    }
    led_on = Counter(
        form["ticket"] for answer, form in zip(answers, forms, strict=True) if answer.location == THERE
    )
    assert len(led_on) == sum(led_on.values()) == limit
    assert owner.clicks(link_id) == limit


def find_ticket(page: Reply) -> str:
    return re.findall(r'name="ticket" value="([^"]+)"', page.body)[0]


GATES = {
    "password": ({"password": "open sesame"}, {"password": "open sesame"}),
    "warning": ({"sensitive_content": True}, {}),
}


@pytest.mark.parametrize(("fields", "form"), GATES.values(), ids=GATES)
@pytest.mark.parametrize("shared", [False, True], ids=["each his own cookie", "one cookie for all"])
def test_a_limit_behind_a_gate(owner: Owner, fields: Any, form: Any, shared: bool) -> None:
    """Passing the password page uses up no click. Of those who then go on, exactly the limit gets through."""
    port, visitors, limit = owner.server.port, 8, 5  # of ten tries
    path = f"/gate-{len(form)}-{int(shared)}"
    link_id = owner.make_link(url=path[1:], location_url=THERE, clicks_limit=limit, **fields)
    form_sent = make_request(port, path, form=form)
    passed = [pass_gate(port, form_sent, answer) for answer in send_at_once(port, [form_sent] * visitors)]
    assert {(answer.status, answer.location) for answer in passed} == {(303, path)}
    assert owner.clicks(link_id) == 0
    cookies = [passed[0].cookie if shared else answer.cookie for answer in passed]
    going = [make_request(port, path, headers={"Cookie": cookie}) for cookie in cookies]
    answers = Counter((answer.status, answer.location) for answer in send_at_once(port, going * 8))
    assert answers == {(302, THERE): limit, (410, ""): 8 * visitors - limit}
    assert owner.clicks(link_id) == limit
    again = send_at_once(port, [make_request(port, path, form=form)])
    assert again[0].status == 410


def pass_gate(port: int, request: bytes, first: Reply) -> Reply:
    """The answer, once the server had the time to compare the password: a busy machine may refuse eight at once."""
    if first.status != 503:
        return first
    return wait_for(
        lambda: (found := send_at_once(port, [request])[0]).status != 503 and found, "a comparison"
    )


def test_kill_everything_while_a_limit_is_used_up(make_server: MakeServer) -> None:
    server = make_server(PROCESSES="2", API_RATE_LIMIT="0")
    owner = Owner(server)
    link_id = owner.make_link(url="hot", location_url=THERE, clicks_limit=LIMIT)
    crowd = LimitedCrowd(server.port)
    for kill in range(1, KILLS + 1):
        threads = crowd.come(until=10 * LIMIT)
        wait_for(
            lambda kill=kill: len(crowd.answered) >= PART * kill, "visitors who got through", seconds=120
        )
        server.kill()
        for thread in threads:
            thread.join()
        server.start()
    threads = crowd.come(until=10 * LIMIT)
    wait_for(crowd.refused.is_set, "the limit's end", seconds=120)
    crowd.asked = 10 * LIMIT
    for thread in threads:
        thread.join()

    assert owner.clicks(link_id) == LIMIT
    # visits that got through at the moment of a kill had no answer
    assert LIMIT - KILLS * len(threads) <= len(crowd.answered) <= LIMIT
    wait_for(lambda: sum(counted_visits(server).values()) >= LIMIT, "the rows")
    server.stop()
    counted = counted_visits(server)
    assert {number: n for number, n in counted.items() if n != 1} == {}
    assert crowd.answered - set(counted) == set()
    assert len(counted) == LIMIT
    assert ask(server, "SELECT * FROM counter") == [], "the journal's counter has no part in it"


class LimitedCrowd(Crowd):
    """A crowd at a limited link: early visits get through, later ones are refused."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.refused = threading.Event()

    def note(self, number: str, status: int) -> None:
        if status == 410:
            self.refused.set()
        else:
            super().note(number, status)
