"""How does an answer to a visitor come about: a page in his language, or the way to another address?"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from flask import Response, current_app, make_response
from werkzeug.datastructures import Headers

from app.public import here, policies
from app.public.policies import Directives
from app.visits.plan import ALWAYS

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

SYMBOL = re.compile(r'<symbol id="sign-([a-z0-9-]+)" viewBox="0 0 24 24">(.*?)</symbol>', re.DOTALL)
# which sign stands above each page's title
SIGNS = {
    "not_found": "search",
    "not_yet": "clock",
    "expired": "timer",
    "limit": "ban",
    "password": "lock",
    "warning": "eye-off",
    "consent": "shield",
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
    """Leaves with its `Location` as it is.

    Werkzeug would write it anew, `[` as `%5B`, and fails at those that `urlsplit` can't split.
    """

    def get_wsgi_headers(self, environ: WSGIEnvironment) -> Headers:
        location = self.headers.pop("Location")
        headers = super().get_wsgi_headers(environ)
        self.headers["Location"] = headers["Location"] = location
        return headers


def to(location: str, status: int = 302) -> Response:
    """A redirect with nothing in it but the address: Werkzeug's own would write a page around it."""
    answer = Redirect("", status, ALWAYS)
    answer.headers["Location"] = location
    del answer.headers["Content-Type"]
    return answer


ORIGIN_ONLY = "strict-origin-when-cross-origin"


def page(
    name: str, status: int, *, link_title: str | None = None, values: dict[str, str] | None = None
) -> Response:
    """A page that says one thing and asks for nothing."""
    return shown(name, status, link_title=link_title, values=values)


def shown(
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
    """The page of this name in the visitor's language; `values` are what its texts are filled with."""
    words = here.words()
    told.setdefault("card", None)
    told |= {"title": words.title(name, **(values or {})), "text": words.text(name, **(values or {}))}
    told |= {"words": words, "sign": sign(SIGNS.get(name, "info")), "link_title": link_title}
    answer = make_response(rendered(template, **told), status, ALWAYS)
    return guarded(answer, policies.united(policies.closed(), policy or {}), referrer)


def rendered(template: str, **told: Any) -> str:
    """Not by `render_template`: what that adds to every page asks the database, which may be what fails."""
    return current_app.jinja_env.get_template(template).render(told)


def guarded(answer: Response, policy: Directives, referrer: str = "no-referrer") -> Response:
    answer.headers["Content-Security-Policy"] = policies.written(policy)
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["Referrer-Policy"] = referrer
    answer.headers["Vary"] = "Accept-Language"
    return answer


def open_to_others(answer: Response) -> Response:
    """Without the rule of owners' pages, which parts a window from its opener and no sandbox goes with."""
    answer.headers["Cross-Origin-Opener-Policy"] = "unsafe-none"
    return answer


@cache
def sign(name: str) -> str:
    """A sign as markup, to stand in a page that asks for nothing."""
    drawn = dict(SYMBOL.findall(rendered("public/_signs.svg")))
    return f'<svg viewBox="0 0 24 24" aria-hidden="true">{drawn[name]}</svg>'
