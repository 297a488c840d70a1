"""The language of a request: the signed-in owner's, the visitor's, or the API's English."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Flask, Response, g, has_request_context, request
from flask_babel import Babel
from flask_login import current_user
from jinja2 import pass_context
from jinja2.runtime import Context

from app.i18n import messages
from app.i18n.languages import DEFAULT, dashboard_languages, every_language, first_of
from app.web.security_headers import is_api

VISITORS = "public"  # the blueprint of visitors' pages


def init_app(app: Flask) -> None:
    Babel(app, default_translation_directories="i18n", locale_selector=select_locale)
    app.after_request(settle_stream)
    app.jinja_env.install_gettext_callables(  # type: ignore[attr-defined]  # of an extension
        gettext=messages.gettext,
        ngettext=lambda one, many, num: messages.catalogue().ngettext(
            one, many, num
        ),  # slots are filled later
        pgettext=messages.pgettext,
        newstyle=True,
    )
    words: dict[str, Any] = app.jinja_env.globals
    words.update({name: with_isolated_slots(words[name]) for name in ("gettext", "ngettext", "pgettext")})
    app.jinja_env.policies["ext.i18n.trimmed"] = True  # lines of a template are no part of a message


def with_isolated_slots(word: Callable[..., str]) -> Callable[..., str]:
    """A message function of templates, which fill the slots themselves."""

    @pass_context
    def word_isolated(context: Context, /, *message: Any, **values: Any) -> str:
        return word(context, *message, **messages.isolated(values))

    return word_isolated


def settle_stream(response: Response) -> Response:
    """Looks the language up before a stream begins: the session and its user are gone while it is written."""
    if response.is_streamed and not response.direct_passthrough:
        select_locale()
    return response


def select_locale() -> str:
    """The language of the signed-in user; without one, the browser's where there is a catalogue of it."""
    if not has_request_context():
        return DEFAULT
    if "language" not in g:
        g.language = language_of_request()
    return str(g.language)


def language_of_request() -> str:
    if is_api(request.path):
        return DEFAULT
    if request.blueprint == VISITORS:
        return first_of(every_language(), request.accept_languages.values())
    return first_of(
        dashboard_languages(), (getattr(current_user, "language", None), *request.accept_languages.values())
    )


def settle() -> None:
    """Sets the language by the browser alone, where the signed-in user can't be looked up."""
    if "language" not in g:
        g.language = first_of(dashboard_languages(), request.accept_languages.values())
