"""Texts of templates: each is a message, and what owners typed never is one, even where it reads like one."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from jinja2 import Environment, nodes
from sqlalchemy import insert

from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.core.folders import ROOT
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project
from scripts.catalogues import all_messages
from tests.dashboard.conftest import Desk, desk

__all__ = ["desk"]

TEMPLATES = ROOT / "app" / "templates"
ENVIRONMENT = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
GETTEXT = {"_", "gettext", "ngettext", "pgettext"}
SHOWN = {"aria-label", "title", "placeholder", "alt", "data-label", "data-copied", "data-not-copied"}
HIDDEN = {"script", "style", "svg", "code", "pre", "kbd"}
VOID = {"input", "br", "img", "meta", "link", "hr", "use", "circle", "path", "rect"}
# the same in every language: names, units, and examples of what is typed
NAMES = re.compile(r"\b(?:Waypost|API|OpenAPI|CSV|JSON|ms|go\.example|Berlin|Safari|https?://\S*)|\W")
WORD = re.compile(r"[^\W\d_]{2}")
# a string that begins as a sentence or a label does; `Delete` is the name of a key
SENTENCE = re.compile(r"(?!Delete$|UTM )[A-Z][a-z’]+(?:$|[ .,:?!])|[A-Z] [a-z]")
EXPRESSION = re.compile(r"\{#.*?#\}|\{%-?\s*trans\b.*?\bendtrans\s*-?%\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)


def sources(*apart: str) -> Iterator[tuple[str, str]]:
    """Each template's name and text, except those in the folders `apart`."""
    for path in sorted(TEMPLATES.rglob("*.html")):
        name = path.relative_to(TEMPLATES).as_posix()
        if not name.startswith(apart):
            yield name, path.read_text()


class BareTexts(HTMLParser):
    """What a template says by itself: between tags, and in attributes that are shown or read out."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.within: list[str] = []
        self.feed(EXPRESSION.sub(" ", source))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in SHOWN]
        if tag not in VOID:
            self.within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.within:
            while self.within.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not HIDDEN & {*self.within}:
            self.found.append(data)


def bare_texts(source: str) -> list[str]:
    """Without attributes that a macro writes apart from their tag."""
    found = (text.strip() for text in BareTexts(source).found)
    return [text for text in found if WORD.search(NAMES.sub(" ", text)) and '="' not in text]


def bare_strings(node: nodes.Node) -> Iterator[str]:
    """Strings of expressions that are neither messages nor only compared."""
    if isinstance(node, nodes.Compare) or name_of(node) in GETTEXT:
        return
    if isinstance(node, nodes.Const) and isinstance(node.value, str) and SENTENCE.match(node.value):
        yield from [node.value] if WORD.search(NAMES.sub(" ", node.value)) else ()
    for child in node.iter_child_nodes():
        yield from bare_strings(child)


def name_of(node: nodes.Node) -> str:
    """The name of the function that is called."""
    return node.node.name if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) else ""


def forgotten(source: str) -> list[str]:
    return [*bare_texts(source), *bare_strings(ENVIRONMENT.parse(source))]


def test_every_text_of_a_template_is_a_message() -> None:
    found = {name: forgotten(source) for name, source in sources("public/", "mail/")}
    assert not {name: texts for name, texts in found.items() if texts}


def test_a_message_is_never_a_variable() -> None:
    """It would be HTML, and a person's name could be one."""
    calls = (
        (name, call)
        for name, source in sources()
        for call in ENVIRONMENT.parse(source).find_all(nodes.Call)
        if name_of(call) in GETTEXT
    )
    messages = ((name, call, call.args[: 2 if name_of(call) == "ngettext" else 1]) for name, call in calls)
    assert not [
        f"{name}:{call.lineno}"
        for name, call, texts in messages
        if not all(isinstance(text, nodes.Const) for text in texts)
    ]


MAX_NAME = 128
BETWEEN_TAGS = re.compile(r">([^<>]+)<")


def names() -> list[str]:
    """Every message that a name can be: short enough, on one line. Of a plural, each form."""
    texts = [text for text, _ in all_messages()]
    forms = {form for text in texts for form in ((text,) if isinstance(text, str) else text)}
    return sorted({" ".join(form.split()) for form in forms if len(form) <= MAX_NAME})


def texts_of(page: str) -> set[str]:
    return {" ".join(html.unescape(text).split()) for text in BETWEEN_TAGS.findall(page)}


@pytest.fixture
def german(desk: Desk, alice: Any) -> Desk:
    alice.language = "de"
    db.session.commit()
    return desk


ROWS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "projects": (Project, {"color": "#4263eb"}),
    "pixels": (Pixel, {"type": "social_a", "pixel": "123456789012345"}),
    "handlers": (NotificationHandler, {"type": "email", "settings": {"email": "a@example.com"}}),
}


@pytest.mark.parametrize("kind", ROWS)
def test_rows_named_after_messages_keep_their_names(
    german: Desk, alice: Any, kind: str, request: pytest.FixtureRequest
) -> None:
    """Named after every message with the long tests, else after every eighth."""
    model, columns = ROWS[kind]
    every = names()
    assert len(every) > 1000
    every = every[:: 1 if request.config.option.full else 8]
    db.session.execute(
        insert(model), [{**access_of(alice).row_columns, "name": name, **columns} for name in every]
    )
    db.session.commit()
    shown: set[str] = set()
    for page in range(1, len(every) // 250 + 2):
        shown |= texts_of(german.get(f"/{kind}/?page={page}&results_per_page=250").text)
    assert [name for name in every if name not in shown] == []
    # and among the choices of a link
    choices = texts_of(german.get("/links/new").text)
    assert [name for name in every if name not in choices] == []


def test_a_message_about_a_row_keeps_its_name(german: Desk) -> None:
    """The name is a value of the message: `Clicks is saved.`, not `Klicks ist gespeichert.`"""
    done = german.post("/projects/new", {"name": "Clicks", "color": "#4263eb"}, follow_redirects=True)
    assert "Clicks ist angelegt." in html.unescape(done.text)
    done = german.post(
        "/projects/new", {"name": "%(name)s is saved.", "color": "#4263eb"}, follow_redirects=True
    )
    assert "%(name)s is saved. ist angelegt." in html.unescape(done.text)
