"""Confirmation of addresses: one mail before the recipient agrees, and limits on test messages."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
import time_machine
from alembic import command
from sqlalchemy import create_engine, select
from sqlalchemy.orm import Session

from app.accounts import invitations, resets
from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.config import Settings
from app.core.database import begin_write, prepare_engine
from app.jobs.mails import BY_HANDLER, BY_TARGET, BY_USER, post_confirmations
from app.notifications import confirmation, services, test_send, unsubscribe
from app.notifications.models import DELIVERED, PENDING, Delivery, NotificationHandler, SystemEmail
from app.notifications.outbox import deliver
from app.notifications.sender import Sender
from app.notifications.site import site_of
from app.notifications.transport import chosen_transports
from app.rate_limit.limiter import RateLimiter
from app.trash.models import Trashed
from tests.api.shape import problem
from tests.clients import Api
from tests.crowds import Owner
from tests.dashboard.conftest import Desk, desk
from tests.migrations import alembic_config
from tests.notifications.receivers import MailReceiver
from tests.notifications.sending import send_all
from tests.server import wait_for

__all__ = ["desk"]
pytestmark = pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8", BASE_URL="https://go.example")
STRANGER = "stranger@elsewhere.example"


@pytest.fixture
def with_mail(app: Any, settings: Settings, mail: MailReceiver) -> Settings:
    found = replace(settings, smtp_url=f"smtp://127.0.0.1:{mail.port}", mail_from="way@go.example")
    app.config["WAYPOST"] = found
    return found


@pytest.fixture
def run_worker(with_mail: Settings, session: Session) -> Iterator[Callable[..., None]]:
    """`run_worker()`: runs the worker's steps until there is nothing left to do."""
    engine = create_engine(with_mail.database_url)
    prepare_engine(engine, with_mail)
    rate_limiter = RateLimiter(with_mail)

    def run(settings: Settings = with_mail) -> None:
        session.commit()
        feed = lambda session: post_confirmations(session, settings, rate_limiter)  # noqa: E731
        send_all(Sender(engine, settings, {"confirmations": feed}))
        session.expire_all()

    yield run
    rate_limiter.close()
    engine.dispose()


def make(api: Api, email: str = STRANGER, name: str = "n") -> int:
    answer = api.post("/notification-handlers", {"type": "email", "name": name, "email": email})
    assert answer.status_code == 201, answer.text
    return int(answer.json["data"]["id"])


def is_confirmed(api: Api, id_: int) -> bool:
    return bool(api.get(f"/notification-handlers/{id_}").json["data"]["is_confirmed"])


def link_in(mail: Any) -> str:
    """The path of the confirmation page in the mail."""
    text = mail.get_body(["plain"]).get_content()
    found = re.search(r"https?://\S+/dashboard/confirm/\S+", text)
    assert found, text
    return urlsplit(found[0]).path


def receivers(mail: MailReceiver) -> Counter[str]:
    return Counter(to for envelope, _ in mail.mails for to in envelope.rcpt_tos)


@pytest.mark.databases
def test_one_mail_until_its_reader_agrees(
    api: Api, client: Any, session: Session, run_worker: Any, mail: MailReceiver
) -> None:
    id_ = make(api)
    for _ in range(3):
        trial = api.post(f"/notification-handlers/{id_}/test").json["data"]
        assert (trial["status"], trial["detail"]) == ("failed", confirmation.UNCONFIRMED)
    begin_write(session)
    waiting = deliver(session, id_, "link.started", {"link": LINK})
    run_worker()
    assert receivers(mail) == {STRANGER: 1}
    assert mail.mails[0][1]["Subject"] == "Confirm your e-mail address"
    session.refresh(waiting)
    assert (waiting.status, waiting.attempts[0].detail) == (PENDING, confirmation.UNCONFIRMED)

    path = link_in(mail.mails[0][1])
    page = client.get(path)  # as mail servers do that scan links
    assert page.status_code == 200 and "Receive these e-mails?" in page.text
    assert not is_confirmed(api, id_)
    assert "Your address is confirmed" in client.post(path, headers={"Origin": "https://mail.example"}).text
    assert is_confirmed(api, id_)
    assert "Your address is confirmed" in client.get(path).text
    run_worker()
    session.refresh(waiting)
    assert waiting.status == DELIVERED  # at once, not only at its next planned attempt
    assert receivers(mail) == {STRANGER: 2}
    assert api.post(f"/notification-handlers/{id_}/test").json["data"]["status"] == "delivered"


