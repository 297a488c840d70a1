"""Names of cookies: on https they carry the prefix that browsers enforce.

Behind a proxy only the request knows its scheme, so a name is made anew with each request.
"""

from __future__ import annotations

from flask import request


def host_cookie(name: str) -> str:
    """Name of a cookie with `Path=/` and no domain: no response over http, and no other host, can set it."""
    return f"__Host-{name}" if request.is_secure else name


def secure_cookie(name: str) -> str:
    """Name of a cookie with another path: no response over http can set it."""
    return f"__Secure-{name}" if request.is_secure else name
