"""Bookmarks of browsers, as they write them, whole and damaged."""

from __future__ import annotations

import io

import pytest

from app.import_export.readers import bookmarks, reader

HEAD = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<!-- This is an automatically generated file.
     It will be read and overwritten.
     DO NOT EDIT! -->
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
"""
FIREFOX = f"""{HEAD}<DL><p>
    <DT><H3 ADD_DATE="1700000000" PERSONAL_TOOLBAR_FOLDER="true">Toolbar</H3>
    <DL><p>
        <DT><A HREF="https://example.com/?a=1&amp;b=2" ADD_DATE="1700000000" ICON="data:image/png;base64,AAAA" TAGS="one,two" SHORTCUTURL="ex">Tom &amp; <b>Jerry</b></A>
        <DD>What it is
        about
        <DT><H3>Inner &lt;one&gt;</H3>
        <DL><p>
            <DT><A HREF="https://inner.example/" ADD_DATE="0">Inner</A>
        </DL><p>
        <DT><A HREF="https://after.example/">After</A>
    </DL><p>
    <HR>
    <DT><A HREF='https://top.example/'>Top</A>
</DL>
"""


def read(text: str) -> list[reader.Element]:
    return list(bookmarks.elements(io.StringIO(text)))


def test_as_a_browser_writes_them() -> None:
    assert bookmarks.is_bookmarks(FIREFOX)
    found = read(FIREFOX)
    assert [one.problem for one in found] == [""] * 4
    assert found[0].value == {
        "HREF": "https://example.com/?a=1&b=2",
        "Title": "Tom & Jerry",
        "Folder": "Toolbar",
        "ADD_DATE": "1700000000",
        "TAGS": "one,two",
        "SHORTCUTURL": "ex",
        "Description": "What it is about",
    }
    assert [(one.line, one.value["HREF"], one.value["Folder"]) for one in found if one.value][1:] == [
        (16, "https://inner.example/", "Inner <one>"),
        (18, "https://after.example/", "Toolbar"),
        (21, "https://top.example/", ""),
    ]
    assert found[1].value == {
        "HREF": "https://inner.example/", "Title": "Inner", "Folder": "Inner <one>", "ADD_DATE": "",
    }  # fmt: skip


@pytest.mark.parametrize("block", [5, 37, 1000])
def test_wherever_a_block_ends(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    whole = read(FIREFOX)
    monkeypatch.setattr(reader, "BLOCK", block)
    assert read(FIREFOX) == whole


ODD = {
    "in small letters, without quotes": ("<dl><dt><a href=https://a.example/>A</a></dl>", ["https://a.example/"]),
    "no closing tags": ('<DL><DT><A HREF="https://a.example/">A<DT><A HREF="https://b.example/">B', ["https://a.example/", "https://b.example/"]),
    "a sign that opens nothing": ('<DL><DT>1 < 2 <3 <A HREF="https://a.example/">A < B</A></DL>', ["https://a.example/"]),
    "a bracket in quotes": ('<DT><A HREF="https://a.example/>x">A</A>', ["https://a.example/>x"]),
    "without an address": ("<DT><A>A</A>", [""]),
    "more ends than beginnings": ('</DL></DL></DL><DT><A HREF="https://a.example/">A</A>', ["https://a.example/"]),
    "none": ("<DL></DL>", []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "addresses"), ODD.values(), ids=ODD)
def test_however_they_are_written(text: str, addresses: list[str]) -> None:
    assert [one.value["HREF"] for one in read(HEAD + text) if one.value] == addresses


def test_what_is_broken_says_so_and_the_next_line_is_read() -> None:
    found = read(f'{HEAD}<DT><A HREF=\'https://a.example/>A</A>\n<DT><A HREF="https://b.example/">B</A>\n')
    assert ([one.problem for one in found], found[-1].value and found[-1].value["HREF"]) == (
        [bookmarks.NOT_CLOSED, ""],
        "https://b.example/",
    )


def test_what_a_file_may_cost() -> None:
    deep = "<DT><H3>x</H3><DL>" * 5_000 + '<DT><A HREF="https://a.example/">A</A>' + "</DL>" * 5_000
    (found,) = read(HEAD + deep)
    assert found.value and found.value["Folder"] == "x"
    (found,) = read(f'{HEAD}<DT><A HREF="https://a.example/">{"x " * 50_000}</A>')
    assert found.value and len(found.value["Title"]) <= bookmarks.MAX_TEXT
    assert len(read(HEAD + "<a '\n" * 3_000)) == reader.MAX_BROKEN + 1


def test_a_file_of_folders_alone_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_STEPS", 100)
    links = '<DT><A HREF="https://a.example/">A</A>' * 200
    (*made, last) = read(HEAD + links + "<DL>" * 150 + links)
    assert ([one.problem for one in made], last.problem) == ([""] * 200, reader.NOTHING)
