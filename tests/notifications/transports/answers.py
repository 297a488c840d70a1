"""What an answer of a service means to its transport: refused for good, gone, and the seconds to wait."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from app.net.session import OutboundSession
from app.notifications.transport import DeliveryFailed, all_transports
from tests.notifications.messages import event
from tests.notifications.receivers import Says, WebReceiver

#: an answer, and what it means; None: the message has arrived
Meaning = tuple[bool, bool, float | None] | None
RETRY: Meaning = (False, False, None)
REFUSED: Meaning = (True, False, None)
GONE: Meaning = (False, True, None)
Cases = Mapping[str, tuple[Says, Meaning]]


def wait(seconds: float) -> Meaning:
    return (False, False, seconds)


def check(
    type_: str,
    fields: Mapping[str, str],
    case: tuple[Says, Meaning],
    web: WebReceiver,
    outbound: OutboundSession,
) -> str:
    """Sends to the receiver, which gives this answer. Returns the reason of the failure, if it is one."""
    says, meaning = case
    web.answers.append(says)
    send = all_transports()[type_].send
    if meaning is None:
        assert send(fields, event(), outbound).status_code == says.status
        return ""
    with pytest.raises(DeliveryFailed) as caught:
        send(fields, event(), outbound)
    refused = caught.value
    permanent, gone, seconds = meaning
    is_refused = refused.permanent and not refused.gone
    assert (is_refused, refused.gone, refused.retry_after) == (permanent, gone, seconds)
    assert refused.status_code == says.status and refused.answer == says.body
    assert refused.reason.endswith(".") and len(web.heard) == 1
    return str(refused.reason)
