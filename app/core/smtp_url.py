"""Parsers of the settings `SMTP_URL` and `MAIL_FROM`."""

from __future__ import annotations

from email.utils import parseaddr
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

# how the connection is encrypted, by scheme: TLS from the first byte, after STARTTLS, after STARTTLS where
# the server offers it, not at all
TLS, STARTTLS, OFFERED, PLAIN = "tls", "starttls", "offered", "plain"
SCHEMES = {
    "smtp": (OFFERED, 25),
    "smtp+starttls": (STARTTLS, 587),
    "smtps": (TLS, 465),
    "smtp+plain": (PLAIN, 25),
}


class MailServer(NamedTuple):
    """The mail server to submit mail to, and the login there."""

    host: str
    port: int
    security: str
    user: str | None
    password: str


def read_server(text: str) -> MailServer:
    """`smtp://user:password@mail.example:587`, or with another scheme. Raises ValueError.

    With a login, `smtp://` insists on STARTTLS: an attacker on the way could strip the offer and read the
    password. `smtp+plain://` sends it unencrypted.
    """
    try:
        parts = urlsplit(text)
        named_port = parts.port
        is_right = parts.scheme in SCHEMES and bool(parts.hostname) and parts.path in {"", "/"}
    except ValueError:  # its text may repeat a part of the password
        is_right = False
    if not is_right or parts.query or parts.fragment or not text.isprintable():
        raise ValueError(
            "must be like smtp://user:password@mail.example:587, special characters written as %40 "
            f"(schemes: {', '.join(SCHEMES)})"
        )
    security, port = SCHEMES[parts.scheme]
    user = None if parts.username is None else unquote(parts.username)
    if user is not None and security == OFFERED:
        security, port = SCHEMES["smtp+starttls"]
    return MailServer(parts.hostname or "", named_port or port, security, user, unquote(parts.password or ""))


def server_address(text: str) -> str:
    read_server(text)
    return text


def sender(text: str) -> str:
    """`waypost@example.com`, or with a name: `Waypost <waypost@example.com>`."""
    _, address = parseaddr(text)
    local, _, domain = address.rpartition("@")
    if not local or not domain or any(ord(c) < 32 or c == "\x7f" for c in text):
        raise ValueError("must be an e-mail address, as waypost@example.com or Waypost <waypost@example.com>")
    return text
