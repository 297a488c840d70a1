"""Line format of the journal: encodes and decodes one visit.

A line is `LF crc32 SP fields LF`. The leading LF confines what an earlier, torn write left behind; the
checksum finds damage. Fields are separated by TAB. They hold no control characters, because encoding
replaces those by spaces: so nothing has to be escaped, and readers get clean text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import getitem
from typing import NamedTuple, cast
from zlib import crc32


class Visit(NamedTuple):
    """What is known of one visit. An empty text is "unknown"; there is no field for an IP address."""

    time_ms: int
    link_id: int
    workspace_id: int
    is_bot: int
    bot_name: str = ""
    visitor: str = ""
    country_code: str = ""
    continent_code: str = ""
    city_name: str = ""
    agent: str = ""
    language: str = ""
    referrer_host: str = ""
    referrer_path: str = ""
    utm_source: str = ""
    utm_medium: str = ""
    utm_campaign: str = ""
    destination: str = ""


class Format(NamedTuple):
    """Decoders for the lines of one version. `head` returns only (link_id, is_bot). None: damaged."""

    decode: Callable[[bytes], Visit | None]
    head: Callable[[bytes], tuple[int, int] | None]


# characters at most, of bot_name … destination, in the order above
LIMITS = (64, 16, 2, 2, 128, 512, 35, 255, 512, 256, 256, 256, 2048)
CUTS = tuple(slice(limit) for limit in LIMITS)  # made once: this runs for every visit
LIMIT = dict(zip(Visit._fields[-len(LIMITS) :], CUTS, strict=True))
LONGEST_LINE = 32 * 1024  # more than all of them in four-byte characters: a longer line is damage
NUMBERS = 4
NO_UTM = "\t\t"  # three empty fields

# C0, DEL, C1, and the two separators that some programs take for the end of a line
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def encode(visit: Visit) -> bytes:
    """The line for a visit, in UTF-8. Its texts may hold anything: they are cut and cleaned."""
    texts: list[str] = list(map(getitem, cast("tuple[str, ...]", visit[NUMBERS:]), CUTS))
    if not "".join(texts).isprintable():  # nearly always printable, and far cheaper to check than to clean
        texts = [clean(text) for text in texts]
    numbers = f"{visit.time_ms:d}\t{visit.link_id:d}\t{visit.workspace_id:d}\t{visit.is_bot:d}"
    return framed("\t".join((numbers, *texts)))


def framed(fields: str) -> bytes:
    """The line for fields that are already joined. Every text must have been through `cleaned`."""
    data = fields.encode()
    return b"\n%08x %b\n" % (crc32(data), data)


def cleaned(name: str, text: str) -> str:
    """The text as the field of that name holds it: cut and without control characters."""
    text = text[LIMIT[name]]
    return text if text.isprintable() else clean(text)


def encode_ending(destination: str, utm: str = NO_UTM) -> str:
    """The fields of a line from `utm_source` to its end. `utm`: the three parameters as the line has them."""
    return f"{utm}\t{cleaned('destination', destination)}"


def clean(text: str) -> str:
    """Replace control characters by spaces; half a surrogate pair, which UTF-8 can't hold, becomes U+FFFD."""
    return CONTROL.sub(" ", text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def sound(line: bytes) -> bytes | None:
    """The fields of a line (given without its LFs) if its checksum is right, else None."""
    fields = line[9:]
    return fields if line[:9] == b"%08x " % crc32(fields) else None


def decode_v1(line: bytes) -> Visit | None:
    fields = sound(line)
    if fields is None:
        return None
    try:
        texts = fields.decode().split("\t")
        visit = Visit(*map(int, texts[:NUMBERS]), *texts[NUMBERS:])  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None
    return visit if len(texts) == len(Visit._fields) else None


def head_v1(line: bytes) -> tuple[int, int] | None:
    fields = sound(line)
    if fields is None:
        return None
    try:
        _time, link_id, _workspace, is_bot, _rest = fields.split(b"\t", NUMBERS)
        return int(link_id), int(is_bot)
    except ValueError:
        return None


decode = decode_v1

# by the suffix of a segment's name; a decoder stays for as long as an instance may still have such a file
FORMATS = {".v1": Format(decode_v1, head_v1)}
NEWEST = ".v1"
