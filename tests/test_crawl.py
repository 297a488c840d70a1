"""Untranslatable texts: every text on every page of the dashboard comes from the catalogue.

Every text of the catalogue is put in brackets, and every page is opened. What then stands outside of
brackets and is no owner's data would be English in every language. New pages are found by themselves.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from babel.support import Translations
from flask import Flask

from app.core.extensions import db
from app.i18n import messages
from app.i18n.languages import translations
from app.import_export.columns import SERVICES
from app.notifications.transport import all_transports
from tests.dashboard.conftest import Desk, desk

__all__ = ["desk"]
BRACKETS = re.compile(r"\[\[[^\[\]]*\]\]")
HIDDEN = {"script", "style", "svg", "code", "pre", "datalist", "kbd", "option"}
VOID = {"input", "br", "img", "meta", "link", "hr", "use", "circle", "path"}
SHOWN = {"aria-label", "title", "placeholder", "alt", "data-says"}
# words that are the same in every language, and the names of this test's rows
DATA = re.compile(
    r"""UTM[ ](?:source|medium|campaign) | \S+[@/]\S* | \S+\.(?:test|example|com)\b | localhost\S* | wp_\S+ | \d+\s*(?:KB|MB|GB|ms|s|h|px)\b |
    \b(?:zz\w*|CSV|TSV|JSON|NDJSON|PNG|SVG|QR|API|URL|UTM|HTTP|OpenAPI|IP|UTC|CET|OK|DNS|TXT|CNAME|Waypost|DE|EU)\b |
    \b(?:event|link|handler)\.\w+ | iOS | iPhone | Python | PostgreSQL | SQLite | Redis | flask | granian | sqlalchemy | Bytes | \d+:AA\w+ | ref=\w+ | E-Mail | YOURLS.*Dub |
    \b(?:newsletter|spring|email|value|csv|json|overview)\b | \b(?:GET|POST|DELETE|PATCH|PUT|Esc|Enter|Alt|Ctrl)\b |
    \b(?:Jan|Feb|März?|Apr|Mai|Juni?|Juli?|Aug|Sept?|Okt|Nov|Dez)\w*\b | \b(?:Mo|Di|Mi|Do|Fr|Sa|So)\b |
    \b(?:Mon|Diens|Mitt|Donners|Frei|Sams|Sonn)\w* | \bMEZ\b | &\w+;""",
    re.VERBOSE,
)


# names that are the same in every language
SINGLE = """
    Waypost Berlin Windows Firefox Safari Mac Android Chrome Edge Linux Opera Slack Discord Telegram Webhook
    LinkedIn Pinterest Quora TikTok Snapchat Gotify Matrix Mattermost Pushover ntfy English Deutsch https:// curl Origin Bearer Allow
"""
NAMES = frozenset(SINGLE.split()) | {
    "Berlin, DE",
    "Chrome OS",
    "Google Analytics",
    "Google Chat",
    "Google Tag Manager",
    "Meta (Facebook)",
    "Microsoft Teams",
    "Samsung Internet",
    "X (Twitter)",
    "Flask",
    "Granian",
    "SQLAlchemy",
    "<token>",
}
# of what handlers' fields take
EXAMPLES = {field.example for one in all_transports().values() for field in one.settings} - {""}
BETWEEN = re.compile(r"(%\(\w+\)s|<[^>]*>)")


class BracketedMessages:
    """A catalogue of `gettext` that puts what it has in brackets; not what stands in slots, and not tags."""

    def __init__(self, found: Translations) -> None:
        self.found, self.texts = found, found._catalog

    def gettext(self, message: str) -> str:
        return self.marked(self.found.gettext(message), message)

    def ngettext(self, one: str, many: str, num: int) -> str:
        return self.marked(self.found.ngettext(one, many, num), (one, 0))

    def pgettext(self, context: str, message: str) -> str:
        return self.marked(self.found.pgettext(context, message), f"{context}\x04{message}")

    def marked(self, text: str, key: object) -> str:
        if key not in self.texts:
            return text
        pieces = enumerate(BETWEEN.split(text))  # every second one is a slot or a tag
        return "".join(
            piece if number % 2 or not piece.strip() else f"[[{piece}]]" for number, piece in pieces
        )


@pytest.fixture
def bracketed(desk: Desk, alice: Any, monkeypatch: pytest.MonkeyPatch) -> Desk:
    alice.language = "de"
    alice.name = "zzname"
    db.session.commit()
    monkeypatch.setattr(messages, "catalogue", lambda: BracketedMessages(translations("de")))
    return desk


class Texts(HTMLParser):
    """The texts of a page, and attributes that are read out, except what is marked as English."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.within: list[tuple[str, bool]] = []
        self.feed(page)

    @property
    def is_read(self) -> bool:
        return all(is_read for _, is_read in self.within)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        is_read = tag not in HIDDEN and told.get("lang") != "en"
        if is_read and self.is_read:
            self.found += [told[name] for name in SHOWN & told.keys()]
        if tag not in VOID:
            self.within.append((tag, is_read))

    def handle_endtag(self, tag: str) -> None:
        while tag in [one for one, _ in self.within]:
            if self.within.pop()[0] == tag:
                return

    def handle_data(self, data: str) -> None:
        if self.is_read:
            self.found.append(data)


def left(page: str) -> list[str]:
    """The texts outside of brackets."""
    found = []
    for text in Texts(page).found:
        while BRACKETS.search(text):
            text = BRACKETS.sub(" ", text)
        for name in sorted({*NAMES, *SERVICES, *EXAMPLES}, key=len, reverse=True):
            text = text.replace(name, " ")
        text = DATA.sub(" ", text).strip()
        if re.search(r"[^\W\d_]{3}", text):
            found.append(" ".join(text.split()))
    return sorted(set(found))


def without_proposal(page: str) -> str:
    """A page without the random alias that a new link is offered."""
    proposed = re.search(r'name="proposed_alias" value="(\w+)"', page)
    return page.replace(proposed[1], "") if proposed else page


def test_no_text_escapes(bracketed: Desk, alice: Any, factory: Any, app: Flask) -> None:
    for make in (factory.project, factory.pixel, factory.handler):
        make(alice, name="zzname")
    factory.key(alice, name="zzname")
    factory.domain(alice, "zz.example")
    link = factory.link(alice, "zzlink", title="zztitle", tags=("zztag",))
    rules = {rule.rule for rule in app.url_map.iter_rules() if "GET" in (rule.methods or ())}
    paths = {re.sub(r"<int:\w+>", str(link.id), rule) for rule in rules if rule.startswith("/dashboard/")}
    every = {}
    for path in sorted(path for path in paths if "<" not in path):
        answer = bracketed.client.get(path)
        if (
            answer.mimetype == "text/html"
            and answer.status_code < 300
            and (found := left(without_proposal(answer.text)))
        ):
            every[path] = found
    assert not every, "\n".join(f"{path}: {texts}" for path, texts in every.items())