LINK = {"id": 7, "url": "a", "short_url": "https://go.example/a", "location_url": "https://example.com/", "clicks": 3}  # fmt: skip


def test_the_mail_says_nothing_that_an_owner_typed(
    api: Api, alice: User, run_worker: Any, mail: MailReceiver
) -> None:
    make(api, name="BUY NOW at evil.example")
    alice.name = "Free money"
    run_worker()
    ((_, found),) = mail.mails
    text = found.as_string() + "".join(
        str(part.get_content()) for part in found.walk() if not part.is_multipart()
    )
    for typed in ("BUY NOW", "evil.example", "Free money", alice.email):
        assert typed not in text
    assert "List-Unsubscribe" not in found


def test_it_is_in_the_language_of_its_owner(
    api: Api, alice: User, run_worker: Any, mail: MailReceiver
) -> None:
    alice.language = "de"
    make(api)
    run_worker()
    assert mail.mails[0][1]["Subject"] == "Bestätige deine E-Mail-Adresse"


def test_the_own_verified_address_needs_none(
    api: Api, alice: User, run_worker: Any, mail: MailReceiver
) -> None:
    id_ = make(api, "Alice@Example.com")
    assert is_confirmed(api, id_)
    run_worker()
    assert not mail.mails
    assert api.post(f"/notification-handlers/{id_}/test").json["data"]["status"] == "delivered"


def test_other_types_need_none(api: Api) -> None:
    for type_, transport in chosen_transports().items():
        sent = {one.name: one.example for one in transport.settings}
        answer = api.post("/notification-handlers", {"type": type_, "name": "n", **sent})
        assert is_confirmed(api, answer.json["data"]["id"]) is not bool(transport.confirms)


@pytest.mark.parametrize(
    ("invited", "typed", "is_verified"),
    [("new@example.com", "New@example.com", True), ("new@example.com", "other@example.com", False), ("", "any@example.com", False)],
)  # fmt: skip
def test_which_invited_accounts_have_a_verified_address(
    session: Session, alice: User, invited: str, typed: str, is_verified: bool
) -> None:
    _, token = invitations.invite(alice, email=invited)
    user = invitations.accept(token, typed, "hash")
    assert user.is_own_address(typed) is is_verified


def test_another_own_address_is_not_verified_until_a_mail_was_read_there(
    session: Session, alice: User, make_api: Any, client: Any, run_worker: Any, mail: MailReceiver
) -> None:
    alice.email = "new@example.com"
    id_ = make(make_api(alice), "new@example.com")
    run_worker()
    assert receivers(mail) == {"new@example.com": 1}
    client.post(link_in(mail.mails[0][1]))
    session.expire_all()
    assert alice.is_own_address("new@example.com")
    assert session.get_one(NotificationHandler, id_).is_confirmed


def test_a_new_password_by_mail_verifies_the_address(session: Session, alice: User) -> None:
    alice.verified_email = None
    resets.use(resets.ask(session, alice), "hash")
    assert alice.is_own_address(alice.email)


