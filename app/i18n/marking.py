"""Jinja extension that marks the texts of templates for translation.

Templates are written in plain English; when one is compiled, its texts are marked. So no text can be
forgotten, and templates stay readable. A text is: what is between tags; the value of an attribute that is
read out or shown; a string in an expression that begins with a capital letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

# pages of visitors have languages of their own
ELSEWHERE = re.compile(r"public/|mail/")
SHOWN = ("aria-label", "title", "placeholder", "alt", "data-label", "data-copied", "data-not-copied")
UNSHOWN = frozenset({"script", "style", "svg", "code", "pre"})
AS_IS = frozenset({"pre", "code"})
LINES = re.compile(r"\s*\n\s*")  # indentation of a template, which is left out of pages
WORD = re.compile(r"[^\W\d_]{2}")
# a capital letter, and then no name that only programs read: `Sec-Fetch-Site`, `TextField`, `Link.id`
SENTENCE = re.compile(
    r"(?![A-Z][a-z]*(?:[A-Z.-]\w*)+$)"
    r"(?:[A-Z][a-z]|[A-Z] [a-z(]|\d+ [a-z]+ [a-z]|[A-Z]{3,4}, |[A-Z]{2,} [a-z]+ )"
)
TAG = re.compile(r"<(/?)([!a-zA-Z][\w-]*)")
ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*(["'])""")
# variables of these names hold texts of the code, and seldom ones that owners typed
SPOKEN = frozenset(
    "word words label label_text intro loss search_hint heading problem warning guidance hint question detail"  # noqa: SIM905
    " step text title save card_words calls_it note pixels_note phrase many one message".split()
)
SPOKEN_MAPS = frozenset({"lacks", "questions", "notes", "scopes"})
OWNED = frozenset({"row", "link", "option"})


class Marking(Extension):
    """Passes every text of a template through `mark_text`, and every string that is one through `say`."""

    def filter_stream(self, stream: TokenStream) -> TokenStream | Iterable[Token]:
        if stream.name and ELSEWHERE.match(stream.name):
            return stream
        return marked(list(stream))


GETTEXT = frozenset({"_", "gettext", "ngettext", "pgettext"})


def explicit(tokens: Sequence[Token]) -> set[int]:
    """The places of tokens within `{% trans %}` and of arguments of gettext: messages already."""
    found, depth, is_trans, start = set(), 0, False, -1
    for place, token in enumerate(tokens):
        if token.type == "block_begin" and tokens[place + 1].value in {"trans", "endtrans"}:
            is_trans = tokens[place + 1].value == "trans"
        if token.type == "lparen" and tokens[place - 1].value in GETTEXT and start < 0:
            start = depth
        depth += {"lparen": 1, "rparen": -1}.get(token.type, 0)
        if depth == start:
            start = -1
        if is_trans or start >= 0:
            found.add(place)
    return found


def marked(tokens: Sequence[Token]) -> Iterator[Token]:
    reader, depth, skipped = HtmlReader(), 0, 0
    messages = explicit(tokens)
    for place, token in enumerate(tokens):
        if place in messages:
            if token.type == "data":
                list(reader.pieces(str(token.value)))  # it keeps its position in the markup
            yield token
            continue
        if skipped:
            skipped -= 1
            continue
        depth += {"lparen": 1, "lbracket": 1, "rparen": -1, "rbracket": -1}.get(token.type, 0)
        if is_number(tokens, place):
            skipped = 2
            yield Token(token.lineno, "name", "digits")
        elif token.type == "data":
            yield from marked_data(reader, token)
        elif token.type == "string" and is_read(tokens, place, reader, depth):
            yield from call(token.lineno, "say", str(token.value))
        elif token.type == "variable_end" and reader.is_read and is_spoken(tokens, place):
            yield from (Token(token.lineno, "pipe", "|"), Token(token.lineno, "name", "say"), token)
        else:
            yield token


def is_number(tokens: Sequence[Token], place: int) -> bool:
    """Whether a number is formatted here: `"{:,}".format`, which is replaced by the reader's format."""
    return [str(token.value) for token in tokens[place : place + 3]] == ["{:,}", ".", "format"]


def marked_data(reader: HtmlReader, token: Token) -> Iterator[Token]:
    for is_text, piece in reader.pieces(str(token.value)):
        if is_text:
            yield Token(token.lineno, "variable_begin", "{{")
            yield from call(token.lineno, "mark_text", piece)
            yield Token(token.lineno, "variable_end", "}}")
        else:
            yield Token(token.lineno, "data", piece if AS_IS & {*reader.hidden} else LINES.sub("\n", piece))


