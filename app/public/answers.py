"""Responses to visitors: pages in the visitor's language, and redirects."""

# see docs/decisions/2026-11-21-visitor-pages.md
from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from flask import Response, current_app, make_response
from flask_babel import force_locale
from werkzeug.datastructures import Headers

from app.i18n.languages import locale_of
from app.public import csp
from app.public.csp import Directives
from app.public.page_texts import PAGES, in_visitors_language, visitors_language
from app.redirects.compiled_link import ALWAYS

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment


SYMBOL = re.compile(r'<symbol id="sign-([a-z0-9-]+)" viewBox="0 0 24 24">(.*?)</symbol>', re.DOTALL)


class Redirect(Response):
    """A response that keeps its `Location` unchanged.

    Werkzeug would rewrite it, `[` as `%5B`, and fails where `urlsplit` can't split it.
    """

    def get_wsgi_headers(self, environ: WSGIEnvironment) -> Headers:
        location = self.headers.pop("Location")
        headers = super().get_wsgi_headers(environ)
        self.headers["Location"] = headers["Location"] = location
        return headers


def to(location: str, status: int = 302) -> Response:
    """A redirect with an empty body. Werkzeug's own would contain a page."""
    answer = Redirect("", status, ALWAYS)
    answer.headers["Location"] = location
    del answer.headers["Content-Type"]
    return answer


ORIGIN_ONLY = "strict-origin-when-cross-origin"


def render_message(name: str, status: int, *, link_title: str | None = None) -> Response:
    """A page with a message and nothing else."""
    if link_title:
        return render_page(name, status, link_title=link_title)
    return guarded(make_response(plain_page(name, visitors_language()), status, ALWAYS), csp.base_policy())


@cache
def plain_page(name: str, language: str) -> str:
    """The HTML of a message. Such pages are what floods of wrong addresses get: each is rendered once."""
    with force_locale(locale_of(language)):
        return render_text(name)


def render_page(
    name: str,
    status: int,
    *,
    template: str = "public/page.html",
    policy: Directives | None = None,
    referrer: str = "no-referrer",
    link_title: str | None = None,
    values: dict[str, str] | None = None,
    **told: Any,
) -> Response:
    """The page of this name in the visitor's language; `values` fill the slots of its texts."""
    with in_visitors_language():
        page = render_text(name, template, values=values, link_title=link_title, **told)
    answer = make_response(page, status, ALWAYS)
    return guarded(answer, csp.merge(csp.base_policy(), policy or {}), referrer)


def render_text(name: str, template: str = "public/page.html", **told: Any) -> str:
    """The HTML of the page of this name, in the language of this moment."""
    page = PAGES[name]
    title, text = str(page.title), str(page.text)
    if values := told.pop("values", None):
        title, text = title % values, text % values
    always = {"card": None, "link_title": None, "title": title, "text": text, "sign": sign(page.sign)}
    return rendered(template, **always | told)


def rendered(template: str, **told: Any) -> str:
    """Render a template without `render_template`, whose context processors query the database.

    The page may be about a database that does not answer.
    """
    return current_app.jinja_env.get_template(template).render(told)


def guarded(answer: Response, policy: Directives, referrer: str = "no-referrer") -> Response:
    answer.headers["Content-Security-Policy"] = csp.format_policy(policy)
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["Referrer-Policy"] = referrer
    answer.headers["Vary"] = "Accept-Language"
    return answer


def open_to_others(answer: Response) -> Response:
    """Turn off the dashboard's `Cross-Origin-Opener-Policy`.

    It would cut a window off from its opener, and can't be combined with a sandbox.
    """
    answer.headers["Cross-Origin-Opener-Policy"] = "unsafe-none"
    return answer


@cache
def sign(name: str) -> str:
    """An icon as inline markup, because these pages load nothing."""
    drawn = dict(SYMBOL.findall(rendered("public/_signs.svg")))
    return f'<svg viewBox="0 0 24 24" aria-hidden="true">{drawn[name]}</svg>'