def test_another_address_is_confirmed_anew(
    api: Api, client: Any, session: Session, run_worker: Any, mail: MailReceiver
) -> None:
    id_ = make(api)
    run_worker()
    old = link_in(mail.mails[0][1])
    client.post(old)
    assert is_confirmed(api, id_)
    api.post(f"/notification-handlers/{id_}", {"name": "another name"})
    api.post(f"/notification-handlers/{id_}", {"email": STRANGER})
    assert is_confirmed(api, id_)
    api.post(f"/notification-handlers/{id_}", {"email": "second@elsewhere.example"})
    assert not is_confirmed(api, id_)
    assert client.post(old).status_code == 404
    run_worker()
    assert receivers(mail) == {STRANGER: 1, "second@elsewhere.example": 1}
    api.post(f"/notification-handlers/{id_}", {"email": STRANGER})
    assert not is_confirmed(api, id_)
    api.post(f"/notification-handlers/{id_}", {"type": "webhook", "webhook": "https://example.com/"})
    assert is_confirmed(api, id_)
    api.post(f"/notification-handlers/{id_}", {"type": "email", "email": STRANGER})
    assert not is_confirmed(api, id_)


def test_what_was_not_sent_yet_is_withdrawn(
    api: Api, session: Session, run_worker: Any, mail: MailReceiver
) -> None:
    mail.at_data = "451 later"
    changed, deleted = make(api), make(api, "other@elsewhere.example")
    run_worker()
    assert (
        len(session.scalars(select(SystemEmail).join(Delivery).where(Delivery.due.is_not(None))).all()) == 2
    )
    api.post(f"/notification-handlers/{changed}", {"type": "webhook", "webhook": "https://example.com/"})
    api.delete(f"/notification-handlers/{deleted}")
    session.commit()
    assert not session.scalars(select(SystemEmail).join(Delivery).where(Delivery.due.is_not(None))).all()


def test_who_has_ended_the_mails_is_asked_again(
    api: Api, client: Any, session: Session, run_worker: Any, mail: MailReceiver
) -> None:
    id_ = make(api)
    run_worker()
    client.post(link_in(mail.mails[0][1]))
    begin_write(session)
    unsubscribe.stop(session.get_one(NotificationHandler, id_))
    session.commit()
    api.post(f"/notification-handlers/{id_}", {"is_enabled": "1"})
    assert not is_confirmed(api, id_)
    run_worker()
    assert receivers(mail) == {STRANGER: 2}


def test_one_that_is_off_sends_nothing(
    api: Api, session: Session, run_worker: Any, mail: MailReceiver
) -> None:
    id_ = make(api)
    api.post(f"/notification-handlers/{id_}", {"is_enabled": "0"})
    run_worker()
    assert not mail.mails
    api.post(f"/notification-handlers/{id_}", {"is_enabled": "1"})
    run_worker()
    assert receivers(mail) == {STRANGER: 1}


def test_without_a_mail_server_it_waits_for_one(
    api: Api, settings: Settings, session: Session, run_worker: Any, mail: MailReceiver
) -> None:
    id_ = make(api)
    run_worker(settings)
    assert not session.scalars(select(SystemEmail)).all()
    assert api.post(f"/notification-handlers/{id_}/test").json["data"]["status"] == "failed"
    run_worker()
    assert receivers(mail) == {STRANGER: 1}


def test_an_old_link_says_so(
    api: Api, client: Any, run_worker: Any, mail: MailReceiver, session: Session
) -> None:
    id_ = make(api)
    with time_machine.travel(dt.datetime.now(dt.UTC) - dt.timedelta(days=8)):
        run_worker()
    handler = session.get_one(NotificationHandler, id_)
    with time_machine.travel(dt.datetime.now(dt.UTC) - dt.timedelta(days=8)):
        token = confirmation.token_of(handler)
    for answer in (client.get(f"/dashboard/confirm/{token}"), client.post(f"/dashboard/confirm/{token}")):
        assert answer.status_code == 410 and "This link is too old" in answer.text
    assert not is_confirmed(api, id_)


@pytest.mark.parametrize(
    "spoil", [lambda t: t[:-1], lambda t: "x.y.z", lambda t: t.split(".")[0], lambda t: "%FF"]
)
def test_nobody_guesses_it(spoil: Any, api: Api, client: Any, session: Session, app: Any) -> None:
    handler = session.get_one(NotificationHandler, make(api))
    token = confirmation.token_of(handler)
    assert client.get(f"/dashboard/confirm/{token}").status_code == 200
    assert client.post(f"/dashboard/confirm/{spoil(token)}").status_code == 404
    # a token that ends mails confirms none
    stop = unsubscribe.stop_url(handler, site_of(app.config["WAYPOST"])).rpartition("/")[2]
    assert client.post(f"/dashboard/confirm/{stop}").status_code == 404
    assert client.post(f"/dashboard/stop/{token}").status_code == 404


