"""Envelopes of API responses: data, page information and links to other pages."""

# see docs/decisions/2026-11-20-api-answers.md
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from flask import Response, request

from app.input.listing import Page
from app.web import urls
from app.web.body import read_list_query

JSON = "application/json"
MAX_LINK_HEADER = 8000


def json_response(
    body: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """`body` as a JSON response, its keys in their order."""
    return Response(json.dumps(body, ensure_ascii=False), status, headers, content_type=JSON)


def prefers_whole() -> bool:
    """Whether the request has `Prefer: return=representation`.

    RFC 7240 allows several preferences, several headers, and any case.
    """
    wanted = ",".join(request.headers.getlist("Prefer")).replace('"', "").replace(" ", "").lower()
    return "return=representation" in [part.split(";")[0] for part in wanted.split(",")]


def listed(page: Page[Any], rows: Sequence[Mapping[str, Any]]) -> Response:
    """One page of a list, with links to its neighbours in the body and in a `Link` header (RFC 8288)."""
    links = neighbours(page)
    body = {"data": rows, "meta": meta(page), "links": links}
    return json_response(body, headers={"Link": link_header(links)})


def link_header(links: Mapping[str, str | None]) -> str:
    """The `Link` header: all neighbours, or only those that fit if the query is very long.

    Clients page by `next` and `prev`, which always fit. Many proxies and clients take at most 8 or 16 KiB of
    headers, and would refuse the whole response.
    """
    found = ""
    for name in ("next", "prev", "first", "last", "self"):
        one = f'<{links[name]}>; rel="{name}"' if links[name] else ""
        longer = ", ".join(filter(None, (found, one)))
        found = longer if len(longer) <= MAX_LINK_HEADER else found
    return found


def meta(page: Page[Any]) -> dict[str, int]:
    return {
        "page": page.page,
        "results_per_page": page.results_per_page,
        "total": page.total,
        "total_pages": page.total_pages,
    }


def neighbours(page: Page[Any]) -> dict[str, str | None]:
    numbers = {"first": 1, "last": page.total_pages, "next": page.next, "prev": page.prev, "self": page.page}
    rest = [(name, value) for name, value in read_list_query() if name != "page"]
    base = f"{urls.dashboard_site()}{request.path.rstrip('/')}"
    return {
        name: f"{base}?{urlencode([*rest, ('page', number)])}" if number else None
        for name, number in numbers.items()
    }
