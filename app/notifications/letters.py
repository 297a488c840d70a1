"""How does a mail of Waypost itself get out, which is no notification of any owner's?

It is written down with what caused it, and the worker sends it: no request waits for a mail server. What it
says is sealed, for it may hold an address that opens something once, and is forgotten once it was sent.
"""

from __future__ import annotations

import datetime as dt
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from math import inf
from types import MappingProxyType

from sqlalchemy import Engine, delete, func, select, update
from sqlalchemy.orm import Session

from app.claims import claim, is_due, is_free, moment
from app.clock import now
from app.config import Settings
from app.database import AnySession, begin_write
from app.error_boundary import ErrorBoundary
from app.notifications.delivery import Outcome, attempt
from app.notifications.door import Door
from app.notifications.message import Message
from app.notifications.models import Letter
from app.notifications.outbox import FAULT, PAUSES, pause
from app.sealing import Unreadable

POLL_SECONDS = 0.5
RETRY_SECONDS, LONGEST_RETRY = 1.0, 30.0
KEPT = dt.timedelta(days=7)  # what became of one
MAX_A_DAY = 5

Feed = Callable[[Session], bool]
Feeds = Mapping[str, Feed]


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
    session of its own, and says whether it did anything.

    Nothing that one feed or one letter raises keeps the others waiting.
    """

    def __init__(self, engine: Engine, settings: Settings, feeds: Feeds = MappingProxyType({})) -> None:
        super().__init__(name="letters", daemon=True)
        self.engine, self.settings, self.feeds = engine, settings, feeds
        self.who = secrets.token_hex(8)
        self.ended = threading.Event()
        self.steps = ErrorBoundary(
            "mails", first_seconds=RETRY_SECONDS, max_seconds=LONGEST_RETRY, max_outages=inf
        )
        self.errors = ErrorBoundary("single mails")

    def run(self) -> None:
        while not self.ended.is_set():
            self.ended.wait(0.0 if self.turn() else POLL_SECONDS)

    def turn(self) -> bool:
        """Send one, if any is due; whether there was anything to do."""
        moved = False
        for name, feed in self.feeds.items():
            moved |= bool(self.steps.run(name, self.in_session, feed))
        return bool(self.steps.run("send", self.in_session, self.send)) or moved

    def in_session(self, step: Feed) -> bool:
        with Session(self.engine) as session:
            return step(session)

    def send(self, session: Session) -> bool:
        id_ = self.take(session)
        if id_ is None:
            return False
        with self.errors.attempt(id_) as made:
            letter = session.get_one(Letter, id_)
            # with nothing filled in, `attempt` says that it can't be read, and the letter waits for its key
            fields = {} if isinstance(letter.content, Unreadable) else {"email": letter.email}
            message = message_of(letter)
            session.rollback()  # no transaction is open while a mail server thinks
            outcome = attempt("email", fields, message, Door(self.settings))
            write_down(session, id_, self.who, outcome)
        if made.error is not None:
            with self.errors.attempt():  # where even that fails, it is free again when its lease ends
                put_off(session, id_)
        return True

    def take(self, session: Session) -> int | None:
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
        return taken[0] if taken else None

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


def put_off(session: Session, id_: int) -> None:
    """Count a try that failed for a fault of ours, without reading what may be at fault. Commits."""
    begin_write(session)
    row = session.execute(select(Letter.tries, Letter.until).where(Letter.id == id_)).first()
    if row is not None:
        tries = row.tries + 1
        due = moment() + pause(tries, None) if tries < len(PAUSES) else None
        due = due if due and due < row.until else None
        values = {
            "tries": tries,
            "detail": FAULT,
            "due": due,
            "planned": moment(),
            "lease": None,
            "who": None,
        }
        session.execute(update(Letter).where(Letter.id == id_).values(values))
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
