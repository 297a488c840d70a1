"""Multipart delimiters: found exactly where Werkzeug's own patterns find them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from werkzeug.sansio.multipart import Data, MultipartDecoder

from app.web.multipart import StrictDecoder, streamed

BOUNDARY = b"a.b"
PIECES = st.sampled_from(
    [b"--a.b", b"--a.b--", b"--aXb", b"\r\n", b"\r", b"\n", b"-", b" ", b"\t", b"x", b"\x0b"]
)


@given(st.lists(PIECES, max_size=12).map(b"".join), st.integers(0, 12))
@example(b"x\r\n--a.b \t--a.b\r\n", 0)
@example(b"--a.b--", 0)
@example(b"x\n--a.b\r\n", 2)
def test_a_delimiter_is_found_where_it_was(data: bytes, position: int) -> None:
    theirs, ours = MultipartDecoder(BOUNDARY), StrictDecoder(BOUNDARY)
    for name in ("preamble_re", "boundary_re"):
        expected = getattr(theirs, name).search(bytearray(data), position)
        found = getattr(ours, name).search(bytearray(data), position)
        assert spans(found) == spans(expected), name


@given(st.lists(PIECES, max_size=12).map(b"".join), st.integers(1, 40))
@example(b"line\r\nline\n", 1)
@example(b"\r", 28)
def test_a_body_in_pieces_says_what_it_says_whole(content: bytes, size: int) -> None:
    """Wherever it is cut, also within a boundary: the line break before that must not become content."""
    head = b'--Zq7\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
    body = head + content + b"\r\n--Zq7--\r\n"
    found = bytearray()
    for event in streamed((body[at : at + size] for at in range(0, len(body), size)), "Zq7"):
        if isinstance(event, Data):
            found += event.data
    assert bytes(found) == content


def test_a_body_in_pieces_that_is_cut_off_or_has_no_end_of_its_head() -> None:
    head = b'--b\r\nContent-Disposition: form-data; name="f"\r\n\r\nabc'
    for pieces in ([head], [head, b"\r\n--b"], [b"--b\r\n", *[b"x" * 50_000] * 3], [b""]):
        with pytest.raises(ValueError, match=r"cut off|too long"):
            list(streamed(pieces, "b"))


def spans(match: object) -> tuple[int, int, bytes] | None:
    return match and (match.start(), match.end(), bytes(match.group(1)))  # type: ignore[attr-defined,return-value]
