"""Messages: they are worded where they are read, and what people typed in their slots stays text."""

from __future__ import annotations

from flask import Flask, render_template_string
from flask_babel import force_locale

from app.i18n.languages import dashboard_languages, every_language, first_of
from app.i18n.messages import gettext, in_english, lazy_gettext, ngettext


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
