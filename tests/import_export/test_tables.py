"""Recognition of files: encodings, separators, headings, and messages about unreadable ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.import_export.readers.csv import MAX_CELL
from app.import_export.tables import MAX_COLUMNS, UnreadableTable, open_table

HEAD = "url,location_url\n"
ONE = [{"url": "a", "location_url": "https://ä.example/"}]


def table(tmp_path: Path, content: bytes):
    path = tmp_path / "file.csv"
    path.write_bytes(content)
    return open_table(path)


def cells(found):
    return [row.cells for row in found.rows() if not row.problem]


def problems(found):
    return [(row.line, row.problem) for row in found.rows() if row.problem]


SAME = {
    "UTF-8": (HEAD + "a,https://ä.example/\n").encode(),
    "UTF-8 with its mark": (HEAD + "a,https://ä.example/\n").encode("utf-8-sig"),
    "UTF-16": (HEAD + "a,https://ä.example/\n").encode("utf-16"),
    "Windows Latin": (HEAD + "a,https://ä.example/\n").encode("cp1252"),
    "carriage returns too": (HEAD + "a,https://ä.example/\n").replace("\n", "\r\n").encode(),
    "semicolons": b"url;location_url\na;https://\xc3\xa4.example/\n",
    "tabs": b"url\tlocation_url\na\thttps://\xc3\xa4.example/\n",
    "quoted": '"url","location_url"\n"a","https://ä.example/"'.encode(),
    "empty lines before and between": f"\n\n{HEAD}\n,\na,https://ä.example/\n\n".encode(),
    "cells of nothing at the end": f"{HEAD}a,https://ä.example/,,\n".encode(),
}


@pytest.mark.parametrize("content", SAME.values(), ids=SAME.keys())
def test_the_same_table(tmp_path: Path, content: bytes) -> None:
    assert cells(table(tmp_path, content)) == ONE


def test_without_headings(tmp_path: Path) -> None:
    found = table(tmp_path, b"a,https://a.example/\nb,https://b.example/\n")
    assert found.columns == ("Column 1", "Column 2")
    assert [row["Column 1"] for row in cells(found)] == ["a", "b"]


def test_headings_twice_and_none(tmp_path: Path) -> None:
    assert table(tmp_path, b"url,,url,  Long   URL \nx\n").columns == (
        "url",
        "Column 2",
        "url (2)",
        "Long URL",
    )


def test_a_cell_of_several_lines(tmp_path: Path) -> None:
    found = table(tmp_path, b'url,notes\na,"one\ntwo ""quoted"""\nb,c\n')
    assert cells(found) == [{"url": "a", "notes": 'one\ntwo "quoted"'}, {"url": "b", "notes": "c"}]
    assert [(row.number, row.line) for row in found.rows()] == [(1, 2), (2, 4)]


NO_TABLE = {
    "nothing": (b"", "file is empty"),
    "empty lines": (b"\n\n  \n", "file is empty"),
    "three hundred columns": (b",".join([b"x"] * 300), "300 columns"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not text"),
}


@pytest.mark.parametrize(("content", "said"), NO_TABLE.values(), ids=NO_TABLE.keys())
def test_no_table(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(UnreadableTable, match=said):
        cells(table(tmp_path, content))


BAD_ROWS = {
    "a quote never closed": ('"open,x\n', "A quote is opened"),
    "something after a quote": ('"a"b,x\n', "closing quote"),
    "too many cells": ("a,b,c\n", "3 cells, but there are 2 columns"),
    "a cell without end": (f"a,{'x' * (MAX_CELL + 1)}\n", "more than 100,000 characters"),
    "a line of ten megabytes": (f"a,{'x' * 10_000_000}\n", "more than 2,000,000 characters"),
}


@pytest.mark.parametrize(("line", "said"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_a_bad_row_says_why_and_the_next_go_on(tmp_path: Path, line: str, said: str) -> None:
    rest = "".join(f"r{n},x\n" for n in range(500))
    found = table(tmp_path, f"{HEAD}first,x\n{line}{rest}".encode())
    (where, problem), *others = problems(found)
    assert (where, others) == (3, [])
    assert said in problem
    assert [row["url"] for row in cells(found)] == ["first", *(f"r{n}" for n in range(500))]
    assert MAX_COLUMNS < 300
