"""Verification of domains: by TXT record or file; and the daily checks of proofs, which break nothing."""

from __future__ import annotations

import datetime as dt
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import dns.rcode
import pytest
import time_machine
from flask import Flask
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.errors import Invalid
from app.core.extensions import db
from app.domains import services, verification
from app.domains.models import Domain
from app.jobs.outbound import check_proofs
from app.net import dial
from tests.api.shape import always, problem
from tests.clients import Api
from tests.dashboard.conftest import Desk, desk  # noqa: F401
from tests.domains.conftest import Dns
from tests.notifications.peers import Peers
from tests.threads import at_once

TXT = "_waypost.go.example"
TOKEN = "t" * 43
VALUE = f"waypost-verification={TOKEN}"
LOOPBACK = pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")


@pytest.fixture
def domain(make_domain: Callable[..., Any], alice: User, monkeypatch: pytest.MonkeyPatch) -> Domain:
    """A domain whose host does not resolve, because its top-level domain is reserved."""
    monkeypatch.setattr(verification, "SECONDS", 2.0)
    found: Domain = make_domain(alice, "go.example", is_verified=False, token=TOKEN)
    return found


@pytest.fixture
def all_names_lead_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def here(_host: str, port: int) -> list[dial.Found]:
        return [(socket.AF_INET, ("127.0.0.1", port))]

    monkeypatch.setattr(dial, "look_up", here)


def verify(api: Api, domain: Domain) -> dict[str, Any]:
    answer = api.post(f"/domains/{domain.id}/verify")
    assert answer.status_code == 200, answer.text
    always(answer)
    data: dict[str, Any] = answer.json["data"]
    assert api.get(f"/domains/{domain.id}").json["data"]["is_verified"] is data["is_verified"]
    return data


def test_by_the_dns(api: Api, domain: Domain, name_server: Dns) -> None:
    name_server.records[TXT] = ["v=spf1 -all", VALUE]
    data = verify(api, domain)
    assert data == {
        "is_verified": True,
        "checks": [{"method": "txt", "is_found": True, "detail": "The TXT record is there."}],
    }
    assert name_server.asked == [TXT]
    assert verify(api, domain) == {"is_verified": True, "checks": []}
    sent = {"location_url": "https://example.com/", "domain_id": domain.id}
    assert api.post("/links", sent).status_code == 201


NOT_IN_DNS = [
    ([], "There is no TXT record at this name yet."),
    (["x"], "There is another TXT record at this name."),
    (["a", "waypost-verification=" + "u" * 43], "There are 2 other TXT records at this name."),
    ([VALUE + "x", TOKEN, "x" + VALUE], "There are 3 other TXT records at this name."),
    (None, "The DNS did not answer in time."),
]


@pytest.mark.parametrize(("records", "detail"), NOT_IN_DNS)
def test_not_by_other_records(api: Api, domain: Domain, name_server: Dns, records: Any, detail: str) -> None:
    name_server.records[TXT] = records
    data = verify(api, domain)
    assert data["is_verified"] is False
    assert [check["method"] for check in data["checks"]] == ["txt", "file"]
    assert data["checks"][0]["detail"] == detail


def test_not_by_a_dns_that_fails(api: Api, domain: Domain, name_server: Dns) -> None:
    name_server.records[TXT], name_server.rcode = [VALUE], dns.rcode.SERVFAIL
    assert verify(api, domain)["checks"][0]["detail"] == "The DNS gave no answer that can be used."


def says(status: str, body: bytes) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


FILES = [
    ("200 OK", TOKEN.encode(), True, "The file is there."),
    ("200 OK", TOKEN.encode() + b"\r\n", True, "The file is there."),
    ("200 OK", b"<p>" + TOKEN.encode(), False, "There is a page at this address, but it is not the token alone."),
    ("200 OK", TOKEN.encode() + b"\n" + b"u" * 43, False, "There is a page at this address, but it is not the token alone."),
    ("404 Not Found", TOKEN.encode(), False, "The host answers this address with 404."),
    ("302 Found", TOKEN.encode(), False, "The host answers this address with 302."),
]  # fmt: skip


