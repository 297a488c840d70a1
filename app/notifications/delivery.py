"""What comes of one try to deliver? (A failure is one too: nothing is raised.)"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.claims import moment
from app.notifications.dial import NoAnswer
from app.notifications.door import Door
from app.notifications.message import Message
from app.notifications.speech import speaking
from app.notifications.transport import Refused, Sent, all_transports

ANSWER_LENGTH = 2000
UNREADABLE = "What is stored for this can't be read with the secret key of this Waypost."

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One try, as it is written down. `changes` and the last three are what Sent and Refused have."""

    is_delivered: bool
    detail: str
    datetime: dt.datetime
    duration_ms: int
    status_code: int | None = None
    answer: str = ""
    changes: Mapping[str, str] = field(default_factory=dict)
    retry_after: float | None = None
    is_permanent: bool = False
    is_gone: bool = False


def attempt(
    type_: str, fields: Mapping[str, str], message: Message, door: Door, *, refusal: str = ""
) -> Outcome:
    """Try once, for at most the door's time. No transaction may be open meanwhile.

    `refusal`: why nothing may be sent, in words; the try has failed then.
    """
    start = moment()
    if refusal:
        return failed(Refused(refusal), start, door)
    if not fields:
        return failed(Refused(UNREADABLE), start, door)
    try:
        with speaking(message.language):
            return delivered(all_transports()[type_].send(fields, message, door), start, door)
    except Refused as refused:
        return failed(refused, start, door)
    except NoAnswer as silent:
        return failed(Refused(silent.reason), start, door)
    except TimeoutError:
        return failed(Refused("The server did not answer in time."), start, door)
    except Exception:  # a transport's own mistake must end no worker, and shows in the owner's log
        log.exception("The transport %s failed", type_)
        return failed(Refused("Waypost failed to send this; its log says why."), start, door)


def delivered(sent: Sent, start: dt.datetime, door: Door) -> Outcome:
    return Outcome(
        is_delivered=True,
        detail="Delivered.",
        datetime=start,
        duration_ms=door.deadline.spent_ms(),
        status_code=sent.status_code,
        answer=cut(sent.answer),
        changes=sent.changes,
    )


def failed(refused: Refused, start: dt.datetime, door: Door) -> Outcome:
    return Outcome(
        is_delivered=False,
        detail=refused.reason,
        datetime=start,
        duration_ms=door.deadline.spent_ms(),
        status_code=refused.status_code,
        answer=cut(refused.answer),
        retry_after=refused.retry_after,
        is_permanent=refused.permanent or refused.gone,
        is_gone=refused.gone,
    )


def cut(text: str) -> str:
    """As much of an answer as is kept; PostgreSQL stores no NUL, and half a surrogate nobody."""
    return text.replace("\0", "�").encode("utf-8", "replace").decode()[:ANSWER_LENGTH]
