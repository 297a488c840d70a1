"""Streaming reader of the bookmarks that browsers export: the Netscape Bookmark File Format.

Sources: Microsoft's page "Netscape Bookmark File Format" (a folder is `<DT><H3>` and a `<DL>`, a bookmark
`<DT><A HREF ADD_DATE>`, `<DD>` its description), and what Firefox, Chrome and Pinboard write beside that:
TAGS, SHORTCUTURL (a keyword of the browser), and ICON with a whole picture in it, which is skipped.
ADD_DATE is in Unix time, and 0 where a browser does not know it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import TextIO

from app.i18n.messages import lazy_gettext as _l
from app.import_export.readers.reader import MAX_BROKEN, Broken, Element, Exhausted, FormatReader, TextBuffer

MAX_TEXT = 10_000  # characters of a title, a description, the name of a folder
MAX_FOLDERS = 1_000  # nested; deeper ones count as the last one
MARK = "netscape-bookmark-file"
# tags that we know, and what the text behind them is
FIELDS = {"a": "Title", "h3": "folder", "dd": "Description", "dt": "", "dl": ""}
NAMES = {"href": "HREF", "add_date": "ADD_DATE", "tags": "TAGS", "shortcuturl": "SHORTCUTURL"}

# possessive, so that no text makes them backtrack
TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]{0,15})((?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)>")
BEGINS_TAG = re.compile(r"</?[A-Za-z]")
ATTRIBUTE = re.compile(r"([A-Za-z_][\w-]*+)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++))")
NOT_CLOSED = _l("A tag is opened and not closed.")


class Marked(TextBuffer):
    """The file as tags, and the text between them."""

    def take(self) -> tuple[str, re.Match[str] | None]:
        """The text up to the next tag, and that tag; none at the end. Raises Broken."""
        pieces: list[str] = []
        while True:
            self.step()
            begin = self.text.find("<", self.at)
            pieces.append(self.text[self.at : begin if begin >= 0 else len(self.text)][:MAX_TEXT])
            self.skip((begin if begin >= 0 else len(self.text)) - self.at)
            if begin < 0 or len(self.text) - self.at < 2:
                if not self.read_more():
                    return "".join(pieces)[:MAX_TEXT], None
            elif BEGINS_TAG.match(self.text, self.at):
                return "".join(pieces)[:MAX_TEXT], self.tag()
            elif self.text[self.at + 1] in "!/":
                self.pass_comment()
            else:
                pieces.append("<")
                self.skip(1)
            pieces = ["".join(pieces)[:MAX_TEXT]]

    def tag(self) -> re.Match[str]:
        while (match := TAG.match(self.text, self.at)) is None:
            self.require_short(len(self.text) - self.at, NOT_CLOSED)
            if not self.read_more():
                raise Broken(NOT_CLOSED)
        self.skip(match.end() - match.start())
        return match

    def pass_comment(self) -> None:
        while (end := self.text.find(">", self.at)) < 0:
            self.require_short(len(self.text) - self.at, NOT_CLOSED)
            if not self.read_more():
                raise Broken(NOT_CLOSED)
        self.skip(end + 1 - self.at)


class Outline:
    """The structure that the tags give: nested folders, and bookmarks with the fields that follow them."""

    def __init__(self) -> None:
        self.folders: list[str] = []
        self.beyond = 0
        self.name = ""  # of the folder that opens next
        self.link: dict[str, str] | None = None
        self.line = 0
        self.field = ""  # which the next text is

    def add_text(self, text: str) -> None:
        if not self.field:
            return
        text = " ".join(html.unescape(text).split())
        if self.field == "folder":
            self.name = text
        elif self.link is not None and self.field and text:
            self.link[self.field] = f"{self.link.get(self.field, '')} {text}".strip()[:MAX_TEXT]

    def add_tag(self, tag: re.Match[str], line: int) -> Element | None:
        """The bookmark that ends with this tag, if one does."""
        is_end, name = bool(tag[1]), tag[2].lower()
        if name not in FIELDS:
            return None
        ended = None if name == "dd" or (is_end and name != "dl") else self.end()
        self.field = "" if is_end else FIELDS[name]
        if name == "a" and not is_end:
            self.link, self.line = attributes(tag[3]), line
            self.link["Folder"] = next((one for one in reversed(self.folders) if one), "")
        elif name == "dl":
            self.leave() if is_end else self.enter()
        return ended

    def end(self) -> Element | None:
        found = None if self.link is None else Element(self.line, self.link)
        self.link = None
        return found

    def enter(self) -> None:
        if len(self.folders) < MAX_FOLDERS:
            self.folders.append(self.name)
        else:
            self.beyond += 1
        self.name = ""

    def leave(self) -> None:
        if self.beyond:
            self.beyond -= 1
        elif self.folders:
            self.folders.pop()


def is_bookmarks(head: str) -> bool:
    return MARK in head[:1_000].lower()


def elements(file: TextIO) -> Iterator[Element]:
    """Every bookmark in `file`, which is open at its beginning."""
    text, outline, broken = Marked(file), Outline(), 0
    while broken <= MAX_BROKEN:
        try:
            between, tag = text.take()
        except Broken as error:
            broken += 1
            yield Element(text.line, None, error.args[0])
            if isinstance(error, Exhausted):
                return
            text.skip_line()
            continue
        outline.add_text(between)
        ended = outline.add_tag(tag, text.line) if tag else outline.end()
        if ended:
            text.steps = 0
            yield ended
        if tag is None:
            return


def attributes(text: str) -> dict[str, str]:
    """The attributes that are read, under the names of columns."""
    found = {"HREF": "", "Title": "", "Folder": ""}
    for match in ATTRIBUTE.finditer(text):
        if (name := NAMES.get(match[1].lower())) is not None:
            value = html.unescape(match[2] or match[3] or match[4] or "").strip()
            found[name] = "" if name == "ADD_DATE" and value == "0" else value
    return found


READER = FormatReader(is_bookmarks, elements, _l("There are no bookmarks in this file."))
