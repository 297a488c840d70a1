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
    environ = BASE.copy()
    path: bytes = scope["raw_path"]
    environ["PATH_INFO"] = (unquote_to_bytes(path) if b"%" in path else path).decode("latin-1")
    environ["QUERY_STRING"] = scope["query_string"].decode("latin-1")
    environ["REQUEST_METHOD"] = scope["method"]
    environ["REMOTE_ADDR"], environ["REMOTE_PORT"] = scope["client"]
    environ["SERVER_NAME"], environ["SERVER_PORT"] = scope["server"]
    environ["SERVER_PROTOCOL"] = "HTTP/" + scope["http_version"]
    environ["wsgi.url_scheme"] = scope["scheme"]
    for name, value in scope["headers"]:
        key, text = KEYS[name], value.decode("latin-1")
        if not key:
            continue
        if key in environ:
            text = f"{environ[key]}{';' if key == 'HTTP_COOKIE' else ','}{text}"
        environ[key] = text
    return environ
