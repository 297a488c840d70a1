"""The journal's line format: visits are decoded as they were encoded, and damage is found."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.journal.codec import LIMITS, LONGEST_LINE, NUMBERS, Visit, decode, encode, head_v1

VISIT = Visit(
    time_ms=1_795_000_000_123,
    link_id=12_345,
    workspace_id=7,
    is_bot=0,
    visitor="AbCd-fGh_jk",
    country_code="DE",
    continent_code="EU",
    city_name="Köln",
    agent="Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
    language="de",
    referrer_host="news.example",
    referrer_path="/2026/a%20story",
    utm_source="newsletter",
    utm_medium="email",
    utm_campaign="spring 🌷",
    destination="https://example.com/a?b=c#d",
)


def stored(**fields: Any) -> Visit:
    visit = decode(encode(VISIT._replace(**fields)).strip(b"\n"))
    assert visit is not None
    return visit


def sealed(fields: bytes) -> bytes:
    return b"%08x %b" % (crc32(fields), fields)


KEPT = {
    "as it is": VISIT,
    "nothing known": Visit(0, 1, 1, 1),
    "a bot by name": VISIT._replace(is_bot=1, bot_name="Googlebot"),
    "backslashes": VISIT._replace(agent="a\\tb\\nc\\", referrer_path="\\\\"),
    "spaces at both ends": VISIT._replace(city_name=" x "),
    "wide spaces and private characters": VISIT._replace(agent="a\u00a0b\u3000c\ue000"),
    "largest numbers": VISIT._replace(time_ms=2**63 - 1, link_id=2**63 - 1),
}


@pytest.mark.parametrize("visit", KEPT.values(), ids=KEPT.keys())
def test_a_visit_comes_back(visit: Visit) -> None:
    assert decode(encode(visit).strip(b"\n")) == visit


CLEANED = {
    "tab": ("a\tb", "a b"),
    "line feed": ("a\nb", "a b"),
    "carriage return": ("a\r\nb", "a  b"),
    "nul": ("a\0b", "a b"),
    "escape": ("\x1b[31mred", " [31mred"),
    "delete": ("a\x7fb", "a b"),
    "c1": ("a\x85b", "a b"),
    "line separator": ("a\u2028b", "a b"),
    "half a pair": ("a\ud800b", "a\ufffdb"),
    "the other half": ("a\udc80b", "a\ufffdb"),
    "both halves apart": ("\ud83d\ude00", "😀"),
}


@pytest.mark.parametrize(("sent", "kept"), CLEANED.values(), ids=CLEANED.keys())
def test_what_is_no_text_is_cleaned(sent: str, kept: str) -> None:
    assert stored(agent=sent) == VISIT._replace(agent=kept)


@pytest.mark.parametrize(("name", "limit"), [*zip(Visit._fields[NUMBERS:], LIMITS, strict=True)])
def test_long_texts_are_cut(name: str, limit: int) -> None:
    assert getattr(stored(**{name: "é" * 65_536}), name) == "é" * limit


def test_no_line_is_longer_than_readers_expect() -> None:
    longest = Visit(2**63 - 1, 2**63 - 1, 2**63 - 1, 1, *["😀" * 65_536] * len(LIMITS))
    assert len(encode(longest)) < LONGEST_LINE


def test_a_line_stands_alone() -> None:
    line = encode(VISIT._replace(agent="x\ny\tz"))
    assert line.startswith(b"\n")
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 2
    assert line.count(b"\t") == len(Visit._fields) - 1


@given(st.lists(st.text(st.characters(codec=None)), min_size=len(LIMITS), max_size=len(LIMITS)))
def test_any_texts_make_one_sound_line(texts: list[str]) -> None:
    line = encode(Visit(1, 2, 3, 0, *texts))
    assert line.count(b"\n") == 2
    assert head_v1(line.strip(b"\n")) == (2, 0)
    visit = decode(line.strip(b"\n"))
    assert visit is not None
    assert decode(encode(visit).strip(b"\n")) == visit


WHOLE = encode(VISIT).strip(b"\n")
DAMAGED = {
    "empty": b"",
    "a sum alone": b"00000000 ",
    "no sum": WHOLE[9:],
    "torn": WHOLE[:-1],
    "the end of one": WHOLE[20:],
    "a flipped bit": WHOLE[:50] + bytes([WHOLE[50] ^ 1]) + WHOLE[51:],
    "a sum in capitals": WHOLE[:8].upper() + WHOLE[8:] if WHOLE[:8].upper() != WHOLE[:8] else b"",
    "two torn ones": WHOLE[:30] + WHOLE,
    "zeros": bytes(300),
}
UNREADABLE = {
    "too few fields": sealed(b"1\t2\t3"),
    "no numbers": sealed(b"a\tb\tc\td" + b"\t" * 13),
}


@pytest.mark.parametrize("line", (DAMAGED | UNREADABLE).values(), ids=(DAMAGED | UNREADABLE).keys())
def test_damage_is_found(line: bytes) -> None:
    assert decode(line) is None
    assert head_v1(line) is None


def test_fields_are_counted_and_decoded() -> None:
    assert decode(sealed(WHOLE[9:] + b"\tone more")) is None
    assert decode(sealed(WHOLE[9:] + b"\xff")) is None


def test_the_head_says_who_and_whether_a_bot() -> None:
    assert head_v1(WHOLE) == (VISIT.link_id, 0)
    assert head_v1(encode(VISIT._replace(is_bot=1)).strip(b"\n")) == (VISIT.link_id, 1)