@LOOPBACK
@pytest.mark.parametrize(("status", "body", "is_found", "detail"), FILES)
@pytest.mark.usefixtures("all_names_lead_here")
def test_by_a_file(
    api: Api, domain: Domain, name_server: Dns, peers: Peers, session: scoped_session[Session],
    status: str, body: bytes, is_found: bool, detail: str,
) -> None:  # fmt: skip
    peer = peers.serve(peers.says(says(status, body)))
    domain.host, domain.scheme = f"go.example:{peer.port}", "http://"
    data = verify(api, domain)
    assert data["is_verified"] is is_found
    assert data["checks"][1] == {"method": "file", "is_found": is_found, "detail": detail}
    assert peers.heard[0].startswith(b"GET /.well-known/waypost HTTP/1.1\r\n")
    assert TOKEN.encode() not in peers.heard[0]


@pytest.mark.usefixtures("all_names_lead_here")
def test_no_private_host_is_asked(api: Api, domain: Domain, name_server: Dns, peers: Peers) -> None:
    peer = peers.serve(peers.says(says("200 OK", TOKEN.encode())))
    domain.host, domain.scheme = f"go.example:{peer.port}", "http://"
    data = verify(api, domain)
    assert data["is_verified"] is False
    assert "private network" in data["checks"][1]["detail"]
    assert peers.heard == []


def test_waypost_proves_nothing_by_itself(api: Api, domain: Domain) -> None:
    """A host that points here does not prove which user holds it."""
    for host in ("http://go.example", "http://localhost"):
        assert api.client.get("/.well-known/waypost", base_url=host).status_code == 404


@pytest.mark.databases
def test_one_verified_owner_a_host(
    api: Api, make_api: Callable[..., Api], bob: User, domain: Domain, make_domain: Callable[..., Any],
    name_server: Dns,
) -> None:  # fmt: skip
    """The first user with a proof gets the host. The other one gets an error."""
    theirs = make_domain(bob, "go.example:8443", is_verified=False, token="b" * 43)
    name_server.records[TXT] = [VALUE, "waypost-verification=" + "b" * 43]
    assert verify(api, domain)["is_verified"] is True
    entries = problem(make_api(bob).post(f"/domains/{theirs.id}/verify"), 422)
    assert [(entry["field"], entry["code"]) for entry in entries] == [("host", "taken")]


