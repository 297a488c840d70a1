"""In what wrapping does an answer of the API come?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from flask import Response, request

from app import own_addresses
from app.bodies import read_list_query
from app.lists import Page

JSON = "application/json"
MAX_LINK_HEADER = 8000


def answer(body: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """`body` as JSON, its keys in their order."""
    return Response(json.dumps(body, ensure_ascii=False), status, headers, content_type=JSON)


def written(data: Mapping[str, Any], status: int, location: str | None = None) -> Response:
    """The answer to a create or an update: ids, or the whole object where that was preferred."""
    headers = {"Location": location} if location else {}
    return answer({"data": data}, status, headers)


def prefers_whole() -> bool:
    """`Prefer: return=representation` (RFC 7240: several preferences, several headers, any case)."""
    wanted = ",".join(request.headers.getlist("Prefer")).replace('"', "").replace(" ", "").lower()
    return "return=representation" in [part.split(";")[0] for part in wanted.split(",")]


def listed(page: Page[Any], rows: Sequence[Mapping[str, Any]]) -> Response:
    """One page of a list; its neighbours stand in the body and in a `Link` header (RFC 8288)."""
    links = neighbours(page)
    body = {"data": rows, "meta": meta(page), "links": links}
    return answer(body, headers={"Link": link_header(links)})


def link_header(links: Mapping[str, str | None]) -> str:
    """The neighbours for a header; all of them unless the query is very long.

    Programs page by `next` and `prev`, which fit always. Many proxies and clients take no more than 8 or
    16 KiB of headers, and would lose the whole answer.
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
    base = f"{own_addresses.owners_site()}{request.path.rstrip('/')}"
    return {
        name: f"{base}?{urlencode([*rest, ('page', number)])}" if number else None
        for name, number in numbers.items()
    }
