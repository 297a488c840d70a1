"""Parsing of hosts that may be an owner's domain.

A host is stored as browsers send it: lower-case, `xn--`, with a port only where that is not the usual one.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import idna

from app.core.caches import cache_texts
from app.core.urls import BadAddress, refuse_unwritable, wire_host
from app.domains.look_alikes import is_look_alike, looks
from app.i18n.messages import lazy_gettext as _l
from app.input.parsers import Rejected

MAX_HOST_LENGTH = 261
SHAPE = re.compile(r"([^\s/?#@:\[\]\\%]+)(?::([0-9]{1,5}))?", re.ASCII)
DOTTED = re.compile(r"[0-9.]+", re.ASCII)
USUAL_PORTS = {80, 443}
LOCAL = "localhost"


def read_host(text: str) -> str:
    """`Gö.Example:443` → `xn--g-1ga.example`. Raises Rejected for a text that can't be a domain."""
    try:
        refuse_unwritable(text, MAX_HOST_LENGTH)
    except BadAddress as bad:
        raise Rejected(str(bad), bad.code) from None
    match = SHAPE.fullmatch(text)
    if text.startswith("[") or text.count(":") > 1:
        raise Rejected(_l("An IP address can't be a domain."), "ip_address")
    if match is None or (port := int(match[2] or 443)) not in range(1, 65536):
        raise Rejected(_l("This must be a host like go.example, perhaps with a port."), "host")
    name = read_name(match[1].removesuffix("."))
    return name if port in USUAL_PORTS else f"{name}:{port}"


def read_name(text: str) -> str:
    try:
        wire = wire_host(text)
        name = (
            wire if DOTTED.fullmatch(wire) else idna.encode(text, uts46=True, std3_rules=True).decode("ascii")
        )
    except ValueError:  # also IDNA's own
        raise Rejected(_l("There can be no such host."), "host") from None
    if DOTTED.fullmatch(name):
        raise Rejected(_l("An IP address can't be a domain."), "ip_address")
    if name == LOCAL:
        raise Rejected(_l("This is the machine itself, for everybody another one."), "own")
    if is_look_alike(idna.decode(name)):
        raise Rejected(_l("This looks like another name, and would be taken for it."), "look_alike")
    return name


def is_like(name: str, others: Collection[str]) -> bool:
    """Whether this host looks like one of `others`: by accents, digits for letters, or foreign letters."""
    return glance(name) in {glance(other) for other in others if other and not DOTTED.fullmatch(other)}


@cache_texts(8192, max_characters=261, bytes_per_entry=1500)
def glance(host: str) -> str:
    """The skeleton of a host: hosts that look alike have the same."""
    return looks(readable(name_of(host)))


def name_of(host: str) -> str:
    """The host without its port."""
    return host.partition(":")[0]


def readable(host: str) -> str:
    """As people read it: `xn--g-1ga.example` → `gö.example`."""
    name, colon, port = host.partition(":")
    try:
        return idna.decode(name) + colon + port
    except idna.IDNAError:
        return host