def test_the_host_changed_while_it_was_looked_at(
    api: Api, domain: Domain, name_server: Dns, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(wanted: Any) -> list[verification.ProofResult]:
        assert api.post(f"/domains/{domain.id}", {"host": "other.example"}).status_code == 200
        return [verification.ProofResult("txt", True, "")]

    monkeypatch.setattr(verification, "look", meanwhile)
    assert problem(api.post(f"/domains/{domain.id}/verify"), 422)[0]["code"] == "changed"
    assert api.get(f"/domains/{domain.id}").json["data"]["is_verified"] is False


def test_not_again_and_again(
    api: Api, make_api: Callable[..., Api], alice: User, domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "look", lambda _: [])
    for _ in range(20):
        assert api.post(f"/domains/{domain.id}/verify").status_code == 200
    answer = api.post(f"/domains/{domain.id}/verify")
    assert problem(answer, 429)[0]["code"] == "too_many_tries"
    assert answer.headers["Retry-After"]


MakeDomain = Callable[..., Domain]
A_DAY = dt.timedelta(days=1, minutes=1)


@pytest.fixture
def verified(make_domain: MakeDomain, alice: User, session: scoped_session[Session]) -> Domain:
    found = make_domain(alice, "go.example", is_verified=True, token=TOKEN)
    session.commit()
    return found


def days(session: scoped_session[Session], settings: Settings, count: int) -> None:
    """Run the daily job on each of the next `count` days."""
    begun = now()
    for day in range(1, count + 1):
        with time_machine.travel(begun + day * A_DAY, tick=False):
            check_proofs(session(), settings)


def test_gone_for_days_and_back(
    verified: Domain, session: scoped_session[Session], settings: Settings, name_server: Dns, database: str,
    desk: Desk, monkeypatch: pytest.MonkeyPatch,  # noqa: F811
) -> None:  # fmt: skip
    monkeypatch.setattr(verification, "in_file", lambda *_: (False, ""))
    name_server.records[TXT] = [VALUE]
    days(session, settings, 1)
    session.refresh(verified)
    assert (verified.unproven_since, verified.checked_datetime is None) == (None, False)
    name_server.records[TXT] = []
    begun = now()
    with time_machine.travel(begun + 3 * A_DAY, tick=False):
        check_proofs(session(), settings)
    with time_machine.travel(begun + 5 * A_DAY, tick=False):
        desk.sign_in()  # a session that is not to be kept ends after a day
        assert "Proof missing" not in desk.get("/domains/").text, "two days may be a mistake"
    with time_machine.travel(begun + 7 * A_DAY, tick=False):
        check_proofs(session(), settings)
        session.refresh(verified)
        assert (verified.is_verified, verified.unproven_since) == (
            True,
            (begun + 3 * A_DAY).replace(microsecond=0),
        )
        desk.sign_in()
        assert "Proof missing" in desk.get("/domains/").text
        assert "its proof was missing" in desk.get(f"/domains/{verified.id}/verify").text
    name_server.records[TXT] = [VALUE]
    with time_machine.travel(begun + 9 * A_DAY, tick=False):
        check_proofs(session(), settings)
        session.refresh(verified)
        assert verified.unproven_since is None
        desk.sign_in()
        assert "Proof missing" not in desk.get("/domains/").text


def test_nobody_can_tell(
    verified: Domain, session: scoped_session[Session], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A DNS server that does not answer says nothing about a proof. It is queried once a day at most."""
    asked = []
    monkeypatch.setattr(verification, "is_shown", lambda wanted, _allowed: asked.append(wanted))
    check_proofs(session(), settings)
    assert asked == [], "it was verified just now"
    with time_machine.travel(now() + A_DAY, tick=False):
        check_proofs(session(), settings)
        check_proofs(session(), settings)
    session.refresh(verified)
    assert (len(asked), verified.unproven_since, verified.is_verified) == (1, None, True)


@pytest.mark.databases
def test_who_proves_it_after_two_weeks_has_it(
    verified: Domain, make_domain: MakeDomain, make_api: Callable[..., Api], bob: User,
    session: scoped_session[Session], name_server: Dns,
) -> None:  # fmt: skip
    theirs = make_domain(bob, "go.example", is_verified=False, token="b" * 43)
    name_server.records[TXT] = ["waypost-verification=" + "b" * 43]
    verified.unproven_since = now() - services.LAPSED + dt.timedelta(minutes=5)
    session.commit()
    assert make_api(bob).post(f"/domains/{theirs.id}/verify").status_code == 422
    verified.unproven_since = now() - services.LAPSED
    session.commit()
    assert make_api(bob).post(f"/domains/{theirs.id}/verify").json["data"]["is_verified"] is True
    session.refresh(verified)
    session.refresh(theirs)
    assert (verified.is_verified, theirs.is_verified) == (False, True)


@pytest.mark.databases
@pytest.mark.parametrize("host", ["go.example", "go.example:8443"], ids=["the same", "with a port"])
def test_two_at_the_same_instant(
    host: str, app: Flask, make_domain: MakeDomain, alice: User, bob: User, session: scoped_session[Session],
) -> None:  # fmt: skip
    """Of two users who have both shown a proof, exactly one gets the host, with its ports."""
    rounds = 8
    ids = [
        (make_domain(alice, f"x{n}.{host}", is_verified=False, token=TOKEN).id,
         make_domain(bob, f"x{n}.go.example", is_verified=False, token=TOKEN).id)
        for n in range(rounds)
    ]  # fmt: skip
    session.commit()
    for pair in ids:
        at_once(partial(verify_here, app), pair)
    session.expire_all()
    got = [[session.get_one(Domain, id_).is_verified for id_ in pair] for pair in ids]
    assert [sum(each) for each in got] == [1] * rounds, got


def verify_here(app: Flask, domain_id: int) -> None:
    with app.app_context():
        begin_write(db.session)
        try:
            services.verify(db.session.get_one(Domain, domain_id), TOKEN)
            db.session.commit()
        except Invalid:
            db.session.rollback()


@pytest.mark.settings(BASE_URL="https://waypost.example")
def test_what_looks_like_our_own(api: Api) -> None:
    for host in ("wayp0st.example", "wáypost.example"):
        answer = api.post("/domains", {"host": host})
        assert (answer.status_code, answer.json["errors"][0]["code"]) == (422, "look_alike")
    for host in ("go.waypost.example", "waypoint.example"):
        assert api.post("/domains", {"host": host}).status_code == 201
