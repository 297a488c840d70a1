"""Redirect context, host, site and visitor of the current request."""

from __future__ import annotations

from urllib.parse import quote

from app.redirects.context import RedirectContext
from app.redirects.hosts import Site
from app.redirects.visitor import Visitor
from app.web import application

# all that a query may hold as it was sent
SAFE_IN_QUERY = "".join(map(chr, range(0x21, 0x7F)))


def redirect_context() -> RedirectContext:
    found: RedirectContext = application.redirect_context()
    return found


def host() -> str:
    return str(application.environ().get("HTTP_HOST", ""))


def query() -> str:
    """The query as it was sent, with what no URL may hold percent-encoded."""
    return quote(application.environ().get("QUERY_STRING", "").encode("latin-1"), safe=SAFE_IN_QUERY)


def site() -> Site:
    """The site of the request's host. Raises StoreDown."""
    return redirect_context().compiled_links.site(host())


def visitor() -> Visitor:
    return redirect_context().visitor(application.environ())
