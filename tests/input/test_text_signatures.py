"""Signatures of texts: no text that is there is missed, and most that are not there are told apart."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.input import text_signatures
from app.input.text_signatures import BYTES, hashes_of, may_have, signature_of

TEXTS = ["spring-sale\nhttps://example.com/über/東京\nSpring no. 4711", "k3j9x2a\nhttps://example.com/?q=%20"]

# a text that is looked for, and whether one of TEXTS may have it
LOOKED_FOR = {
    "a whole line": ("spring-sale", True),
    "its beginning": ("spri", True),
    "its middle": ("g-sal", True),
    "its end": ("sale", True),
    "beyond ASCII": ("ber/東京", True),
    "two letters of six bytes": ("東京", True),
    "in the second": ("9x2a\nhttps", True),
    "parts of both, which one signature can't tell apart": ("k3j9", True),
    "another": ("k3j9x2b", False),
    "in another order": ("sale-spring", False),
    "one more letter": ("spring-sales", False),
    "of nothing": ("nowhere at all", False),
}


@pytest.mark.parametrize("name", LOOKED_FOR)
def test_what_may_be_there(name: str) -> None:
    text, wanted = LOOKED_FOR[name]
    signature = signature_of(TEXTS)
    assert len(signature) == BYTES
    assert may_have(signature, hashes_of(text.encode())) is wanted


@given(st.lists(st.text(max_size=30), max_size=5), st.data())
def test_no_part_of_a_text_is_missed(texts: list[str], data: st.DataObject) -> None:
    signature = signature_of(texts)
    for text in texts:
        first = data.draw(st.integers(0, len(text)))
        part = text[first : data.draw(st.integers(first, len(text)))]
        assert may_have(signature, hashes_of(part.encode()))


def test_most_of_what_is_not_there_is_told_apart() -> None:
    """Of 4,096 aliases of seven letters and digits, and as many others."""
    letters = string.ascii_lowercase + string.digits

    def alias(number: int) -> str:
        number = number * 48_271 % (2**31 - 1)  # a generator of numbers, the same at each run
        return "".join(letters[number // 36**place % 36] for place in range(6)) + letters[number % 36]

    signature = signature_of(map(alias, range(1, 4097)))
    others = [alias(number) for number in range(10_000, 14_096)]
    found = sum(may_have(signature, hashes_of(one.encode())) for one in others)
    assert found < len(others) // 20


@pytest.mark.parametrize("text", ["", "a", "ab7", "é.", "東"])
def test_a_short_text_has_no_parts(text: str) -> None:
    assert hashes_of(text.encode()) == []


def test_of_very_long_texts_any_may_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_signatures, "MOST_TEXT", 100)
    assert may_have(signature_of(["x" * 100]), hashes_of(b"nowhere")) is False
    assert signature_of(["x" * 50, "y" * 50]) == b""
    assert may_have(b"", hashes_of(b"nowhere"))
