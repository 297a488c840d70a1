"""Prepared answers that refuse a request: too busy, too slow, no host, no space.

Under a flood they must cost next to nothing. Pages are rendered once at the start, in each language of
visitors' pages; for the API they are problem details.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass

from flask import Flask

from app.core.errors import FieldError
from app.http_server.answers import count_request, send_whole
from app.http_server.environ import Environ
from app.http_server.granian_worker import AsgiProtocol
from app.i18n.languages import every_language, first_of
from app.public import answers, csp
from app.redirects.visitor import LONGEST_LANGUAGES, languages
from app.redirects.wsgi import Front
from app.web import security_headers
from app.web.errors import PROBLEM, ErrorAnswer, described
from app.web.request_log import request_id_of
from app.web.security_headers import HSTS

RETRY_SECONDS = 2
LOG_SECONDS = 60.0
CLOSE = ("Connection", "close")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Refusal:
    """One kind of refusal. `page` names its texts for visitors. `is_last`: it ends the connection."""

    page: str
    status: str
    title: str
    code: str
    is_last: bool = False


BUSY = Refusal("busy", "503 Service Unavailable", "Too many requests at once; try again in a moment.", "busy")
CUT = Refusal("busy", BUSY.status, BUSY.title, BUSY.code, is_last=True)
SLOW = Refusal(
    "slow", "408 Request Timeout", "The request took too long to arrive.", "too_slow", is_last=True
)
NO_HOST = Refusal("no_host", "400 Bad Request", "The Host header names no host.", "malformed")
FULL = Refusal("down", "507 Insufficient Storage", "There is no space left to store this.", "storage_full")
REFUSALS = (FULL, BUSY, CUT, SLOW, NO_HOST)


class Refusals:
    """Prepares refusals and sends them. Logs one line a minute of each kind."""

    def __init__(self, app: Flask, front: Front) -> None:
        self.is_secure = front.is_secure
        self.silent_until: dict[str, float] = {}
        with app.app_context():
            self.policy = csp.format_policy(csp.base_policy())
            self.pages = render_pages()

    def send(self, proto: AsgiProtocol, environ: Environ, kind: Refusal, more: str = "") -> None:
        self.complain(kind, more)
        path = environ["PATH_INFO"]
        count_request(path, kind.status)
        is_api = security_headers.is_api(path)
        body, about = self.problem(kind, path) if is_api else self.html_page(kind, environ)
        request_id = request_id_of(environ.get("HTTP_X_REQUEST_ID", ""))
        always = [
            ("Cache-Control", "no-store"),
            *security_headers.ALWAYS.items(),
            ("X-Request-Id", request_id),
        ]
        retry = [("Retry-After", str(RETRY_SECONDS))] if kind.status.startswith("503") else []
        more_about = [*([HSTS] if self.is_secure(environ) else []), *([CLOSE] if kind.is_last else [])]
        send_whole(proto, kind.status, [*about, *always, *retry, *more_about], body)

    def problem(self, kind: Refusal, path: str) -> tuple[bytes, list[tuple[str, str]]]:
        failure = ErrorAnswer(int(kind.status[:3]), [FieldError(kind.title, kind.code)])
        about = {**security_headers.API, "Content-Type": PROBLEM}
        del about["Cache-Control"]
        return json.dumps(described(failure, path)).encode(), list(about.items())

    def html_page(self, kind: Refusal, environ: Environ) -> tuple[bytes, list[tuple[str, str]]]:
        asked = environ.get("HTTP_ACCEPT_LANGUAGE", "")[:LONGEST_LANGUAGES]
        about = [
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Security-Policy", self.policy),
            ("X-Robots-Tag", "noindex"),
            ("Vary", "Accept-Language"),
        ]
        return self.pages[kind.page, first_of(every_language(), languages(asked))], about

    def complain(self, kind: Refusal, more: str) -> None:
        now = time.monotonic()
        if now >= self.silent_until.get(kind.page, 0.0):
            self.silent_until[kind.page] = now + LOG_SECONDS
            log.warning("requests are refused: %s", " ".join(filter(None, (kind.title, more))))


def render_pages() -> dict[tuple[str, str], bytes]:
    """The page of each refusal in each language of visitors' pages."""
    return {
        (kind.page, language): answers.plain_page(kind.page, language).encode()
        for kind in REFUSALS
        for language in every_language()
    }