# --- limits


def test_an_owner_reaches_few_strangers(api: Api, run_worker: Any, mail: MailReceiver) -> None:
    for number in range(BY_USER.amount + 5):
        make(api, f"stranger{number}@elsewhere.example")
    run_worker()
    assert len(mail.mails) == BY_USER.amount


def test_a_receiver_gets_few_from_all_owners_together(
    api: Api, make_api: Any, bob: User, run_worker: Any, mail: MailReceiver
) -> None:
    for one in (api, make_api(bob)):
        for number in range(3):
            make(one, STRANGER.replace("@", f"+{number}@").upper())
    run_worker()
    assert len(mail.mails) == BY_TARGET.amount


def test_a_handler_asks_few_times(api: Api, run_worker: Any, mail: MailReceiver) -> None:
    id_ = make(api, "s0@elsewhere.example")
    for number in range(BY_HANDLER.amount + 3):
        api.post(f"/notification-handlers/{id_}", {"email": f"s{number}@elsewhere.example"})
        run_worker()
    assert len(mail.mails) == BY_HANDLER.amount


def test_what_is_over_a_limit_comes_later(
    api: Api, session: Session, run_worker: Any, mail: MailReceiver
) -> None:
    ids = [make(api, STRANGER) for _ in range(BY_TARGET.amount + 1)]
    run_worker()
    late = session.get_one(NotificationHandler, ids[-1])
    assert late.confirmation_due and late.confirmation_due > dt.datetime.now(dt.UTC) + dt.timedelta(hours=23)
    (entry,) = problem(api.post(f"/notification-handlers/{late.id}/confirmation"), 429)
    assert entry["code"] == "too_many_confirmations"


def test_asking_again(api: Api, session: Session, run_worker: Any, mail: MailReceiver) -> None:
    id_ = make(api)
    path = f"/notification-handlers/{id_}/confirmation"
    run_worker()
    answer = api.post(path)
    (entry,) = problem(answer, 429)
    assert entry["code"] == "too_many_confirmations" and int(answer.headers["Retry-After"]) > 500
    session.get_one(NotificationHandler, id_).confirmation_datetime -= dt.timedelta(minutes=11)
    session.commit()
    for _ in range(20):  # however often: one mail
        answer = api.post(path)
        assert answer.status_code == 200
        assert answer.json["data"]["is_confirmed"] is False
    run_worker()
    assert receivers(mail) == {STRANGER: 2}


def test_when_asking_again_makes_no_sense(
    api: Api, app: Any, settings: Settings, with_mail: Settings, alice: User, make_api: Any
) -> None:
    own, off, other = make(api, alice.email), make(api), make(api)
    answer = api.post(f"/notification-handlers/{own}/confirmation")
    assert answer.status_code == 200 and answer.json["data"]["is_confirmed"] is True
    api.post(f"/notification-handlers/{off}", {"is_enabled": "0"})
    (entry,) = problem(api.post(f"/notification-handlers/{off}/confirmation"), 422)
    assert entry["code"] == "disabled"
    problem(make_api(alice, "read").post(f"/notification-handlers/{other}/confirmation"), 403)
    app.config["WAYPOST"] = settings
    assert (
        problem(api.post(f"/notification-handlers/{other}/confirmation"), 422)[0]["code"] == "no_mail_server"
    )


# --- the dashboard


