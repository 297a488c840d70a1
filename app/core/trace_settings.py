"""Parsers of the settings that say where traces are sent.

As in `setting_values`: each takes the text of a setting and returns its value, or raises ValueError.
"""

from __future__ import annotations

import importlib.util
import re
from urllib.parse import unquote, urlsplit, urlunsplit

from app.core.setting_values import web_address

PACKAGE = "opentelemetry.exporter.otlp.proto.http"
TRACES_PATH = "/v1/traces"
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", re.ASCII)


def collector_address(text: str) -> str:
    """An http(s) address that takes OTLP. The usual path is added to one without a path."""
    address = web_address(text)
    if not has_package():
        raise ValueError(
            "needs the packages of OpenTelemetry: .venv/bin/pip install --require-hashes -r"
            " requirements-tracing.txt"
        )
    parts = urlsplit(address)
    return address if parts.path.strip("/") else urlunsplit(parts._replace(path=TRACES_PATH))


def has_package() -> bool:
    try:
        return importlib.util.find_spec(PACKAGE) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False


def collector_headers(text: str) -> tuple[tuple[str, str], ...]:
    """`name=value,name=value`, values percent-encoded, as in OTEL_EXPORTER_OTLP_HEADERS."""
    found = []
    for pair in filter(None, map(str.strip, text.split(","))):
        name, equals, value = pair.partition("=")
        name, value = name.strip(), unquote(value.strip())
        if not (equals and HEADER.fullmatch(name) and value.isascii() and value.isprintable()):
            raise ValueError("must be like name=value,name=value; a comma in a value is %2C")
        found.append((name, value))
    return tuple(found)


def ratio(text: str) -> float:
    """A number from 0 to 1."""
    if not re.fullmatch(r"0|1|[01]?\.\d{1,9}", text, re.ASCII) or float(text) > 1:
        raise ValueError("must be a number from 0 to 1, such as 0.1")
    return float(text)
