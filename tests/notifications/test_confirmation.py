"""Confirmation of addresses: one mail before the recipient agrees, and limits on test messages."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest
import time_machine
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.core.config import Settings
from app.core.database import begin_write, prepare_engine
from app.jobs.mails import BY_HANDLER, BY_TARGET, BY_USER, post_confirmations
from app.notifications import confirmation, unsubscribe
from app.notifications.models import DELIVERED, PENDING, NotificationHandler
from app.notifications.outbox import deliver
from app.notifications.sender import Sender
from app.notifications.site import site_of
from app.notifications.transport import chosen_transports
from app.rate_limit.limiter import RateLimiter
from tests.api.shape import problem
from tests.clients import Api
from tests.dashboard.conftest import desk
from tests.notifications.messages import LINK
from tests.notifications.receivers import MailReceiver
from tests.notifications.sending import send_all

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
