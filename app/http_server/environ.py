"""Builds the WSGI environ of an ASGI scope, as granian's own WSGI interface does.

`PATH_INFO` and `QUERY_STRING` hold a character for each byte. Repeated headers are joined by commas, cookies
by semicolons.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

Environ = dict[str, Any]

BASE: Environ = {
    "SCRIPT_NAME": "",
    "wsgi.version": (1, 0),
    "wsgi.errors": sys.stderr,
    "wsgi.multithread": True,
    "wsgi.multiprocess": True,
    "wsgi.run_once": False,
    # the input holds the whole body, or raises an error at reading
    "wsgi.input_terminated": True,
}
WITHOUT_PREFIX = {b"content-type": "CONTENT_TYPE", b"content-length": "CONTENT_LENGTH"}
# what `app.redirects` reads of a request that it answers from memory
VISIT_KEYS = frozenset(
    {
        "HTTP_HOST", "HTTP_USER_AGENT", "HTTP_ACCEPT_LANGUAGE", "HTTP_REFERER", "HTTP_DNT", "HTTP_SEC_GPC",
        "HTTP_SEC_PURPOSE", "HTTP_PURPOSE", "HTTP_X_MOZ",
        "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PROTO",
    }
)  # fmt: skip
MAX_KNOWN_NAMES = 512
MAX_NAME_LENGTH = 64


class HeaderNames(dict[bytes, str]):
    """The environ's key for each header's name. Bounded, because clients can invent names.

    A name with an underscore has none. `X_Forwarded_For` would otherwise be taken for the `X-Forwarded-For`
    of a trusted proxy.
    """

    def __missing__(self, name: bytes) -> str:
        key = WITHOUT_PREFIX.get(name) or "HTTP_" + name.decode("latin-1").upper().replace("-", "_")
        if b"_" in name:
            key = ""
        if len(self) < MAX_KNOWN_NAMES and len(name) <= MAX_NAME_LENGTH:
            self[name] = key
        return key


KEYS = HeaderNames()


def build_environ(scope: Mapping[str, Any]) -> Environ:
    """The environ without `wsgi.input`."""
    environ = {**BASE, **request_line(scope)}
    _, environ["REMOTE_PORT"] = scope["client"]
    environ["SERVER_NAME"], environ["SERVER_PORT"] = scope["server"]
    environ["SERVER_PROTOCOL"] = "HTTP/" + scope["http_version"]
    for name, value in scope["headers"]:
        if key := KEYS[name]:
            text = value.decode("latin-1")
            environ[key] = text if key not in environ else joined(key, environ[key], text)
    return environ


def build_visit_environ(scope: Mapping[str, Any], keys: Mapping[bytes, str]) -> Environ:
    """Only what a redirect reads of a request: half the time. `keys`: of `visit_keys`."""
    environ = request_line(scope)
    for name, value in scope["headers"]:
        if name in keys:
            key, text = keys[name], value.decode("latin-1")
            environ[key] = text if key not in environ else joined(key, environ[key], text)
    return environ


def visit_keys(country_key: str | None) -> dict[bytes, str]:
    """The environ's keys that redirects read, by the headers' names. `country_key` is that of the header
    with the country, if the operator's proxy sends one."""
    keys = {*VISIT_KEYS, country_key} if country_key else VISIT_KEYS
    return {key.removeprefix("HTTP_").replace("_", "-").lower().encode("latin-1"): key for key in keys}


def request_line(scope: Mapping[str, Any]) -> Environ:
    path: bytes = scope["raw_path"]
    return {
        "PATH_INFO": (unquote_to_bytes(path) if b"%" in path else path).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "REQUEST_METHOD": scope["method"],
        "REMOTE_ADDR": scope["client"][0],
        "wsgi.url_scheme": scope["scheme"],
    }


def joined(key: str, first: str, second: str) -> str:
    """The value of a header that was sent twice."""
    return f"{first}{';' if key == 'HTTP_COOKIE' else ','}{second}"
