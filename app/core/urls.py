"""Parser of absolute addresses (URLs): scheme, host in its wire form, port and path.

Nothing is repaired: what browsers would silently repair (`https:\\\\host`, a tab inside) is refused, so that
what is checked here is what a browser later opens. The text itself is kept as it was typed.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

import idna

from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l

WEB = frozenset({"http", "https"})
# these run or read something in the page or machine they are opened on; no setting may allow them
NEVER = frozenset({"javascript", "data", "vbscript", "file", "blob", "about"})
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):", re.ASCII)
# user information, host in brackets or not, port: all of the authority but what follows the first / ? #
AUTHORITY = re.compile(r"(?:[^/?#\\@]*@)?(\[[0-9A-Fa-f:.]+\]|[^/?#\\@:\[\]]+)(?::([0-9]{0,5}))?", re.ASCII)
LABEL = re.compile(r"[a-z0-9_-]{1,63}", re.ASCII)
NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+", re.ASCII)
PORTS = {"http": 80, "https": 443}


class BadAddress(ValueError):
    """The text is not an address that may be used. `str()` says why for people, `code` for programs."""

    def __init__(self, text: str, code: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class Address:
    """The parts of an address. `host` is in its wire form: lower-case ASCII, `xn--`, IPv6 in brackets."""

    scheme: str
    host: str
    port: int | None
    path: str

    @property
    def netloc(self) -> str:
        """`host`, with the port unless that is 80 or 443, whichever the scheme."""
        return self.host if self.port in {None, 80, 443} else f"{self.host}:{self.port}"


def read_address(text: str, most: int, schemes: Collection[str] = WEB) -> Address:
    """The parts of `text`. Raises BadAddress unless it has one of these schemes and a host.

    A scheme beside http and https, which an operator has allowed, needs no host (`mailto:me@example.com`).
    """
    refuse_unwritable(text, most)
    match = SCHEME.match(text)
    scheme = match[1].lower() if match else ""
    if match is None or scheme in NEVER or scheme not in schemes:
        allowed = " or ".join(f"{one}://" if one in WEB else f"{one}:" for one in sorted(schemes))
        raise BadAddress(
            _l("This must be an address that begins with %(allowed)s", allowed=allowed), "scheme"
        )
    rest = text[match.end() :]
    if rest.startswith("//"):
        return with_authority(scheme, rest[2:])
    if scheme in WEB or not rest:
        raise BadAddress(_l("This address has no host."), "host")
    return Address(scheme, "", None, rest)


def split_address(text: str) -> SplitResult:
    """The parts of an untrusted address; empty ones for an address that can't be split.

    `urlsplit` raises ValueError for some, also for destinations that browsers open (`http://[a@example.com/`).
    """
    try:
        return urlsplit(text)
    except ValueError:
        return NO_PARTS


NO_PARTS = SplitResult("", "", "", "", "")


def host_of(text: str) -> str:
    """The host that browsers open for an address, in its wire form; empty where it names none."""
    match = SCHEME.match(text)
    rest = text[match.end() :] if match else ""
    try:
        return with_authority("", rest[2:]).host if rest.startswith("//") else ""
    except BadAddress:
        return ""


def refuse_unwritable(text: str, most: int) -> None:
    if len(text) > most:
        raise BadAddress(
            _l(
                "This may have at most %(most)s characters; it has %(number)s.",
                most=lazy_digits(most),
                number=lazy_digits(len(text)),
            ),
            "too_long",
        )
    if any(c.isspace() for c in text):
        raise BadAddress(_l("An address can't contain white space."), "white_space")
    if any(unicodedata.category(c) in {"Cc", "Cs"} for c in text):
        raise BadAddress(_l("This contains control characters."), "control_characters")


def with_authority(scheme: str, rest: str) -> Address:
    authority, path = split_authority(rest)
    match = AUTHORITY.fullmatch(authority)
    if match is None:
        raise BadAddress(_l("This address has no host, or one that can't be read."), "host")
    port = int(match[2]) if match[2] else None
    if port is not None and port > 65535:
        raise BadAddress(_l("The port of this address is none."), "port")
    try:
        return Address(scheme, wire_host(match[1]), port, path)
    except ValueError:
        raise BadAddress(_l("The host of this address can't exist."), "host") from None


def split_authority(rest: str) -> tuple[str, str]:
    end = re.search(r"[/?#]", rest)
    return (rest[: end.start()], rest[end.start() :]) if end else (rest, "")


def wire_host(host: str) -> str:
    """A host as it is compared and dialled: `xn--` labels, a dotted IPv4, a short IPv6 in brackets.

    Raises ValueError where no such host can exist. Follows browsers (UTS #46, not the stricter rules for
    registering names), so that `my_host` and names with emoji, which exist, are hosts. A host whose last
    label is a number is an IPv4 address in any of its spellings, or invalid.
    """
    if host.startswith("["):
        return f"[{short_ipv6(ipaddress.IPv6Address(host[1:-1]))}]"
    plain = host.isascii()
    mapped = host.lower() if plain else idna.uts46_remap(host, std3_rules=False, transitional=False)
    labels = mapped.removesuffix(".").split(".")
    if NUMBER.fullmatch(labels[-1]):
        return str(read_ipv4(labels))
    wire = ".".join(wire_label(label) for label in labels)
    if len(wire) > 253:
        raise ValueError
    return wire


def short_ipv6(address: ipaddress.IPv6Address) -> str:
    """As browsers write it, also around an IPv4 address, which Python writes with dots from 3.13 on."""
    inner = address.ipv4_mapped
    return f"::ffff:{int(inner) >> 16:x}:{int(inner) & 0xFFFF:x}" if inner else address.compressed


def wire_label(label: str) -> str:
    wire = label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")
    if not LABEL.fullmatch(wire):
        raise ValueError
    return wire


def read_ipv4(labels: list[str]) -> ipaddress.IPv4Address:
    """One to four numbers, each decimal, octal (`010`) or hexadecimal (`0xa`); the last fills the rest."""
    *first, last = [read_number(label) for label in labels]
    if len(first) > 3 or any(number > 255 for number in first) or last >= 256 ** (4 - len(first)):
        raise ValueError
    return ipaddress.IPv4Address(last + sum(number << 8 * (3 - i) for i, number in enumerate(first)))


def read_number(label: str) -> int:
    if not NUMBER.fullmatch(label) or len(label) > 40:
        raise ValueError
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8 if len(label) > 1 and label.startswith("0") else 10)
