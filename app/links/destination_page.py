"""Reads what the page at a destination says of itself: title, description, picture and icons.

Everything goes through `app/net/http.py`, within one deadline, and in bounded sizes. Redirects are followed
by hand: each is a new outbound request with all its checks. What a page says is data of strangers: it is
cleaned and cut here, and escaped where it is shown.
"""

# see docs/decisions/2026-11-24-metadata-of-destinations.md
from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from app.net import http as net_http
from app.net.dial import Deadline
from app.net.http import HttpResponse, NoAnswer
from app.net.networks import Network

MAX_HTML = 512 * 1024  # bytes after decompression; metadata stands at the beginning
MAX_URL = 8192
MAX_ICONS = 50  # that one page may name
HOPS = 5
TITLE_LENGTH, DESCRIPTION_LENGTH = 160, 320  # of the fields that they are for
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
PAGE_HEADERS = {
    "user-agent": "Mozilla/5.0 (compatible; Waypost reads a title)",
    "accept": "text/html,application/xhtml+xml;q=0.9",
}
PICTURE_HEADERS = {**PAGE_HEADERS, "accept": "image/png,image/jpeg,image/webp,image/gif,image/*;q=0.5"}

# Encodings that pages use. Python knows others, of which some take quadratic time.
ENCODING = re.compile(
    r"utf-?8|utf-16(le|be)?|us-ascii|iso-?8859-\d{1,2}|latin-?1|(windows|cp)-?12[5][0-8]|koi8-[ru]|gbk|gb2312"
    r"|gb18030|big5|euc-(jp|kr)|shift[_-]jis|iso-2022-jp|macintosh",
    re.ASCII | re.IGNORECASE,
)
CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)
CHARSET_WITHIN = 1024  # bytes, where HTML wants the declaration
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# marks that turn the direction of all that follows, and invisible fillers
TURNING = frozenset(
    "\u061c\u200b\u200e\u200f\u2060\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)

# whether the library knows that markup in a title is text; before, it must be told
READS_TITLES = hasattr(HTMLParser, "RCDATA_CONTENT_ELEMENTS")

TITLES = ("og:title", "twitter:title")
DESCRIPTIONS = ("og:description", "twitter:description", "description")
PICTURES = ("og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src")


class NotAPage(Exception):
    """What is at the address is no HTML."""


class Refused(Exception):
    """The server answered with an error."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Icon(NamedTuple):
    """An icon that a page names. `size` is its width, 0 where the page does not say."""

    url: str
    size: int
    is_touch: bool


@dataclass
class DestinationPage:
    """What a page says of itself, each "" where it says nothing. Addresses are absolute."""

    url: str  # after redirects
    title: str = ""
    description: str = ""
    picture_url: str = ""
    icons: Sequence[Icon] = ()


# --- fetching


def fetch(
    url: str, headers: Mapping[str, str], allowed: Sequence[Network], deadline: Deadline, limit: int
) -> tuple[str, HttpResponse]:
    """The answer at `url` after its redirects, and its address. Raises NoAnswer, TimeoutError."""
    for _ in range(HOPS + 1):
        answer = net_http.request(
            "GET", url, headers=headers, allowed=allowed, seconds=deadline.left(), limit=limit
        )
        target = net_http.redirect_target(url, answer)
        if target is None:
            return url, answer
        url = target
    raise NoAnswer("too_many_redirects", "", deadline.spent_ms())


def read_page(
    url: str, allowed: Sequence[Network], deadline: Deadline, languages: str = ""
) -> DestinationPage:
    """The page at `url`. Raises NoAnswer, TimeoutError, Refused, NotAPage."""
    headers = {**PAGE_HEADERS, **({"accept-language": languages} if languages else {})}
    url, answer = fetch(url, headers, allowed, deadline, MAX_HTML)
    if answer.status >= 400:
        raise Refused(answer.status)
    content_type = (answer.header("content-type") or "").partition(";")[0].strip().lower()
    if answer.status != 200 or content_type not in HTML_TYPES:
        raise NotAPage
    return parse_page(url, decode(answer.body, answer.header("content-type") or ""))


def download_picture(url: str, allowed: Sequence[Network], deadline: Deadline, limit: int) -> bytes | None:
    """The bytes at `url`; None where there are none, or too many. Raises NoAnswer, TimeoutError."""
    _, answer = fetch(url, PICTURE_HEADERS, allowed, deadline, limit + 1)
    return answer.body if answer.status == 200 and 0 < len(answer.body) <= limit else None


# --- reading


def decode(body: bytes, content_type: str) -> str:
    """The text of a page. The mark of the byte order comes first, then the header, then the page itself."""
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if body.startswith(mark):
            return body.decode(encoding, "replace").removeprefix("\ufeff")
    for source in (content_type.encode("latin-1", "replace"), body[:CHARSET_WITHIN]):
        match = CHARSET.search(source)
        if match and (named := known_encoding(match[1].decode("ascii"))):
            return body.decode(named, "replace")
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        # what the limit has cut within a character is no other encoding
        return body.decode("utf-8" if error.start > len(body) - 4 else "cp1252", "replace")


def known_encoding(name: str) -> str | None:
    """The encoding of that name as browsers take it; None for one that no page has."""
    if not ENCODING.fullmatch(name):
        return None
    name = name.lower()
    if name in {"us-ascii", "iso-8859-1", "iso8859-1", "latin1", "latin-1"}:
        return "cp1252"
    if name.startswith("utf-16"):
        return "utf-8"  # a page whose declaration could be read as ASCII is not in UTF-16
    if name in {"gbk", "gb2312"}:
        return "gb18030"
    name = name.replace("windows-", "cp").replace("macintosh", "mac_roman")
    try:
        b"".decode(name)
    except LookupError:
        return None
    return name


@dataclass
class Found:
    """What a page's head has: the first of each `<meta>`, its title, its base and its icons."""

    metas: dict[str, str] = field(default_factory=dict)
    title: str | None = None
    base: str = ""
    icons: list[dict[str, str]] = field(default_factory=list)


class HeadIsOver(Exception):
    """The head of the page has ended: nothing behind it is read."""


class HeadParser(HTMLParser):
    """Collects what is in the head of a page. Raises HeadIsOver."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found = Found()
        self.title_parts: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            raise HeadIsOver
        named = {name: value or "" for name, value in reversed(attrs)}  # the first of a name counts
        if tag == "meta":
            name = (named.get("property") or named.get("name") or "").strip().lower()
            if name and (content := named.get("content", "").strip()):
                self.found.metas.setdefault(name, content)
        elif tag == "title" and self.found.title is None:
            self.title_parts = []
            if not READS_TITLES:
                self.set_cdata_mode(tag)
        elif tag == "base":
            self.found.base = self.found.base or named.get("href", "").strip()
        elif tag == "link" and "icon" in named.get("rel", "").lower() and len(self.found.icons) < MAX_ICONS:
            self.found.icons.append(named)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title" and self.title_parts is not None:
            title, self.title_parts = "".join(self.title_parts), None
            self.found.title = title if READS_TITLES else unescape(title)
        elif tag == "head":
            raise HeadIsOver

    def handle_data(self, data: str) -> None:
        if self.title_parts is not None:
            self.title_parts.append(data)


def parse_page(url: str, text: str) -> DestinationPage:
    """What the HTML at `url` says of itself, however broken it is."""
    parser = HeadParser()
    # AssertionError is the library's word for markup that it can't read: what came before counts
    with suppress(HeadIsOver, AssertionError):
        parser.feed(text)
    found = parser.found
    base = absolute(url, found.base) or url
    return DestinationPage(
        url,
        clean(first_of(found.metas, TITLES) or found.title or "", TITLE_LENGTH),
        clean(first_of(found.metas, DESCRIPTIONS), DESCRIPTION_LENGTH),
        absolute(base, first_of(found.metas, PICTURES)),
        icons_of(found.icons, base),
    )


def first_of(metas: Mapping[str, str], names: Sequence[str]) -> str:
    return next((metas[name] for name in names if name in metas), "")


def icons_of(links: Sequence[Mapping[str, str]], base: str) -> list[Icon]:
    """The icons that can be decoded: all but SVG."""
    icons = []
    for link in links:
        rels = set(link.get("rel", "").lower().split())
        url = absolute(base, link.get("href", ""))
        is_drawing = "svg" in link.get("type", "").lower() or urlsplit(url).path.lower().endswith(".svg")
        is_touch = any(rel.startswith("apple-touch-icon") for rel in rels)
        if url and not is_drawing and (is_touch or "icon" in rels):
            sizes = [
                int(width)
                for width in re.findall(r"(\d{1,4})x\d{1,4}", link.get("sizes", ""), re.ASCII | re.I)
            ]
            icons.append(Icon(url, max(sizes, default=0), is_touch))
    return icons


def absolute(base: str, address: str) -> str:
    """An http(s) address, absolute; "" for any other one."""
    if not address.strip():
        return ""
    try:
        url = urljoin(base, address.strip())
        parts = urlsplit(url)
        is_good = parts.scheme in {"http", "https"} and bool(parts.hostname) and url.isprintable()
    except ValueError:
        return ""
    return url if is_good and len(url) <= MAX_URL else ""


def clean(text: str, most: int) -> str:
    """A line of at most `most` characters, without controls and without marks that turn the direction."""
    kept = "".join(
        " " if unicodedata.category(c) in {"Cc", "Zl", "Zp"} else c
        for c in text[: most * 20]
        if unicodedata.category(c) not in {"Cs", "Co", "Cn"} and c not in TURNING
    )
    line = unicodedata.normalize("NFC", " ".join(kept.split()))
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
