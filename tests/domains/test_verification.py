"""Verification of domains: by TXT record, by file, and by nothing else."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import dns.rcode
import pytest
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.domains import verification
from app.domains.models import Domain
from app.net import dial
from tests.api.shape import always, problem
from tests.clients import Api
from tests.domains.conftest import Dns
from tests.notifications.peers import Peers

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
