"""How is a mail handed to the operator's mail server? The door makes the line, smtplib speaks on it."""

from __future__ import annotations

import re
import smtplib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Timer
from typing import NamedTuple

from app.mail_servers import OFFERED, STARTTLS, TLS, MailServer
from app.notifications.dial import in_words, trusted
from app.notifications.door import Door
from app.notifications.outbound import BOTH_WAYS, Socket
from app.notifications.transport import Refused, Sent

# RFC 3463: there is no such mailbox or domain, it has moved, or it takes nothing any more
GONE = re.compile(r"5\.1\.(1|2|3|6|10)\b|5\.2\.1\b")

NO_TLS = (
    "The mail server offers no encryption (STARTTLS), so nothing was sent to it. "
    "If it is meant to work without, use smtp+plain:// in WAYPOST_SMTP_URL."
)


class Letter(NamedTuple):
    """A mail as it goes over the line, and between whom."""

    sender: str
    to: str
    content: bytes


def hand_in(letter: Letter, server: MailServer, door: Door, *, name: str) -> Sent:
    """The server has taken it; or Refused. `name` is what we call ourselves. Raises NoAnswer too."""
    with in_words(door.deadline, (Refused,)), in_smtp_words(), spoken_to(server, door, name) as client:
        greet(client, server)
        return send(client, letter)


@contextmanager
def spoken_to(server: MailServer, door: Door, name: str) -> Iterator[smtplib.SMTP]:
    """A client on a line of the door's. At the deadline the line is cut, also under one that drips."""
    line = door.connect_named(server.host, server.port)
    client = smtplib.SMTP(local_hostname=name, timeout=door.left())
    client.sock = line
    timer = Timer(door.left(), cut, [client])
    timer.daemon = True
    timer.start()
    try:
        line.settimeout(door.left())
        if server.security == TLS:
            encrypt(client, server)
        yield client
    except OSError:  # of which smtplib's errors are some
        door.left()  # raises TimeoutError where it was us who cut the line
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
    """What was read before it is forgotten: somebody between could have put it there."""
    client.sock = trusted().wrap_socket(line_of(client), server_hostname=server.host)
    client.file = None
    client.ehlo_resp = client.helo_resp = None
    client.esmtp_features, client.does_esmtp = {}, False


def greet(client: smtplib.SMTP, server: MailServer) -> None:
    """Greeting, TLS and sign-in. Whatever is refused here is the operator's to put right."""
    expect(client.getreply(), 220, "The mail server does not take mail now")
    client.ehlo_or_helo_if_needed()
    if server.security == STARTTLS or (server.security == OFFERED and client.has_extn("starttls")):
        if not client.has_extn("starttls"):
            raise Refused(NO_TLS)
        expect(client.docmd("STARTTLS"), 220, "The mail server makes no secure connection")
        encrypt(client, server)
        client.ehlo_or_helo_if_needed()
    if server.user is not None:
        client.login(server.user, server.password)


def send(client: smtplib.SMTP, letter: Letter) -> Sent:
    options = [] if letter.to.isascii() and letter.sender.isascii() else ["SMTPUTF8", "BODY=8BITMIME"]
    if options and not client.has_extn("smtputf8"):
        raise Refused("The mail server takes no addresses with letters like these.", permanent=True)
    expect(client.mail(letter.sender, options), 250, "The mail server does not take the sender")
    expect(client.rcpt(letter.to), 250, "The mail server does not take the address", is_about_mail=True)
    answer = client.data(letter.content)
    expect(answer, 250, "The mail server does not take the mail", is_about_mail=True)
    with suppress(smtplib.SMTPException, OSError):
        client.quit()  # it has the mail, whatever comes now
    return Sent(status_code=answer[0], answer=said(answer[1]))


def expect(answer: tuple[int, bytes], code: int, otherwise: str, *, is_about_mail: bool = False) -> None:
    """RFC 5321, 4.2.1: what begins with 4 passes, what begins with 5 would be the same the next time.

    But only of what is said about this mail: 5 at the greeting is a server that is not set up right yet.
    """
    if answer[0] // 10 == code // 10:
        return
    raise refused(otherwise, *answer, is_about_mail=is_about_mail)


def refused(otherwise: str, code: int, text: bytes | str, *, is_about_mail: bool = False) -> Refused:
    words, is_final = said(text), is_about_mail and code >= 500
    return Refused(
        f"{otherwise} ({code} {words.splitlines()[0] if words else ''}".rstrip() + ").",
        permanent=is_final,
        gone=is_final and bool(GONE.match(words)),
        status_code=code,
        answer=f"{code} {words}",
    )


def said(text: bytes | str) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


# what smtplib itself raises with an answer, the first that fits
WORDS: Sequence[tuple[type[smtplib.SMTPResponseException], str]] = (
    (smtplib.SMTPAuthenticationError, "The mail server refuses the sign-in"),
    (smtplib.SMTPHeloError, "The mail server does not answer the greeting"),
    (smtplib.SMTPResponseException, "The mail server refuses"),
)


@contextmanager
def in_smtp_words() -> Iterator[None]:
    try:
        yield
    except smtplib.SMTPResponseException as error:
        words = next(words for kind, words in WORDS if isinstance(error, kind))
        raise refused(words, error.smtp_code, error.smtp_error) from error
    except smtplib.SMTPServerDisconnected as error:
        raise Refused("The mail server broke off the connection.") from error
    except smtplib.SMTPNotSupportedError as error:
        raise Refused("The mail server takes no sign-in over this connection.") from error
    except smtplib.SMTPException as error:
        raise Refused(f"The mail server can't be used: {error}.") from error
