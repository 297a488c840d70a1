"""Messages: worded where they are read, also those that are stored; what people typed in their slots stays text."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask, render_template_string
from flask_babel import force_locale

from app.i18n.languages import dashboard_languages, every_language, first_of
from app.i18n.messages import (
    BEGINNING,
    gettext,
    in_english,
    lazy_digits,
    lazy_gettext,
    lazy_ngettext,
    ngettext,
    pack,
    unpack,
)


def test_a_lazy_message_is_worded_where_it_is_read(app: Flask) -> None:
    message = lazy_gettext("%(clicks)s of %(limit)s clicks are used", clicks=1, limit=2)
    assert str(message) == "1 of 2 clicks are used"
    with app.test_request_context("/dashboard/", headers={"Accept-Language": "de"}):
        assert str(message) == "1 von 2 Klicks sind verbraucht"
        assert in_english(message) == "1 of 2 clicks are used"
        assert f"{message}" == "1 von 2 Klicks sind verbraucht"
    with app.test_request_context("/api/links", headers={"Accept-Language": "de"}):
        assert str(message) == "1 of 2 clicks are used"


def test_what_people_typed_is_escaped_in_pages(app: Flask) -> None:
    message = lazy_gettext("%(name)s is saved.", name="<script>")
    template = "{{ message }}{{ _('%(name)s is saved.', name=name) }}{% trans name %}\n <b>{{ name }}</b>{% endtrans %}"
    with app.test_request_context("/dashboard/"):
        page = render_template_string(template, message=message, name="<script>")
    assert page == "&lt;script&gt; is saved.&lt;script&gt; is saved.<b>&lt;script&gt;</b>"


def test_a_name_from_right_to_left_does_not_turn_the_words_around_it(app: Flask) -> None:
    """Neither in a toast nor in an attribute, where no markup can isolate it."""
    name = "قائمة!"
    template = "{{ _('%(name)s is saved.', name=name) }}{% trans name %}{{ name }}.{% endtrans %}"
    plural = "{{ ngettext('%(num)s in %(name)s', '%(num)s in %(name)s', 2, name=name) }}"
    with app.test_request_context("/dashboard/"):
        assert gettext("%(name)s is saved.", name=name) == f"\u2068{name}\u2069 is saved."
        assert (
            render_template_string(template, name=name) == f"\u2068{name}\u2069 is saved.\u2068{name}\u2069."
        )
        assert render_template_string(plural, name=name) == f"2 in \u2068{name}\u2069"
        assert str(lazy_gettext("%(name)s is saved.", name="Été 1")) == "Été 1 is saved."


def test_a_template_fills_the_slots_of_a_plural(app: Flask) -> None:
    template = "{{ ngettext('%(num)s of %(all)s', '%(num)s of all %(all)s', number, num='1,234', all='<') }}"
    with app.test_request_context("/dashboard/"):
        pages = [render_template_string(template, number=number) for number in (1, 2)]
    assert pages == ["1,234 of &lt;", "1,234 of all &lt;"]


def test_without_an_application_messages_are_english() -> None:
    assert gettext("Delete") == "Delete"
    assert ngettext("%(num)s link", "%(num)s links", 2) == "2 links"


def test_a_language_can_be_forced_outside_requests(app: Flask) -> None:
    with app.app_context(), force_locale("de"):
        assert gettext("Delete") == "Löschen"


def test_languages_are_found_by_their_catalogues() -> None:
    assert dashboard_languages() == {
        "en": "English",
        "de": "Deutsch",
        "es": "Español",
        "fr": "Français",
    }
    assert set(dashboard_languages()) <= set(every_language())
    assert first_of(["en", "de"], ["fr-CA", "de-AT", "en"]) == "de"
    assert first_of(["en", "de"], [None, "fr"]) == "en"


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
