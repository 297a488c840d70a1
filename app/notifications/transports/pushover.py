"""Transport to the devices of a Pushover user or group."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from app.core.leases import precise_now
from app.i18n.messages import lazy_gettext as _l
from app.net.http import HttpResponse
from app.net.session import OutboundSession
from app.notifications.formatting import button_of, fitted, one_line, text_within, tone_of
from app.notifications.http_result import judge
from app.notifications.json_post import quote_service, read_object
from app.notifications.message import Message
from app.notifications.transport import Delivered, DeliveryFailed, Setting, Transport

API = "https://api.pushover.net"
# characters of a message, its title, its link and the link's title (pushover.net/api#limits)
MESSAGE, TITLE, URL, URL_TITLE = 1024, 250, 512, 100
# pushover.net/api#priority says that this one passes quiet hours by; a higher one repeats until confirmed
PRIORITIES = {"bad": "1"}
FORM = {"content-type": "application/x-www-form-urlencoded"}


def send(fields: Mapping[str, str], message: Message, outbound: OutboundSession) -> Delivered:
    values = {"token": fields["pushover"], "user": fields["pushover_user_key"], **payload(message)}
    answer = outbound.request("POST", f"{API}/1/messages.json", headers=FORM, body=urlencode(values).encode())
    try:
        return judge(answer)
    except DeliveryFailed as refused:
        explain(refused, answer)
        raise


def explain(refused: DeliveryFailed, answer: HttpResponse) -> None:
    """What Pushover's own answers mean (pushover.net/api#friendly): after a 4xx the same is not sent again.

    429 is the application's limit for the month, until the time that a header names.
    """
    said = read_object(refused.answer)
    if answer.status == 429:
        refused.retry_after = refused.retry_after or seconds_until(answer.header("x-limit-app-reset"))
    elif 400 <= answer.status < 500 and said.get("status") == 0:
        refused.permanent = True
        refused.gone = refused.gone or "invalid" in (said.get("token"), said.get("user"))
    errors = said.get("errors")
    quote_service(refused, "Pushover", "; ".join(map(str, errors)) if isinstance(errors, list) else None)


def seconds_until(moment: str | None) -> float | None:
    """The seconds until a Unix time; None without a valid one."""
    if not moment or not moment.isascii() or not moment.isdigit():
        return None
    return max(0.0, float(moment[:12]) - precise_now().timestamp())


def payload(message: Message) -> dict[str, str]:
    """The fields of a message. Its text is plain, for `html` is not set."""
    title = fitted(one_line(message.title), TITLE, size=len)
    link = message.url if message.url and len(message.url) <= URL else ""
    return {
        "title": title,
        "message": text_within(message, MESSAGE, len) or title,
        "priority": PRIORITIES.get(tone_of(message), "0"),
        "timestamp": str(int(message.datetime.timestamp())),
        **({"url": link, "url_title": fitted(button_of(message), URL_TITLE, size=len)} if link else {}),
    }


TRANSPORT = Transport(
    label="Pushover",
    icon="bell",
    settings=(
        Setting(
            name="pushover",
            label=_l("Application token"),
            kind="identifier",
            example="azGDORePK8gMaC0QOYAMyEEuzJnyUi",
            guidance=_l("30 letters and digits, from the page of your application on pushover.net."),
            pattern="[A-Za-z0-9]{30}",
            problem=_l("This must be 30 letters and digits."),
            is_secret=True,
        ),
        Setting(
            name="pushover_user_key",
            label=_l("User or group key"),
            kind="recipient",
            example="uQiRzpo4DXghDmr9QzzfQu27cmVRsG",
            guidance=_l("30 letters and digits, at the top right of pushover.net once you are signed in."),
            pattern="[A-Za-z0-9]{30}",
            problem=_l("This must be 30 letters and digits."),
            is_hidden=True,
        ),
    ),
    steps=(
        _l("Sign in at pushover.net, and copy Your User Key; for a group, copy the key on the group's page."),
        _l("At the bottom of that page choose Create an Application/API Token, name it and create it."),
        _l("Copy the API Token that its page shows."),
    ),
    send=send,
)
