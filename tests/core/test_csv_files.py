"""CSV files: no cell is a formula, and every text is read back unchanged."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.csv_files import (
    PIECE_CHARACTERS,
    begins_formula,
    csv_pieces,
    escape_text,
    format_cell,
    unescape_text,
)

SIGNS = ["=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦", "﹢", "﹣", "﹫", "⁼", "₊", "−"]
HIDDEN = ["", " ", "   ", "\u00a0", "\u200b", "\ufeff", "\u2060", "\u3000", "\u00ad", "\u200e", "\ufe0f", "\u3164", "\x00", " \u200b\ufeff"]  # fmt: skip
PLAIN = ["", "plain", "it's", "1+1=2", "a=1", "a\t=1", "日本", "5 - 3", "(=1)", "#x", "…", "<a>", '"quoted"', "*x", "/a", "😀", "ａ"]  # fmt: skip


@pytest.mark.parametrize("sign", SIGNS)
def test_whatever_is_not_seen_before_a_sign_does_not_hide_it(sign: str) -> None:
    for hidden in HIDDEN:
        text = f"{hidden}{sign}1+1"
        assert escape_text(text) == f"'{text}", repr(text)


@pytest.mark.parametrize("control", ["\t", "\r", "\n"])
def test_controls_that_spreadsheets_skip(control: str) -> None:
    for text in (f"{control}x", f" {control}x", f"\ufeff{control}=1"):
        assert escape_text(text) == f"'{text}"


@pytest.mark.parametrize("text", PLAIN)
def test_other_texts_stay(text: str) -> None:
    assert escape_text(text) == text == unescape_text(text)


@pytest.mark.parametrize("text", ["'", "''", "'=x", "''=1", "'quoted'", "'\u200b＝", "'tis"])
def test_apostrophes_come_back(text: str) -> None:
    assert unescape_text(escape_text(text)) == text


@pytest.mark.parametrize("text", ["'tis", "'", "'90s"])
def test_an_apostrophe_of_somebody_elses_file_stays(text: str) -> None:
    assert unescape_text(text) == text


@given(st.text() | st.text(alphabet="'=+-@＝\t\r\n \u00a0\u200b\ufeffa1"))
def test_any_text_comes_back_and_begins_no_formula(text: str) -> None:
    escaped = escape_text(text)
    assert unescape_text(escaped) == text
    assert not begins_formula(escaped)


def test_values() -> None:
    found = [
        format_cell(value) for value in (None, True, False, -3, 1.5, [], {}, ["=1"], {"a": "ü"}, "=1", "x")
    ]
    assert found == ["", "1", "0", "-3", "1.5", "", "", '["=1"]', '{"a": "ü"}', "'=1", "x"]


def test_a_file_is_written_while_it_is_read() -> None:
    taken = 0

    def rows() -> Iterator[list[str]]:
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield [f"=row {number}", 'a "quoted", text\nof two lines' * 10]

    pieces = csv_pieces(rows())
    first = next(pieces)
    assert taken < 1000
    assert PIECE_CHARACTERS <= len(first) < 2 * PIECE_CHARACTERS
    text = first + "".join(pieces)
    assert text[0] == "\ufeff"
    found = list(csv.reader(io.StringIO(text[1:], newline="")))
    assert [row[0] for row in found] == [f"'=row {number}" for number in range(1000)]
    assert "".join(csv_pieces([], has_mark=False)) == ""