def is_read(tokens: Sequence[Token], place: int, reader: HtmlReader, depth: int) -> bool:
    """Whether a string is shown to readers: a sentence of its own, or one of two alternatives in a text."""
    text, before, after = str(tokens[place].value), tokens[place - 1], tokens[place + 1]
    if before.type == "tilde" or after.type == "tilde":
        return False  # a part: the joined text is translated where it is shown
    is_one_of_two = reader.is_read and not depth and (after.value == "if" or before.value == "else")
    return is_sentence(text) or (is_one_of_two and bool(WORD.search(text)))


def is_spoken(tokens: Sequence[Token], end: int) -> bool:
    """Whether the expression before this place is like `{{ family.title }}`, with a name of SPOKEN."""
    start = end - 1
    while tokens[start].type in {"name", "dot"}:
        start -= 1
    if tokens[end - 1].type == "rbracket" and tokens[end - 2].type != "string":
        root = next(place for place in range(end, 0, -1) if tokens[place].type == "variable_begin") + 1
        return str(tokens[root].value) in SPOKEN_MAPS and tokens[root + 1].type == "lbracket"
    names = [str(token.value) for token in tokens[start + 1 : end] if token.type == "name"]
    if tokens[start].type != "variable_begin" or not names or names[-1] not in SPOKEN:
        return False
    return names[0] not in OWNED or names[-1] == "word"


def is_sentence(text: str) -> bool:
    return bool(SENTENCE.match(text)) and "/" not in text.partition(" ")[0]


def call(line: int, name: str, text: str) -> Iterator[Token]:
    yield Token(line, "name", name)
    yield Token(line, "lparen", "(")
    yield Token(line, "string", text)
    yield Token(line, "rparen", ")")


class HtmlReader:
    """Reads HTML in pieces, as it is between the tags of a template, and keeps its position in the markup."""

    def __init__(self) -> None:
        self.place = "text"  # text, tag, value
        self.quote = ""
        self.is_shown = False
        self.hidden: list[str] = []

    @property
    def is_read(self) -> bool:
        """Whether readers see the text at this position."""
        return (self.place == "value" and self.is_shown) or (self.place == "text" and not self.hidden)

    def pieces(self, html: str) -> Iterator[tuple[bool, str]]:
        """Each piece, and whether it is a text. White space around a text is a piece of its own."""
        position = 0
        while position < len(html):
            end = self.end_of(html, position)
            piece = html[position:end]
            yield from split(piece) if self.is_read else [(False, piece)]
            position = self.move(html, end)
            if position > end:
                yield False, html[end:position]

    def end_of(self, html: str, start: int) -> int:
        """The end of the current place."""
        if self.place == "tag":
            found = re.compile(r">|[\w:-]+\s*=\s*[\"']").search(html, start)
            return found.start() if found else len(html)
        sign = "<" if self.place == "text" else self.quote
        found_at = html.find(sign, start)
        return found_at if found_at >= 0 else len(html)

    def move(self, html: str, end: int) -> int:
        """Moves on to the next place. Returns where it begins."""
        if end == len(html):
            return end
        if self.place == "value":
            self.place = "tag"
            return end + 1
        if self.place == "text":
            return self.open_tag(html, end)
        if html[end] == ">":
            self.place = "text"
            return end + 1
        attribute = ATTRIBUTE.match(html, end)
        if attribute is None:
            return end + 1
        self.place, self.quote, self.is_shown = "value", attribute[2], attribute[1] in SHOWN
        return attribute.end()

    def open_tag(self, html: str, start: int) -> int:
        tag = TAG.match(html, start)
        if tag is None:
            return start + 1
        closes, name = tag[1], tag[2].lower()
        if name in UNSHOWN:
            if closes and name in self.hidden:
                self.hidden.remove(name)
            elif not closes:
                self.hidden.append(name)
        self.place = "tag"
        return tag.end()


def split(piece: str) -> Iterator[tuple[bool, str]]:
    core = piece.strip()
    if not WORD.search(core) or '="' in core or core.startswith("-"):
        yield False, piece
        return
    before, _, after = piece.partition(core)
    for is_text, part in ((False, before), (True, " ".join(core.split())), (False, after)):
        if part:
            yield is_text, part
