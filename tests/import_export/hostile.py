"""Texts and files that have stopped an import once, or might."""

from __future__ import annotations

import codecs
import json

GOOD = "https://example.com/good"
DEEP = "[" * 90_000
HOSTILE = {
    "an address with half a bracket": "http://[/x",
    "an IPv6 zone": "http://[fe80::1%25eth0]/x",
    "NFKC makes it a slash": "http://exam℀ple.com/x",
    "deep brackets": DEEP,
    "a long number": "9" * 90_000,
    "other digits": "١٠",
    "NUL": "a\0b",
    "a quote": '"',
    "many commas": "," * 90_000,
    "pairs of lists": '[[["a"],{"b":1}],["DE","http://[/x"]]',
    "a pair with half a surrogate": '[["\\ud800","https://example.com/"]]',
    "a date long ago": "-9999-01-01",
    "year zero": "0000-00-00 00:00:00",
    "a date with an offset too far": "2024-01-01T00:00:00+99:99",
    "a punycode bomb": "http://" + "ü" * 5_000 + "/",
    "a port beyond all": "http://example.com:99999999999999999999/",
    "combining marks": "a" + "\u0301" * 50_000,
    "a formula": "'=HYPERLINK(1)",
}


def as_json(rows: list[dict[str, object]]) -> str:
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"


def mixed(rows: int) -> str:
    return "location_url,title\r\n" + "".join(
        f"https://example.com/{n},t{end}"
        for n, end in zip(range(rows), ["\r", "\n", "\r\n"] * rows, strict=False)
    )


FILES: dict[str, bytes] = {
    "empty": b"",
    "a UTF-32 mark alone": codecs.BOM_UTF32_BE,
    "half a character of UTF-16": codecs.BOM_UTF16_LE + "location_url\nhttps://a.example/".encode("utf-16-le") + b"\x00",
    "a lone surrogate of UTF-16": codecs.BOM_UTF16_LE + "location_url\n".encode("utf-16-le") + b"\x00\xd8\n\x00",
    "beyond Unicode in UTF-32": codecs.BOM_UTF32_LE + b"l\0\0\0\n\0\0\0\xff\xff\xff\x7f",
    "surrogates in UTF-8": b"location_url\nhttps://a.example/\xed\xa0\x80\n",
    "NULs": b"\0" * 5_000,
    "mixed ends of lines": mixed(30).encode(),
    "other ends of lines": "location_url,title\u2028https://a.example/,x\x0b\x0c\x1c\x85".encode(),
    "a hundred thousand columns": b"," * 100_000 + b"\n" + b"," * 100_000,
    "a million quotes": b'"' * 1_000_000,
    "open quotes": b"location_url\n" + b'"\n' * 2_000,
    "a line without an end": b"location_url\n" + b"x" * 5_000_000,
    "a heading without an end": b"x" * 5_000_000,
    "brackets and braces": b'[{"a":' * 200_000,
    "an array of deep ones": b'[\n{"location_url":"https://a.example/"},\n' + b"[" * 100_000 + b",\n{}\n]",
    "deep in an object": b'[\n{"location_url":"https://a.example/","tags":' + b"[" * 100_000 + b"}\n]",
    "a column of half a surrogate": b'[\n{"\\ud800":"https://a.example/","location_url":"https://a.example/"}\n]',
    "numbers beyond all": b'[\n{"location_url":1e999,"clicks":' + b"9" * 100_000 + b"}\n]",
    "an object that is huge": b"[\n{" + b",".join(b'"%d":1' % n for n in range(100_000)) + b"}\n]",
    "a ZIP": b"PK\x03\x04" + b"\x01" * 500,
    "SQL of many values": b"INSERT INTO `yourls_url` VALUES (" + b"1," * 400_000 + b"1);",
    "SQL with half a surrogate": b"INSERT INTO `yourls_url` VALUES ('\xed\xa0\x80',0xEDA080,NULL,'2024-01-01 00:00:00','',1);\n",
    "SQL of a row with many columns": b"INSERT INTO x (keyword,url" + b",c" * 2_000 + b") VALUES ('a'" + b",1" * 2_001 + b");\n",
    "bookmarks of open tags": b"<!DOCTYPE NETSCAPE-Bookmark-file-1>\n" + b"<a '\n" * 3_000,
    "bookmarks in deep folders": b"<!DOCTYPE NETSCAPE-Bookmark-file-1>" + b"<h3>x</h3><dl>" * 50_000 + b"<a href=https://a.example/>a",
    "bookmarks without an end": b'<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DT><A HREF="' + b"x" * 3_000_000,
    "bookmarks of programs": b'<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DT><A HREF="javascript:alert(1)">x</A><DT><A HREF="https://a.example/" ADD_DATE="99999999999999999">x</A>',
    "bookmarks of one title": b"<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DT><A HREF=https://a.example/>" + b"x " * 2_000_000,
    "pages of an API": b'{"data":[{"location_url":"https://a.example/"}],"total":2}' * 300,
    "lists in lists": b'{"data":{"data":{"data":{"data":[1]}}}}' * 300,
}  # fmt: skip
