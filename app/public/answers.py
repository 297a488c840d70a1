"""Responses to visitors: pages in the visitor's language, and redirects."""

# see docs/decisions/2026-11-21-visitor-pages.md
from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from flask import Response, current_app, make_response
from werkzeug.datastructures import Headers

from app.public import csp
from app.public import i18n as public_words
from app.public.csp import Directives
from app.redirects.compiled_link import ALWAYS

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

SYMBOL = re.compile(r'<symbol id="sign-([a-z0-9-]+)" viewBox="0 0 24 24">(.*?)</symbol>', re.DOTALL)
# the icon above each page's title
SIGNS = {
    "not_found": "search",
    "not_yet": "clock",
    "expired": "timer",
    "limit": "ban",
    "password": "lock",
    "warning": "eye-off",
    "consent": "shield",
    "confirmation": "mouse-pointer-click",
    "pixels": "route",
    "app": "smartphone",
    "app_by_tap": "smartphone",
    "leads": "signpost",
    "preview": "link",
    "down": "triangle-alert",
    "busy": "timer",
    "slow": "timer",
    "no_host": "search",
}


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


def render_message(
    name: str, status: int, *, link_title: str | None = None, values: dict[str, str] | None = None
) -> Response:
    """A page with a message and nothing else."""
    return render_page(name, status, link_title=link_title, values=values)


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
    """The page of this name in the visitor's language; `values` fill the placeholders of its texts."""
    words = public_words.words()
    told.setdefault("card", None)
    told |= {"title": words.title(name, **(values or {})), "text": words.text(name, **(values or {}))}
    told |= {"words": words, "sign": sign(SIGNS.get(name, "info")), "link_title": link_title}
    answer = make_response(rendered(template, **told), status, ALWAYS)
    return guarded(answer, csp.united(csp.closed(), policy or {}), referrer)


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
