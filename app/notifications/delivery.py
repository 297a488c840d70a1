"""One attempt to deliver a message, and its result. A failure is a result too: nothing is raised."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.core.leases import precise_now
from app.i18n.languages import in_language
from app.i18n.messages import lazy_gettext as _l
from app.net.dial import NoAnswer
from app.net.session import OutboundSession
from app.notifications.message import Message
from app.notifications.transport import Delivered, DeliveryFailed, all_transports

ANSWER_LENGTH = 2000
UNREADABLE = _l("What is stored for this can't be read with the secret key of this Waypost.")

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class AttemptResult:
    """The result of one attempt, as it is stored.

    `changes` is as in Delivered; the last three are as in DeliveryFailed.
    """

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
    type_: str, fields: Mapping[str, str], message: Message, outbound: OutboundSession, *, refusal: str = ""
) -> AttemptResult:
    """Try once, until the session's deadline at most. No transaction may be open meanwhile.

    `refusal`: why nothing may be sent, in words; the attempt then fails without a connection.
    """
    start = precise_now()
    if refusal:
        return failed(DeliveryFailed(refusal), start, outbound)
    if not fields:
        return failed(DeliveryFailed(UNREADABLE), start, outbound)
    try:
        with in_language(message.language):
            return delivered(all_transports()[type_].send(fields, message, outbound), start, outbound)
    except DeliveryFailed as refused:
        return failed(refused, start, outbound)
    except NoAnswer as silent:
        return failed(DeliveryFailed(silent.reason), start, outbound)
    except TimeoutError:
        return failed(DeliveryFailed(_l("The server did not answer in time.")), start, outbound)
    except Exception:  # a bug in a transport must not end the worker; the handler's log shows it to the owner
        log.exception("The transport %s failed", type_)
        return failed(DeliveryFailed(_l("Waypost failed to send this; see its log.")), start, outbound)


def delivered(sent: Delivered, start: dt.datetime, outbound: OutboundSession) -> AttemptResult:
    return AttemptResult(
        is_delivered=True,
        detail="Delivered.",
        datetime=start,
        duration_ms=outbound.deadline.spent_ms(),
        status_code=sent.status_code,
        answer=cut(sent.answer),
        changes=sent.changes,
    )


def failed(refused: DeliveryFailed, start: dt.datetime, outbound: OutboundSession) -> AttemptResult:
    return AttemptResult(
        is_delivered=False,
        detail=refused.reason,
        datetime=start,
        duration_ms=outbound.deadline.spent_ms(),
        status_code=refused.status_code,
        answer=cut(refused.answer),
        retry_after=refused.retry_after,
        is_permanent=refused.permanent or refused.gone,
        is_gone=refused.gone,
    )


def cut(text: str) -> str:
    """The stored part of an answer. PostgreSQL stores no NUL, and neither database a lone surrogate."""
    return text.replace("\0", "�").encode("utf-8", "replace").decode()[:ANSWER_LENGTH]
