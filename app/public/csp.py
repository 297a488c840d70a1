"""What may each of a visitor's pages load, from where, and where may it be shown?"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Mapping
from functools import cache

from flask import current_app

Directives = Mapping[str, str | None]

STYLE = "public/_style.css"
SEND_ONCE = "public/_send_once.js"
NONE = "'none'"
ANY_INLINE = "'unsafe-inline'"
INLINE = ("'nonce-", "'sha256-")


def closed() -> Directives:
    """Nothing but the page itself: one style, known by its digest, and no request to anywhere."""
    return {
        "default-src": NONE,
        "style-src": f"'{digest_of(STYLE)}'",
        "img-src": "data:",
        "base-uri": NONE,
        "form-action": NONE,
        "frame-ancestors": NONE,
    }


def nonce() -> str:
    """What an inline script of one answer must bear to run."""
    return secrets.token_urlsafe(16)


def with_form() -> Directives:
    """What a page with a form needs. Browsers apply `form-action` also to where the form's answer leads in
    the end, which is the destination."""
    return {"form-action": None, "script-src": f"'{digest_of(SEND_ONCE)}'"}


@cache
def digest_of(template: str) -> str:
    """Of what stands in a page as it is in its file."""
    text = current_app.jinja_env.get_template(template).render().encode()
    return f"sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}"


def united(*parts: Directives) -> dict[str, str | None]:
    """All that any of the parts allows. None in a later part takes a directive out: anything goes there."""
    found: dict[str, str | None] = {}
    for part in parts:
        for name, sources in part.items():
            found[name] = None if sources is None else together(found.get(name), sources)
    return found


def together(one: str | None, other: str) -> str:
    """A nonce or digest beside 'unsafe-inline' would make browsers ignore the latter, so it goes."""
    sources = dict.fromkeys(f"{one or ''} {other}".split())
    if len(sources) > 1:
        sources.pop(NONE, None)
    if ANY_INLINE in sources:
        sources = {source: None for source in sources if not source.startswith(INLINE)}
    return " ".join(sources)


def written(directives: Directives) -> str:
    return "; ".join(
        f"{name} {sources}".strip() for name, sources in directives.items() if sources is not None
    )