def test_the_dashboard_says_so(
    desk: Desk, alice: User, session: Session, run_worker: Any, mail: MailReceiver
) -> None:
    begin_write(session)
    handler = services.create(
        access_of(alice), {"type": "email", "name": "Team", "settings": {"email": STRANGER}}
    )
    session.commit()
    page = desk.get("/handlers/").text
    assert "Not confirmed" in page and "An e-mail with a confirmation link is on its way." in page
    run_worker()
    for path in ("/handlers/", f"/handlers/{handler.id}/deliveries"):
        page = desk.get(path).text
        assert "No notifications are sent to this address until it is confirmed." in page
        assert "Send the link again" in page
    answer = desk.post(f"/handlers/{handler.id}/confirmation", {}, follow_redirects=True)
    assert "An e-mail was sent recently. Another one can be sent in 10 minutes." in answer.text
    answer = desk.post(f"/handlers/{handler.id}/test", {}, follow_redirects=True)
    assert "This address is not confirmed yet" in answer.text
    handler.confirmation_datetime -= dt.timedelta(minutes=11)
    session.commit()
    answer = desk.post(f"/handlers/{handler.id}/confirmation", {}, follow_redirects=True)
    assert f"Another mail with a link goes to {STRANGER}." in answer.text


# --- what was there before


@pytest.mark.databases
def test_what_was_there_before_goes_on(session: Session, alice: User, make_handler: Any) -> None:
    handler = make_handler(alice)
    id_, email = handler.id, alice.email
    session.close()
    command.downgrade(alembic_config(), "b5d20e73c9a4-1")
    command.upgrade(alembic_config(), "head")
    columns = NotificationHandler.is_confirmed, NotificationHandler.confirmation_due
    assert session.execute(select(*columns).where(NotificationHandler.id == id_)).one() == (True, None)
    assert session.scalar(select(User.verified_email)) == email


def test_what_was_in_the_trash_before_does_too(session: Session, alice: User, make_handler: Any) -> None:
    handler = make_handler(alice)
    begin_write(session)
    services.delete(handler)
    session.commit()
    trashed = session.scalars(select(Trashed)).one()
    rows = {name: [dict(row) for row in some] for name, some in trashed.rows.items()}
    for name in ("is_confirmed", "confirmation_due", "confirmation_datetime"):
        del rows["notification_handler"][0][name]
    trashed.rows = rows
    session.commit()
    begin_write(session)
    assert services.restore(trashed).is_confirmed


def test_one_that_nobody_confirmed_comes_back_from_the_trash_so(session: Session, alice: User) -> None:
    begin_write(session)
    handler = services.create(
        access_of(alice), {"type": "email", "name": "n", "settings": {"email": STRANGER}}
    )
    services.delete(handler)
    session.commit()
    begin_write(session)
    assert not services.restore(session.scalars(select(Trashed)).one()).is_confirmed


# --- the attack


@pytest.mark.full
def test_the_mail_cannon(make_server: Any, mail: MailReceiver) -> None:
    """The Test button once sent 361 mails to a stranger in five seconds."""
    server = make_server(
        SMTP_URL=f"smtp://127.0.0.1:{mail.port}", MAIL_FROM="way@go.example", API_RATE_LIMIT="0"
    )
    owner = Owner(server)
    sent = {"type": "email", "name": "n", "email": STRANGER}
    id_ = owner.session.post(f"{owner.site}/notification-handlers", json=sent, timeout=90).json()["data"][
        "id"
    ]

    def press(_: int) -> int:
        headers = dict(owner.session.headers)
        url = f"{owner.site}/notification-handlers/{id_}/test"
        return requests.post(url, headers=headers, timeout=90).status_code

    with ThreadPoolExecutor(16) as pool:
        statuses = Counter(pool.map(press, range(60)))
    assert set(statuses) == {200, 429} and statuses[200] <= test_send.BY_HANDLER.amount
    wait_for(lambda: mail.mails, "the mail that asks")
    path = link_in(mail.mails[0][1])
    assert requests.post(server.url + path, timeout=90).status_code == 200
    own = {"type": "email", "name": "n", "email": "owner@example.com"}
    id_ = owner.session.post(f"{owner.site}/notification-handlers", json=own, timeout=90).json()["data"]["id"]
    assert press(0) == 200
    assert receivers(mail) == {STRANGER: 1, "owner@example.com": 1}
