"""Content security policies of visitors' pages."""

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


def base_policy() -> Directives:
    """The base policy: one style, allowed by its digest, and no request to anywhere."""
    return {
        "default-src": NONE,
        "style-src": f"'{digest_of(STYLE)}'",
        "img-src": "data:",
        "base-uri": NONE,
        "form-action": NONE,
        "frame-ancestors": NONE,
    }


def nonce() -> str:
    """A nonce for the inline scripts of one response."""
    return secrets.token_urlsafe(16)


def with_form() -> Directives:
    """The directives of a page with a form.

    It has no `form-action`: browsers apply that also to redirects after the form, and so to the destination.
    """
    return {"form-action": None, "script-src": f"'{digest_of(SEND_ONCE)}'"}


@cache
def digest_of(template: str) -> str:
    """The CSP digest of a template that pages include unchanged."""
    text = current_app.jinja_env.get_template(template).render().encode()
    return f"sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}"


def merge(*parts: Directives) -> dict[str, str | None]:
    """The policy that allows what any part allows. None in a later part removes a directive altogether."""
    found: dict[str, str | None] = {}
    for part in parts:
        for name, sources in part.items():
            found[name] = None if sources is None else merge_sources(found.get(name), sources)
    return found


def merge_sources(one: str | None, other: str) -> str:
    """The union of two source lists.

    With 'unsafe-inline', nonces and digests are dropped: beside them browsers would ignore 'unsafe-inline'.
    """
    sources = dict.fromkeys(f"{one or ''} {other}".split())
    if len(sources) > 1:
        sources.pop(NONE, None)
    if ANY_INLINE in sources:
        sources = {source: None for source in sources if not source.startswith(INLINE)}
    return " ".join(sources)


def format_policy(directives: Directives) -> str:
    return "; ".join(
        f"{name} {sources}".strip() for name, sources in directives.items() if sources is not None
    )
