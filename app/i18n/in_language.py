"""The language of texts for one reader, also where there is no request: mails, chats and prepared pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache

from flask import Flask, has_app_context
from flask_babel import Babel, force_locale

from app.i18n.languages import DEFAULT, dashboard_languages, locale_of


@contextmanager
def in_language(tag: str) -> Iterator[None]:
    """Words all messages within this context in a language; in English where it has no whole catalogue.

    The worker's threads have no application, and without one no language could be forced.
    """
    with ExitStack() as stack:
        if not has_app_context():
            stack.enter_context(bare_application().app_context())
        stack.enter_context(force_locale(locale_of(tag if tag in dashboard_languages() else DEFAULT)))
        yield


@cache
def bare_application() -> Flask:
    """An application that knows of languages and nothing else."""
    app = Flask(__name__, static_folder=None)
    Babel(app, configure_jinja=False)
    return app
