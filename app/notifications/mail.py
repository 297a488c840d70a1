"""Composition of a mail: text and HTML, charts of the days, and the unsubscribe headers."""

from __future__ import annotations

from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from functools import cache
from typing import cast
from urllib.parse import urlsplit

import idna
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import InternationalizationExtension

from app.core.folders import ROOT
from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import ngettext
from app.notifications.formatting import button_of, in_plain_text, left_out, one_line, tone_of
from app.notifications.message import NOTES, Message, Section

SUBJECT, SECTIONS = 160, 50
COLOURS = {"good": "#16a34a", "warn": "#d97706", "bad": "#dc2626", "info": "#0b6e66"}
# long headers stay unfolded (the unsubscribe URL would be encoded otherwise); all servers accept 7-bit bodies
POLICY = SMTP.clone(max_line_length=998, cte_type="7bit")


@cache
def templates() -> Environment:
    loader = FileSystemLoader(ROOT / "app" / "templates")
    found = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, extensions=[InternationalizationExtension]
    )
    found.install_gettext_callables(_, ngettext, newstyle=True)  # type: ignore[attr-defined]  # of the extension
    found.globals.update(digits=digits)
    return found


def compose_email(message: Message, sender: str, to: str) -> EmailMessage:
    """The whole mail. The standard library writes each header, and refuses line ends in it."""
    name, address = parseaddr(sender)
    mail = EmailMessage(POLICY.clone(utf8=not to.isascii()))
    mail["From"] = Address(in_header(name) or "Waypost", addr_spec=encode_address(address))
    mail["To"] = encode_address(to)  # its form was checked: it is one address, and nothing else
    mail["Subject"] = in_header(message.title)[:SUBJECT]
    mail["Date"] = format_datetime(message.datetime)
    mail["Message-ID"] = f"<{message.id}@{encode_address(address).rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    if message.stop_url:
        mail["List-Unsubscribe"] = f"<{message.stop_url}>"
        mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    mail.set_content(text_of(message))
    add_html(mail, message, to)
    return mail


def text_of(message: Message) -> str:
    end = f"\n-- \n{_('Unsubscribe')}: {message.stop_url}\n" if message.stop_url else ""
    return in_plain_text(message) + end


def add_html(mail: EmailMessage, message: Message, to: str) -> None:
    sections = message.sections[:SECTIONS]
    pictures = [f"{message.id}.{place}" if one.picture else "" for place, one in enumerate(sections)]
    values = {
        "message": message,
        "sections": sections,
        "pictures": pictures,
        "picture_text": picture_text,
        "rest": left_out(len(message.sections) - len(sections)),
        "colour": COLOURS[tone_of(message)],
        "button": button_of(message),
        "note": NOTES[message.note] % {"to": to},
    }
    html = templates().get_template("mail/message.html").render(values)
    mail.add_alternative(html, subtype="html")
    part = cast("list[EmailMessage]", mail.get_payload())[-1]
    for section, id_ in zip(sections, pictures, strict=True):
        if section.picture:
            part.add_related(section.picture, "image", "png", cid=f"<{id_}>", disposition="inline")


def picture_text(section: Section) -> str:
    """The alternative text of the chart."""
    days = ", ".join(digits(visits) for _day, visits in section.days)
    return _("Visits a day: %(days)s", days=days)


def in_header(text: str) -> str:
    """One line without encoded words: the library would decode one, and write a line end that it contains."""
    return one_line(text).replace("=?", "= ?")


def encode_address(address: str) -> str:
    """The address with its domain in ASCII (IDNA), which every mail server reads."""
    local, _, domain = address.rpartition("@")
    return f"{local}@{domain if domain.isascii() else idna.encode(domain, uts46=True).decode('ascii')}"


def default_sender(message: Message) -> str:
    """The sender where `MAIL_FROM` is not set: an address at this instance's own host."""
    return f"Waypost <waypost@{urlsplit(message.url or '').hostname or 'localhost'}>"
