"""Daily checks of domain proofs: missing proofs break nothing, and one user at a time holds a host."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import partial

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
from app.domains import lapses, services, verification
from app.domains.models import Domain
from app.jobs.outbound import check_proofs
from tests.clients import Api
from tests.dashboard.conftest import Desk, desk  # noqa: F401
from tests.domains.conftest import Dns
from tests.domains.test_verification import TOKEN, TXT, VALUE
from tests.threads import at_once

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
    verified.unproven_since = now() - lapses.LAPSED + dt.timedelta(minutes=5)
    session.commit()
    assert make_api(bob).post(f"/domains/{theirs.id}/verify").status_code == 422
    verified.unproven_since = now() - lapses.LAPSED
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
        at_once(partial(verify, app), pair)
    session.expire_all()
    got = [[session.get_one(Domain, id_).is_verified for id_ in pair] for pair in ids]
    assert [sum(each) for each in got] == [1] * rounds, got


def verify(app: Flask, domain_id: int) -> None:
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
