"""How is a redirect answered in the time of a look-up and one write, with everything else left to Flask?"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from app.visits.desk import Desk
from app.visits.hosts import is_host
from app.visits.paths import is_ours
from app.visits.plan import ALWAYS, HSTS, Headers, Plan
from app.visits.resolve import resolve
from app.visits.store import StoreDown
from app.visits.visitor import is_prefetch

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

Answer = tuple[str, Headers]  # a redirect has no body

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
VISITS = frozenset({"GET", "HEAD"})
CLOSE = ("Connection", "close")
NOTHING: list[bytes] = []


class Front:
    """The WSGI application that is served: redirects itself, all else by the application behind it."""

    def __init__(self, behind: WSGIApplication, desk: Desk) -> None:
        self.behind = behind
        self.desk = desk
        self.plans = desk.plans
        self.proxies = desk.settings.trusted_proxies
        # set while the process ends: clients are told to come back on a new connection, to the next process
        self.is_draining = False
        self.told = 0  # answers with that word

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request, whatever must be looked up or waited for."""
        host, path = self.host(environ), environ["PATH_INFO"]
        plan = None if is_ours(path) else self.look_up(host, path)
        found = self.answer(plan, environ) if plan is not None else None
        if found is None:
            return self.hand_on(environ, start_response)
        status, headers = found
        start_response(status, self.closing(headers) if self.is_draining else headers)
        return NOTHING

    def answer_from_memory(self, environ: WSGIEnvironment) -> Answer | None:
        """The redirect, where its compiled link is at hand; None for all else. Waits for nothing."""
        host = self.host(environ) if self.proxies else environ.get("HTTP_HOST", "")
        path = environ["PATH_INFO"]
        plan = self.plans.spellings.get((host, path))
        if plan is None or plan.is_gone:
            plan = None if is_ours(path) or not is_host(host) else self.plans.find_cached(host, path)
        found = self.answer(plan, environ) if plan is not None else None
        if found is None or not self.is_draining:
            return found
        return found[0], self.closing(found[1])

    def host(self, environ: WSGIEnvironment) -> str:
        """The host that the visitor asked for, as the nearest proxy says it."""
        said: str = environ.get("HTTP_X_FORWARDED_HOST", "") if self.proxies else ""
        return said.rpartition(",")[2].strip() or str(environ.get("HTTP_HOST", ""))

    def names_host(self, environ: WSGIEnvironment) -> bool:
        """Whether the request names a host that there can be, or none at all, as HTTP/1.0 may."""
        return all(not host or is_host(host) for host in (environ.get("HTTP_HOST", ""), self.host(environ)))

    def look_up(self, host: str, path: str) -> Plan | None:
        try:
            return self.plans.find(host, path)
        except StoreDown:
            return None  # the page behind meets the same and says so to the visitor

    def answer(self, plan: Plan, environ: WSGIEnvironment) -> Answer | None:
        """What can be said here and now; None where a page is needed, or something must be looked up."""
        if plan.is_plain:
            found = self.plain(plan, environ)
        else:
            found = self.resolved(plan, environ) if plan.is_open else None
        if found is None or not self.is_secure(environ):
            return found
        status, headers = found
        return status, [*headers, HSTS]

    def is_secure(self, environ: WSGIEnvironment) -> bool:
        """Whether the visitor asked by https, as the nearest proxy says it."""
        said: str = environ.get("HTTP_X_FORWARDED_PROTO", "") if self.proxies else ""
        return (said.rpartition(",")[2].strip() or environ["wsgi.url_scheme"]) == "https"

    def resolved(self, plan: Plan, environ: WSGIEnvironment) -> Answer | None:
        """The redirect that this visitor gets at this time, if that is what he gets."""
        method = environ["REQUEST_METHOD"]
        if method not in VISITS or is_prefetch(environ):
            return None
        visitor = self.desk.visitor(environ)
        outcome = resolve(plan, visitor, dt.datetime.now(dt.UTC))
        if outcome.outcome != "redirect" or outcome.location is None:
            return None
        if method == "GET":
            self.desk.record(plan, visitor, outcome.destination)
        return plan.status, [("Location", outcome.location), *ALWAYS]

    def plain(self, plan: Plan, environ: WSGIEnvironment) -> Answer | None:
        """A GET that is no prefetch is a visit. Statuses that keep the method redirect every method."""
        method = environ["REQUEST_METHOD"]
        if method == "GET":
            if is_prefetch(environ):
                return None
            self.desk.record(plan, self.desk.visitor(environ), plan.location_url)
        elif method != "HEAD" and not plan.keeps_method:
            return None
        return plan.status, plan.headers

    def hand_on(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        answer = self.behind(environ, self.last(start_response) if self.is_draining else start_response)
        if environ["REQUEST_METHOD"] not in SAFE:
            self.catch_up()
        return answer

    def catch_up(self) -> None:
        """Whoever changes a link and opens it at once, here, finds it changed."""
        with suppress(StoreDown):  # the poller says so, and asks again
            self.plans.poll()

    def closing(self, headers: Headers) -> Headers:
        self.told += 1
        return [*headers, CLOSE]

    def last(self, start_response: StartResponse) -> StartResponse:
        def start(status: str, headers: Headers, *exc_info: Any) -> Any:
            return start_response(status, self.closing(headers), *exc_info)

        return start
