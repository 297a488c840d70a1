"""Is a delimiter found exactly where Werkzeug's own patterns find it?"""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from werkzeug.sansio.multipart import MultipartDecoder

from app.multipart import StrictDecoder

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


def spans(match: object) -> tuple[int, int, bytes] | None:
    return match and (match.start(), match.end(), bytes(match.group(1)))  # type: ignore[attr-defined,return-value]
