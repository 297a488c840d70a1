"""The fast path: most redirects are answered without an environ and without a `Visitor`.

It takes a GET of a link in memory that sends all visitors to one address, if nothing about the request is
unusual. `Front` answers and records the same request in the same way, in twice as many steps, and takes all
others; tests/redirects/test_fast_path.py compares the two.
"""

# see docs/decisions/2026-11-25-processor-time-of-requests.md
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.core.caches import TooLongError
from app.redirects.compiled_link import Message
from app.redirects.context import encode_browser
from app.redirects.visitor import PREFETCH_HEADERS
from app.redirects.wsgi import Front

known_browser = encode_browser.from_cache


class FastPath:
    """Answers requests as the server has them, as scopes of ASGI. It never waits.

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
