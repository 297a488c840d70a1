"""Sending a mail through the operator's mail server: smtplib on a connection of the outbound session."""

from __future__ import annotations

import re
import smtplib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Timer
from typing import NamedTuple

from app.core.smtp_url import OFFERED, STARTTLS, TLS, MailServer
from app.i18n.messages import gettext_noop as _noop
from app.i18n.messages import lazy_gettext as _l
from app.net.dial import in_words, trusted
from app.net.http import BOTH_WAYS, Socket
from app.net.session import OutboundSession
from app.notifications.transport import Delivered, DeliveryFailed

# RFC 3463: there is no such mailbox or domain, it has moved, or it takes nothing any more
GONE = re.compile(r"5\.1\.(1|2|3|6|10)\b|5\.2\.1\b")

NO_TLS = _l(
    "The mail server offers no encryption (STARTTLS), so nothing was sent to it. "
    "If it is meant to work without, use smtp+plain:// in WAYPOST_SMTP_URL."
)
# what says a server's reply
NO_MAIL_NOW = _noop("The mail server does not take mail now (%(reply)s).")
NO_SECURE_CONNECTION = _noop("The mail server makes no secure connection (%(reply)s).")
SENDER_REFUSED = _noop("The mail server does not take the sender (%(reply)s).")
ADDRESS_REFUSED = _noop("The mail server does not take the address (%(reply)s).")
MAIL_REFUSED = _noop("The mail server does not take the mail (%(reply)s).")
SIGN_IN_REFUSED = _noop("The mail server refuses the sign-in (%(reply)s).")
GREETING_REFUSED = _noop("The mail server does not answer the greeting (%(reply)s).")
ANY_REFUSAL = _noop("The mail server refuses (%(reply)s).")


class SmtpMessage(NamedTuple):
    """A mail as it is transmitted, with its sender and recipient."""

    sender: str
    to: str
    content: bytes


def hand_in(message: SmtpMessage, server: MailServer, outbound: OutboundSession, *, name: str) -> Delivered:
    """Send the mail; returns once the server has accepted it. `name`: our name in the greeting.

    Raises DeliveryFailed and NoAnswer.
    """
    with (
        in_words(outbound.deadline, (DeliveryFailed,)),
        in_smtp_words(),
        spoken_to(server, outbound, name) as client,
    ):
        greet(client, server)
        return send(client, message)


@contextmanager
def spoken_to(server: MailServer, outbound: OutboundSession, name: str) -> Iterator[smtplib.SMTP]:
    """An SMTP client on a connection of the outbound session.

    A timer cuts the connection at the deadline. Without it a server that sends a byte at a time would never
    end, because smtplib's timeout is for each read.
    """
    line = outbound.connect_named(server.host, server.port)
    client = smtplib.SMTP(local_hostname=name, timeout=outbound.left())
    client.sock = line
    timer = Timer(outbound.left(), cut, [client])
    timer.daemon = True
    timer.start()
    try:
        line.settimeout(outbound.left())
        if server.security == TLS:
            encrypt(client, server)
        yield client
    except OSError:  # of which smtplib's errors are some
        outbound.left()  # raises TimeoutError where we cut the connection ourselves
        raise
    finally:
        timer.cancel()
        client.close()


def cut(client: smtplib.SMTP) -> None:
    with suppress(OSError):
        line_of(client).shutdown(BOTH_WAYS)


def line_of(client: smtplib.SMTP) -> Socket:
    if client.sock is None:
        raise smtplib.SMTPServerDisconnected("The line is closed")
    return client.sock


def encrypt(client: smtplib.SMTP, server: MailServer) -> None:
    """Start TLS. What was read before is discarded: an attacker on the way could have inserted it."""
    client.sock = trusted().wrap_socket(line_of(client), server_hostname=server.host)
    client.file = None
    client.ehlo_resp = client.helo_resp = None
    client.esmtp_features, client.does_esmtp = {}, False


def greet(client: smtplib.SMTP, server: MailServer) -> None:
    """Greeting, TLS and sign-in. Only the operator can fix what the server refuses here."""
    expect(client.getreply(), 220, NO_MAIL_NOW)
    client.ehlo_or_helo_if_needed()
    if server.security == STARTTLS or (server.security == OFFERED and client.has_extn("starttls")):
        if not client.has_extn("starttls"):
            raise DeliveryFailed(NO_TLS)
        expect(client.docmd("STARTTLS"), 220, NO_SECURE_CONNECTION)
        encrypt(client, server)
        client.ehlo_or_helo_if_needed()
    if server.user is not None:
        client.login(server.user, server.password)


def send(client: smtplib.SMTP, message: SmtpMessage) -> Delivered:
    options = [] if message.to.isascii() and message.sender.isascii() else ["SMTPUTF8", "BODY=8BITMIME"]
    if options and not client.has_extn("smtputf8"):
        raise DeliveryFailed(
            _l("The mail server takes no addresses with letters like these."), permanent=True
        )
    expect(client.mail(message.sender, options), 250, SENDER_REFUSED)
    expect(client.rcpt(message.to), 250, ADDRESS_REFUSED, is_about_mail=True)
    answer = client.data(message.content)
    expect(answer, 250, MAIL_REFUSED, is_about_mail=True)
    with suppress(smtplib.SMTPException, OSError):
        client.quit()  # it has the mail, whatever comes now
    return Delivered(status_code=answer[0], answer=decode_reply(answer[1]))


def expect(answer: tuple[int, bytes], code: int, otherwise: str, *, is_about_mail: bool = False) -> None:
    """Raises DeliveryFailed unless the reply has the class of `code`.

    RFC 5321, 4.2.1: a 4xx reply is temporary, a 5xx reply is permanent. A 5xx counts as permanent only where
    it is about this mail: at the greeting it means a server that is not set up right yet.
    """
    if answer[0] // 10 == code // 10:
        return
    raise refused(otherwise, *answer, is_about_mail=is_about_mail)


def refused(otherwise: str, code: int, text: bytes | str, *, is_about_mail: bool = False) -> DeliveryFailed:
    words, is_final = decode_reply(text), is_about_mail and code >= 500
    return DeliveryFailed(
        _l(otherwise, reply=f"{code} {words.splitlines()[0] if words else ''}".rstrip()),
        permanent=is_final,
        gone=is_final and bool(GONE.match(words)),
        status_code=code,
        answer=f"{code} {words}",
    )


def decode_reply(text: bytes | str) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


# errors that smtplib raises with a reply, and their texts; the first match counts
WORDS: Sequence[tuple[type[smtplib.SMTPResponseException], str]] = (
    (smtplib.SMTPAuthenticationError, SIGN_IN_REFUSED),
    (smtplib.SMTPHeloError, GREETING_REFUSED),
    (smtplib.SMTPResponseException, ANY_REFUSAL),
)


@contextmanager
def in_smtp_words() -> Iterator[None]:
    try:
        yield
    except smtplib.SMTPResponseException as error:
        words = next(words for kind, words in WORDS if isinstance(error, kind))
        raise refused(words, error.smtp_code, error.smtp_error) from error
    except smtplib.SMTPServerDisconnected as error:
        raise DeliveryFailed(_l("The mail server broke off the connection.")) from error
    except smtplib.SMTPNotSupportedError as error:
        raise DeliveryFailed(_l("The mail server takes no sign-in over this connection.")) from error
    except smtplib.SMTPException as error:
        raise DeliveryFailed(_l("The mail server can't be used: %(error)s.", error=str(error))) from error
