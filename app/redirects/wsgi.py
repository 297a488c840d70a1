"""WSGI front of Flask: answers redirects with one look-up and one write, and hands on all other requests."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from app.core.caches import TooLongError
from app.core.counters import counters
from app.core.errors import StoreDown
from app.redirects.compiled_link import (
    STATUSES,
    CompiledLink,
    EncodedHeaders,
    Message,
    encode_headers,
    redirect_headers,
)
from app.redirects.context import RedirectContext, encode_browser
from app.redirects.hosts import is_host
from app.redirects.resolve import resolve
from app.redirects.visitor import PREFETCH_HEADERS, is_prefetch
from app.web.paths import is_ours
from app.web.security_headers import HSTS

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

Answer = tuple[int, EncodedHeaders]  # a redirect has no body

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
VISITS = frozenset({"GET", "HEAD"})
CLOSE = ("Connection", "close")
CLOSE_ENCODED, HSTS_ENCODED = encode_headers((CLOSE, HSTS))
NOTHING: list[bytes] = []


class Front:
    """The WSGI application that is served. It answers redirects itself; `behind` answers everything else."""

    def __init__(self, behind: WSGIApplication, redirect_context: RedirectContext) -> None:
        self.behind = behind
        self.redirect_context = redirect_context
        self.compiled_links = redirect_context.compiled_links
        self.proxies = redirect_context.settings.trusted_proxies
        # set while the process ends: clients are told to come back on a new connection, to the next process
        self.is_draining = False
        self.closings = 0  # how many answers told a client to close its connection

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request. It may read the database and wait."""
        host, path = self.host(environ), environ["PATH_INFO"]
        compiled_link = None if is_ours(path) else self.look_up(host, path)
        found = self.find_redirect(compiled_link, environ) if compiled_link is not None else None
        if found is None:
            return self.hand_on(environ, start_response)
        status, headers = found
        texts = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
        start = self.last(start_response) if self.is_draining else start_response
        start(STATUSES[status], texts)
        return NOTHING

    def answer_from_memory(self, environ: WSGIEnvironment) -> Answer | None:
        """The redirect, if its compiled link is in memory; None for all else. Never waits."""
        host = self.host(environ) if self.proxies else environ.get("HTTP_HOST", "")
        path = environ["PATH_INFO"]
        compiled_link = self.compiled_links.spellings.get((host, path))
        if compiled_link is None or compiled_link.is_gone:
            compiled_link = (
                None if is_ours(path) or not is_host(host) else self.compiled_links.find_cached(host, path)
            )
        found = self.find_redirect(compiled_link, environ) if compiled_link is not None else None
        if found is None or not self.is_draining:
            return found
        self.closings += 1
        return found[0], [*found[1], CLOSE_ENCODED]

    def is_in_memory(self, environ: WSGIEnvironment) -> bool:
        """Whether the request is for a link that redirects without a look-up in the database. Never waits."""
        host, path = self.host(environ), environ["PATH_INFO"]
        if is_ours(path) or not is_host(host):
            return False
        compiled_link = self.compiled_links.find_cached(host, path)
        return compiled_link is not None and (compiled_link.is_plain or compiled_link.is_open)

    def host(self, environ: WSGIEnvironment) -> str:
        """The host that the visitor asked for, as the nearest proxy reports it."""
        said: str = environ.get("HTTP_X_FORWARDED_HOST", "") if self.proxies else ""
        return said.rpartition(",")[2].strip() or str(environ.get("HTTP_HOST", ""))

    def names_host(self, environ: WSGIEnvironment) -> bool:
        """Whether the request names a valid host, or none at all, as HTTP/1.0 may."""
        return all(not host or is_host(host) for host in (environ.get("HTTP_HOST", ""), self.host(environ)))

    def look_up(self, host: str, path: str) -> CompiledLink | None:
        links = self.compiled_links
        try:
            links.site(host)  # without it nothing is found in memory
            compiled_link = links.find_cached(host, path)
            if path != "/":
                counters.add("cache hits" if compiled_link is not None else "cache misses")
            return compiled_link or links.read(host, path)
        except StoreDown:
            return None  # the application behind fails in the same way, and shows the error page

    def find_redirect(self, compiled_link: CompiledLink, environ: WSGIEnvironment) -> Answer | None:
        """The redirect, if it can be given here; None if a page or another look-up is needed."""
        if compiled_link.is_plain:
            found = self.plain_redirect(compiled_link, environ)
        else:
            found = self.resolve_redirect(compiled_link, environ) if compiled_link.is_open else None
        if found is None or not self.is_secure(environ):
            return found
        status, headers = found
        return status, [*headers, HSTS_ENCODED]

    def is_secure(self, environ: WSGIEnvironment) -> bool:
        """Whether the visitor asked by https, as the nearest proxy reports it."""
        said: str = environ.get("HTTP_X_FORWARDED_PROTO", "") if self.proxies else ""
        return (said.rpartition(",")[2].strip() or environ["wsgi.url_scheme"]) == "https"

    def resolve_redirect(self, compiled_link: CompiledLink, environ: WSGIEnvironment) -> Answer | None:
        """The redirect for this visitor at this time; None if the answer is something else."""
        method = environ["REQUEST_METHOD"]
        if method not in VISITS or is_prefetch(environ):
            return None
        visitor = self.redirect_context.visitor(environ)
        outcome = resolve(compiled_link, visitor, dt.datetime.now(dt.UTC))
        if outcome.outcome != "redirect" or outcome.location is None:
            return None
        if method == "GET":
            self.redirect_context.record(compiled_link, visitor, outcome.destination)
        return compiled_link.http_status_code, redirect_headers(outcome.location)

    def plain_redirect(self, compiled_link: CompiledLink, environ: WSGIEnvironment) -> Answer | None:
        """The redirect that is the same for all. A GET that is no prefetch is a visit. Statuses that keep the
        method redirect every method."""
        method = environ["REQUEST_METHOD"]
        if method == "GET":
            if is_prefetch(environ):
                return None
            visitor = self.redirect_context.visitor(environ)
            self.redirect_context.record(compiled_link, visitor, compiled_link.location_url)
        elif method != "HEAD" and not compiled_link.keeps_method:
            return None
        return compiled_link.http_status_code, compiled_link.start["headers"]

    def hand_on(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        answer = self.behind(environ, self.last(start_response) if self.is_draining else start_response)
        if environ["REQUEST_METHOD"] not in SAFE:
            self.catch_up()
        return answer

    def catch_up(self) -> None:
        """Poll after a write, so that an owner who changes a link and opens it at once finds it changed."""
        with suppress(StoreDown):  # the poller logs it, and tries again
            self.compiled_links.poll()

    def last(self, start_response: StartResponse) -> StartResponse:
        def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
            self.closings += 1
            return start_response(status, [*headers, CLOSE], *exc_info)

        return start


known_browser = encode_browser.from_cache


# see docs/decisions/2026-11-25-processor-time-of-requests.md
class FastPath:
    """Answers most redirects without an environ and without a `Visitor`, and never waits.

    It takes requests as the server has them, as scopes of ASGI: a GET of a link in memory that sends all
    visitors to one address, if nothing about the request is unusual. `Front` answers and records the same
    request in the same way, in twice as many steps, and takes all others; tests/redirects/test_fast_path.py
    compares the two.

    Functions that do little are not called here but written out: calls were a tenth of a redirect.
    """

    def __init__(self, front: Front) -> None:
        self.front, self.redirect_context = front, front.redirect_context
        self.compiled_links = front.compiled_links
        # the operator's proxies say in headers of theirs who the visitor is, and what was asked for
        self.is_open = not (front.proxies or front.redirect_context.country_key)

    def answer(self, scope: Mapping[str, Any]) -> Message | None:
        """Record a visit. Returns the message that begins its answer, which has no body; None if `Front` has
        to answer."""
        sent, query, path = scope["headers"], scope["query_string"], scope["raw_path"].decode("latin-1")
        headers: dict[bytes, bytes] = dict(sent)
        if (
            not self.is_open
            or scope["method"] != "GET"
            or scope["scheme"] != "http"
            or "%" in path
            or (query and b"utm_" in query)  # to look into bytes takes five times as long as into a text
            or len(headers) != len(sent)  # one was sent twice
            or not PREFETCH_HEADERS.isdisjoint(headers)
            or self.front.is_draining
        ):
            return None
        told = headers.get
        compiled_link = self.compiled_links.spellings.get((told(b"host", b"").decode("latin-1"), path))
        if compiled_link is None or compiled_link.is_gone or not compiled_link.is_plain:
            return None
        try:
            browser = known_browser(
                told(b"user-agent", b""), told(b"accept-language", b""), told(b"referer", b"")
            )
        except TooLongError:
            return None
        context, address = self.redirect_context, scope["client"][0]
        location, ending = context.geolocation.find(address), compiled_link.line_ending
        context.journal.append(context.encode_visit(compiled_link, browser, address, location, ending))
        return compiled_link.start
