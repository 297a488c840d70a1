"""Request bodies: well-formed ones are read as they were meant, and all others are refused."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from urllib.parse import unquote_to_bytes

import pytest
from flask import Flask
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.errors import Invalid, Malformed, TooLarge, UnsupportedMediaType, WaypostError
from app.input.data import Nested, RequestData, Upload
from app.web import text_bodies
from app.web.body import read_query, read_sent
from app.web.text_bodies import require_bounded

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=X"
JSON = "application/json"

Reader = Callable[..., RequestData]

BARE = Flask(__name__)


@pytest.fixture
def read() -> Reader:
    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = 10 * 1024 * 1024

    def read(body: bytes, content_type: str | None, **environ: object) -> RequestData:
        # not `data=`: of no data and a multipart type, that would make a complete body
        sized = {"input_stream": BytesIO(body), "content_length": len(body), "environ_overrides": environ}
        with app.test_request_context(method="POST", content_type=content_type, **sized):
            return read_sent()

    return read


def part(name: str, content: bytes = b"v", more: bytes = b"", filename: str | None = None) -> bytes:
    file = f'; filename="{filename}"'.encode() if filename is not None else b""
    disposition = b'Content-Disposition: form-data; name="' + name.encode() + b'"' + file
    return b"--X\r\n" + disposition + b"\r\n" + more + b"\r\n" + content + b"\r\n"


def whole(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--X--\r\n"


def shown(sent: RequestData) -> list[tuple[str, int, object]]:
    return sent.pairs()  # type: ignore[return-value]


SAME = {
    "multipart": (
        whole(part("a", "ä 1".encode()), part("k[]", b"1"), part("k[]", b"2"), part("e", b"")),
        MULTIPART,
    ),
    "urlencoded": (b"a=%C3%A4+1&k%5B%5D=1&k[]=2&e=", FORM),
    "json": ('{"a": "ä 1", "k": [1, 2], "e": null}'.encode(), JSON),
    "json with charset": (
        '{"a": "ä 1", "k": ["1", "2"], "e": ""}'.encode(),
        "application/json; charset=UTF-8",
    ),
}


@pytest.mark.parametrize(("body", "content_type"), SAME.values(), ids=SAME.keys())
def test_the_three_encodings_mean_the_same(read: Reader, body: bytes, content_type: str) -> None:
    assert shown(read(body, content_type)) == [("a", 0, "ä 1"), ("k", 0, "1"), ("k", 1, "2"), ("e", 0, "")]


JSON_VALUES = {
    "1": "1", "1.0": "1.0", "1e3": "1e3", "-0": "-0", "99999999999999999999": "99999999999999999999",
    "1e400": "1e400", "true": "true", "false": "false", "null": "", '" x "': " x ", "[]": "",
    '["a", null]': "", "{}": Nested(), '[["a"]]': Nested(), '"\\ud83d\\ude00"': "😀",
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), JSON_VALUES.items())
def test_json_values_keep_what_was_sent(read: Reader, text: str, expected: object) -> None:
    assert read(f'{{"k": {text}}}'.encode(), JSON).last("k") == expected


def test_the_last_of_two_json_members_wins(read: Reader) -> None:
    assert shown(read(b'{"k": [1, 2], "k": 3}', JSON)) == [("k", 0, "3")]


def test_an_array_of_json_may_be_long(read: Reader) -> None:
    body = json.dumps({"k": ["x"] * 5000}).encode()
    assert len(read(body, JSON).members("k")) == 5000


MALFORMED_JSON = {
    "a list": b"[1]", "a text": b'"a"', "a number": b"1", "null": b"null", "nothing": b"", "cut": b'{"a": 1',
    "NaN": b'{"a": NaN}', "infinity": b'{"a": [-Infinity]}', "latin-1": b'{"a": "\xe4"}',
    "utf-16": '{"a": 1}'.encode("utf-16"), "NUL": b'{"a": "\\u0000"}', "raw NUL": b'{"a": "\x00"}',
    "NUL in a name": b'{"\\u0000": 1}', "NUL deep": b'{"a": {"b": ["\\u0000"]}}',
    "encoded surrogate": b'{"a": "\xed\xa0\x80"}', "NUL beside a surrogate": b'{"a": "\\ud800", "b": "\\u0000"}',
    "control character in a name": b'{"a\\n": 1}', "no name": b'{"": 1}', "two objects": b"{}{}",
    "comment": b"{} // x", "trailing": b'{"a": 1,}',
}  # fmt: skip


@pytest.mark.parametrize("body", MALFORMED_JSON.values(), ids=MALFORMED_JSON.keys())
def test_malformed_json(read: Reader, body: bytes) -> None:
    with pytest.raises(Malformed):
        read(body, JSON)


SURROGATES = {
    "in a value": (b'{"a": "\\ud800", "b": "\\ud83d\\ude00"}', {"a"}),
    "the wrong way round": (b'{"a": "\\ude00\\ud83d"}', {"a"}),
    "in a name": (b'{"\\udfff": 1}', {None}),
    "deep": (b'{"a": [["\\ud800"]], "b": {"c": {"\\ud800": 1}}}', {"a", "b"}),
}


@pytest.mark.parametrize(("body", "fields"), SURROGATES.values(), ids=SURROGATES)
def test_half_a_surrogate_pair(read: Reader, body: bytes, fields: set[str | None]) -> None:
    with pytest.raises(Invalid) as raised:
        read(body, JSON)
    assert {error.field for error in raised.value.errors} == fields


DEEP_JSON = {
    "lists": b"[" * 200_000 + b"]" * 200_000,
    "objects": b'{"a":' * 101 + b"1" + b"}" * 101,
    "lists that never end": b"[" * 1_000_000,
    "in a list": b"[1, [2], " + b"[" * 100 + b"]" * 100 + b"]",
}


@pytest.mark.parametrize("value", DEEP_JSON.values(), ids=DEEP_JSON)
def test_json_of_great_depth(read: Reader, value: bytes) -> None:
    with pytest.raises(Invalid):
        read(b'{"a":' + value + b"}", JSON)


def test_json_of_some_depth(read: Reader) -> None:
    body = b'{"a":' + b"[" * 99 + b"]" * 99 + b', "b": "' + b"[" * 200 + b'"}'
    assert shown(read(body, JSON)) == [("a", 0, Nested()), ("b", 0, "[" * 200)]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=50,
    )
)
def test_no_json_is_refused_for_what_stands_in_its_texts(value: object) -> None:
    require_bounded(json.dumps({'[{,"\\': value}).encode())


URLENCODED = {
    b"a=1&&b=2&": [("a", 0, "1"), ("b", 0, "2")],
    b"a": [("a", 0, "")],
    b"a=b=c": [("a", 0, "b=c")],
    b"a=%zz%2": [("a", 0, "%zz%2")],
    b"a=1%2B1+1": [("a", 0, "1+1 1")],
    b"a=1;b=2": [("a", 0, "1;b=2")],
    b"a=\xc3\xa4": [("a", 0, "ä")],
    b"": [],
}


@pytest.mark.parametrize(("body", "expected"), URLENCODED.items())
def test_urlencoded(read: Reader, body: bytes, expected: list[tuple[str, int, str]]) -> None:
    assert shown(read(body, FORM)) == expected


@pytest.mark.parametrize("body", [b"a=%ff", b"a=\xff", b"a=%00", b"a%00=1", b"a%0A=1", b"=1", b"a=%ED%A0%80"])
def test_malformed_urlencoded(read: Reader, body: bytes) -> None:
    with pytest.raises(Malformed):
        read(body, FORM)


def test_files(read: Reader) -> None:
    sent = read(
        whole(
            part("untouched", b"", filename=""),
            part("empty", b"", filename="a.png"),
            part("file", b"\x00\xff\r\n--Y", filename="ä.png"),
            part("nameless", b"x", filename=""),
        ),
        MULTIPART,
    )
    assert "untouched" not in sent
    assert sent.last("empty") == Upload("a.png", b"")
    assert sent.last("file") == Upload("ä.png", b"\x00\xff\r\n--Y")
    assert sent.last("nameless") == Upload("", b"x")


MULTIPART_TEXTS = {
    "utf-8": (b"", "ä".encode()),
    "said to be utf-8": (b"Content-Type: text/plain; charset=UTF-8\r\n", "ä".encode()),
    "said to be latin-1, as Java does": (b"Content-Type: text/plain; charset=ISO-8859-1\r\n", b"\xe4"),
    "said to be 8bit": (b"Content-Transfer-Encoding: 8bit\r\n", "ä".encode()),
}


@pytest.mark.parametrize(("head", "content"), MULTIPART_TEXTS.values(), ids=MULTIPART_TEXTS.keys())
def test_text_parts(read: Reader, head: bytes, content: bytes) -> None:
    assert read(whole(part("a", content, head)), MULTIPART).last("a") == "ä"


@pytest.mark.parametrize("line", [b"\r\n", b"\n"])
def test_values_keep_their_lines(read: Reader, line: bytes) -> None:
    value = b"one" + line + b"--X" + b"two" + line + line
    assert read(whole(part("a", value)), MULTIPART).last("a") == value.decode()


def test_text_around_the_parts_is_nothing(read: Reader) -> None:
    body = b"preamble\r\n" + whole(part("a")) + b"epilogue"
    assert shown(read(body, MULTIPART)) == [("a", 0, "v")]


def head(raw: bytes) -> bytes:
    return b"--X\r\n" + raw + b"\r\n\r\nv\r\n--X--\r\n"


MALFORMED_PARTS = {
    "empty": b"",
    "no part, no end": b"v",
    "no disposition": head(b"Content-Type: text/plain"),
    "no name": head(b"Content-Disposition: form-data"),
    "empty name": whole(part("")),
    "other disposition": head(b'Content-Disposition: attachment; name="a"'),
    "tab in the name": whole(part("a\tb")),
    "NUL in the name": whole(part("a\0b")),
    "line feed in the name": whole(part("a\nb")),
    "carriage return in the name": whole(part("a\rb")),
    "folded name": head(b'Content-Disposition: form-data; name="a\r\n b"'),
    "escape in the name": whole(part("a\x1bb")),
    "C1 in the name": whole(part("a\x85b")),
    "name in latin-1": head(b'Content-Disposition: form-data; name="\xe4"'),
    "open quote": head(b'Content-Disposition: form-data; name="a'),
    "no colon": head(b'Content-Disposition: form-data; name="a"\r\nnonsense'),
    "NUL in a text": whole(part("a", b"\x00")),
    "latin-1 text": whole(part("a", b"\xe4")),
    "encoded surrogate": whole(part("a", b"\xed\xa0\x80")),
    "not the charset it says": whole(part("a", b"\xe4", b"Content-Type: text/plain; charset=us-ascii\r\n")),
    "unknown charset": whole(part("a", b"v", b"Content-Type: text/plain; charset=utf-7\r\n")),
    "base64": whole(part("a", b"dg==", b"Content-Transfer-Encoding: base64\r\n")),
    "NUL in a file's name": whole(part("a", b"v", filename="a\0.png")),
    "file name in latin-1": head(b'Content-Disposition: form-data; name="a"; filename="\xe4"'),
}  # fmt: skip


@pytest.mark.parametrize("body", MALFORMED_PARTS.values(), ids=MALFORMED_PARTS.keys())
def test_malformed_multipart(read: Reader, body: bytes) -> None:
    with pytest.raises(Malformed):
        read(body, MULTIPART)


@pytest.mark.parametrize("boundary", ["", "; boundary=", '; boundary="ä"', "; boundary=" + "x" * 201])
def test_a_boundary_that_can_be_none(read: Reader, boundary: str) -> None:
    with pytest.raises(Malformed):
        read(whole(part("a")), f"multipart/form-data{boundary}")


def test_a_multipart_body_that_is_cut_anywhere(read: Reader) -> None:
    body = whole(
        part("a", b"first"), part("f", b"\x00" * 50, filename="f.bin"), part("c", "ä".encode())
    ).rstrip()
    assert len(shown(read(body, MULTIPART))) == 3
    for length in range(len(body)):
        with pytest.raises(Malformed):
            read(body[:length], MULTIPART)


def test_a_body_shorter_than_it_said(read: Reader) -> None:
    with pytest.raises(Malformed):
        read(b"a=1", FORM, CONTENT_LENGTH="100")


OTHER_TYPES = [
    "text/plain", "application/xml", "application/problem+json", "multipart/mixed; boundary=X", "nonsense",
    "application/json; charset=utf-16", f"{FORM}; charset=iso-8859-1",
]  # fmt: skip


@pytest.mark.parametrize("content_type", OTHER_TYPES)
@pytest.mark.parametrize("body", [b"", b"a=1"])
def test_other_types(read: Reader, content_type: str, body: bytes) -> None:
    with pytest.raises(UnsupportedMediaType):
        read(body, content_type)


def test_no_body_needs_no_type(read: Reader) -> None:
    assert shown(read(b"", None)) == []
    with pytest.raises(UnsupportedMediaType):
        read(b"a=1", None)


def test_a_compressed_body_is_another_type(read: Reader) -> None:
    with pytest.raises(UnsupportedMediaType):
        read(b"a=1", FORM, HTTP_CONTENT_ENCODING="gzip")


MIB = 1024 * 1024
CHUNKED = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (whole(*[part("k")] * 1001), MULTIPART),
        (whole(*[part("k", b"", filename="")] * 1001), MULTIPART),
        (b"&".join([b"k=v"] * 1001), FORM),
        (b"k&" * 1001, FORM),
        (json.dumps({f"k{number}": 1 for number in range(1001)}).encode(), JSON),
        (json.dumps({"k": [1] * 10_000}).encode(), JSON),
        (json.dumps({"k": [[]] * 5_001}).encode(), JSON),
        (b"k=" + b"x" * (10 * MIB - 1), FORM),
        (whole(part("k", b"x" * 20 * MIB)), MULTIPART),
        (b'{"k": "' + b"x" * 20 * MIB + b'"}', JSON),
    ],
)
@pytest.mark.parametrize("environ", [{}, CHUNKED], ids=["sized", "chunked"])
def test_too_much(read: Reader, body: bytes, content_type: str, environ: dict[str, object]) -> None:
    with pytest.raises(TooLarge):
        read(body, content_type, **environ)


def test_the_most_that_is_read(read: Reader) -> None:
    assert len(read(whole(*[part("k")] * 1000), MULTIPART).getlist("k")) == 1000
    assert len(read(json.dumps({f"k{number}": 1 for number in range(1000)}).encode(), JSON).pairs()) == 1000
    assert len(read(json.dumps({"k": [1] * 9_999}).encode(), JSON).getlist("k")) == 9_999
    for environ in ({}, CHUNKED):
        assert read(b"k=" + b"x" * (10 * MIB - 2), FORM, **environ).last("k") == "x" * (10 * MIB - 2)


MANY = {
    "parts": (part("k"), part(""), b"", MULTIPART),
    "pairs": (b"k=v&", b"k=%FF&", b"", FORM),
    "members": (b'"k":1,', b'"k":\xff,', b"{", JSON),
}


@pytest.mark.parametrize(("good", "bad", "start", "content_type"), MANY.values(), ids=MANY)
def test_what_comes_first_in_a_body_is_what_is_wrong_with_it(
    read: Reader, good: bytes, bad: bytes, start: bytes, content_type: str
) -> None:
    """Nothing after the 1,001st field is parsed (of JSON, after the 10,000th value)."""
    with pytest.raises(Malformed):
        read(start + good * 999 + bad + good * 100, content_type)
    with pytest.raises(TooLarge):
        read(start + good * 10_001 + bad, content_type)


HEAVY = {
    "fields without a value": (b"a&", b"", FORM),
    "no fields": (b"&", b"", FORM),
    "escapes": (b"%41", b"a=", FORM),
    "percent signs": (b"%", b"a=", FORM),
    "parts": (part("a", b""), b"", MULTIPART),
    "boundaries that are none": (b"\r\n--Xa", part("a"), MULTIPART),
    "lines of a head": (b"X: y\r\n", b"--X\r\n", MULTIPART),
    "parameters of a head": (b"; x=y", b"--X\r\nContent-Disposition: form-data", MULTIPART),
    "members": (b'"a":0,', b"{", JSON),
    "empty lists": (b"[],", b'{"a":[', JSON),
    "depth": (b"[", b'{"a":', JSON),
    "texts that never end": (b'\\"', b'{"', JSON),
}


@pytest.mark.parametrize(("piece", "start", "content_type"), HEAVY.values(), ids=HEAVY)
def test_no_body_takes_many_times_its_size(
    read: Reader, piece: bytes, start: bytes, content_type: str
) -> None:
    body = start + piece * (MIB // len(piece))
    tracemalloc.start()
    with suppress(WaypostError):
        read(body, content_type)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * MIB


@given(
    st.lists(st.sampled_from([b"%41", b"%", b"%4", b"%zz", b"=", b"x", b"\r\n", b" "]), max_size=30).map(
        b"".join
    )
)
@example(b"x" * 16383 + b"%41")
@example(b"x" * 16382 + b"%41%41")
@example(b"%" * 70_000 + b"%e4")
def test_percent_signs_are_read_as_everywhere(encoded: bytes) -> None:
    assert text_bodies.decode_percent(encoded) == unquote_to_bytes(encoded)


@given(st.lists(st.tuples(st.text(min_size=1), st.one_of(st.text(), st.binary())), max_size=5))
def test_what_is_sent_comes_back_or_is_refused(pairs: list[tuple[str, str | bytes]]) -> None:
    """Any names and values, encoded as `requests` does, and as JSON."""
    texts = {name: value for name, value in pairs if isinstance(value, str)}
    body = json.dumps(texts).encode()
    with BARE.test_request_context(method="POST", data=body, content_type=JSON):
        try:
            found = read_sent()
        except Malformed:
            everything = "".join([*texts, *texts.values()])
            assert any(c < " " or "\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\udfff" for c in everything)
        else:
            for name, value in texts.items():
                assert "[" in name or "]" in name or found.last(name) == value


@given(st.binary(max_size=300), st.sampled_from([FORM, MULTIPART, JSON]), st.booleans())
def test_no_bytes_at_all_break_the_reader(noise: bytes, content_type: str, framed: bool) -> None:
    body = whole(part("a", noise)) + noise if framed else noise
    with (
        BARE.test_request_context(method="POST", data=body, content_type=content_type),
        suppress(WaypostError),
    ):
        read_sent()  # may raise one of our own errors, and no other


def test_the_query_is_read_as_strictly() -> None:
    with BARE.test_request_context("/?a=1&a=2&b=%C3%A4"):
        assert read_query() == [("a", "1"), ("a", "2"), ("b", "ä")]
    with BARE.test_request_context("/?" + "a=1&" * 1001), pytest.raises(Invalid):
        read_query()
    for query in ("a=%ff", "a=%00", "%0a=1"):
        with BARE.test_request_context(f"/?{query}"), pytest.raises(Malformed):
            read_query()
