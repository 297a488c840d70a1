"""Messages in the database: each reader gets their own language, and other programs' texts stay as they are."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask_babel import force_locale

from app.i18n.messages import BEGINNING, lazy_digits, lazy_gettext, lazy_ngettext, pack, unpack

INNER = lazy_gettext("The server answered %(status)s.", status=503)
STORED = {
    "a message": (lazy_gettext("The file is there."), "The file is there.", "Die Datei ist da."),
    "a value": (INNER, "The server answered 503.", "Der Server antwortete 503."),
    "a message in a slot": (
        lazy_gettext("The other side said that it is gone for good: %(detail)s", detail=INNER),
        "The other side said that it is gone for good: The server answered 503.",
        "Die andere Seite sagte, dass es sie nicht mehr gibt: Der Server antwortete 503.",
    ),
    "a number": (
        lazy_gettext("There may be at most %(most)s.", most=lazy_digits(1000)),
        "There may be at most 1,000.",
        "Es dürfen höchstens 1.000 sein.",
    ),
    "a plural": (
        lazy_ngettext("1 link is deleted.", "%(number)s links are deleted.", 2, number=2),
        "2 links are deleted.",
        "2 Links sind gelöscht.",
    ),
    "another program's text": ("Delete", "Delete", "Delete"),
    "one like ours": (BEGINNING + '"gettext"}', BEGINNING + '"gettext"}', BEGINNING + '"gettext"}'),
}


@pytest.mark.parametrize("name", STORED)
def test_what_is_stored_is_worded_where_it_is_read(app: Flask, name: str) -> None:
    text, english, german = STORED[name]
    with app.app_context():
        found = unpack(pack(text))
        assert str(found) == english
        with force_locale("de"):
            assert str(found) == german


def test_a_message_that_is_too_long_for_its_column_is_kept_in_english(
    session: Any, alice: Any, factory: Any
) -> None:
    reason = lazy_gettext(
        "No notification has arrived for five days. The last answer: %(detail)s", detail="x" * 600
    )
    handler = factory.handler(alice, off_reason=reason)
    session.expire_all()
    assert handler.off_reason == str(reason)[:512]
