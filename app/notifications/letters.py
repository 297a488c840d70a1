"""How does a mail of Waypost itself get out, which is no notification of any owner's?

It is written down with what caused it, and the worker sends it: no request waits for a mail server. What it
says is sealed, for it may hold an address that opens something once, and is forgotten once it was sent.
"""

from __future__ import annotations

import datetime as dt
import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Engine, delete, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.claims import claim, is_due, is_free, moment
from app.clock import now
from app.config import Settings
from app.database import AnySession, begin_write
from app.notifications.delivery import Outcome, attempt
from app.notifications.door import Door
from app.notifications.message import Message
from app.notifications.models import Letter
from app.notifications.outbox import PAUSES, pause

POLL_SECONDS = 0.5
RETRY_SECONDS = 10.0
KEPT = dt.timedelta(days=7)  # what became of one
MAX_A_DAY = 5

log = logging.getLogger(__name__)

Feed = Callable[[Session], bool]


@dataclass(frozen=True, kw_only=True)
class Content:
    """What it says, in `language`. `url` is what its button opens; `note`, in English, why it was sent."""

    title: str
    text: str
    url: str | None = None
    button: str = "See it in Waypost"
    note: str = "because somebody here asked for it."
    language: str = "en"


def post(
    session: AnySession, user_id: int, about: str, email: str, content: Content, until: dt.datetime
) -> Letter:
    """Have it sent as soon as may be, and not after `until`. `about` finds it again."""
    letter = Letter(
        user_id=user_id, about=about, email=email, content=asdict(content), due=moment(), until=until
    )
    session.add(letter)
    session.flush()
    return letter


def has_enough(session: AnySession, email: str) -> bool:
    """Did this address get `MAX_A_DAY` mails already? Asked for one whose reader has agreed to nothing."""
    is_theirs, since = func.lower(Letter.email) == email.lower(), now() - dt.timedelta(days=1)
    lately = select(func.count()).select_from(Letter).where(is_theirs, Letter.datetime > since)
    return session.scalars(lately).one() >= MAX_A_DAY


def withdraw(session: AnySession, about: str) -> None:
    """What has not left yet does not."""
    session.execute(delete(Letter).where(Letter.about == about, Letter.due.is_not(None)))


class Postman(threading.Thread):
    """Sends what is due, one after the other: there are few. `feeds` write some; each is asked first, in a
    session of its own, and says whether it did anything."""

    def __init__(self, engine: Engine, settings: Settings, feeds: Sequence[Feed] = ()) -> None:
        super().__init__(name="letters", daemon=True)
        self.engine, self.settings, self.feeds = engine, settings, feeds
        self.who = secrets.token_hex(8)
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.is_set():
            try:
                seconds = 0.0 if self.turn() else POLL_SECONDS
            except (SQLAlchemyError, OSError) as error:
                log.warning("Letters wait: %s", str(error).splitlines()[0])
                seconds = RETRY_SECONDS
            self.ended.wait(seconds)

    def turn(self) -> bool:
        """Send one, if any is due; whether there was anything to do."""
        moved = False
        for feed in self.feeds:
            with Session(self.engine) as session:
                moved |= feed(session)
        return self.send() or moved

    def send(self) -> bool:
        with Session(self.engine) as session:
            letter = self.take(session)
            if letter is None:
                return False
            message, fields = message_of(letter), {"email": letter.email}
            id_ = letter.id
            session.rollback()  # no transaction is open while a mail server thinks
            outcome = attempt("email", fields, message, Door(self.settings))
            write_down(session, id_, self.who, outcome)
        return True

    def take(self, session: Session) -> Letter | None:
        now_ = moment()
        due = select(Letter.id).where(is_due(Letter, now_), is_free(Letter, now_)).order_by(Letter.due)
        found = session.scalars(due.limit(1)).first()
        session.rollback()
        if found is None:
            return None
        begin_write(session)
        session.execute(delete(Letter).where(Letter.due.is_(None), Letter.datetime < now() - KEPT))
        taken = claim(session, Letter, [found], self.who, now_)
        session.commit()
        return session.get(Letter, taken[0]) if taken else None

    def stop(self, seconds: float) -> None:
        self.ended.set()
        self.join(seconds)


def message_of(letter: Letter) -> Message:
    content = Content(**(letter.content or {"title": "Waypost", "text": ""}))
    return Message(
        id=f"letter_{letter.id}",
        type="letter",
        datetime=letter.datetime,
        data={},
        title=content.title,
        text=content.text,
        url=content.url,
        button=content.button,
        note=content.note,
        language=content.language,
    )


def write_down(session: Session, id_: int, who: str, outcome: Outcome) -> None:
    begin_write(session)
    letter = session.scalar(select(Letter).where(Letter.id == id_, Letter.who == who).with_for_update())
    if letter is not None:  # else it was withdrawn
        settle(letter, outcome)
    session.commit()


def settle(letter: Letter, outcome: Outcome) -> None:
    letter.tries += 1
    letter.detail, letter.lease, letter.who = outcome.detail, None, None
    if outcome.is_delivered:
        letter.sent_datetime = outcome.datetime
    next_try = None if outcome.is_delivered or outcome.is_permanent else next_time(letter, outcome)
    letter.due, letter.planned = next_try, moment()
    if next_try is None:
        letter.content = None


def next_time(letter: Letter, outcome: Outcome) -> dt.datetime | None:
    if letter.tries >= len(PAUSES):
        return None
    when = moment() + pause(letter.tries, outcome.retry_after)
    return when if when < letter.until else None
