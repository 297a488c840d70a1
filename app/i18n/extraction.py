"""Extraction of the texts to translate, for `pybabel` (by babel.cfg) and for the tests.

Of templates: what `{% trans %}`, `_()` and `ngettext()` word. Of Python: every string that begins as a
sentence does, except docstrings and log lines. An f-string becomes a text with slots, `%(name)s`, that a
catalogue matches by a pattern.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from babel.messages.extract import extract
from jinja2 import Environment
from jinja2.ext import extract_from_ast

from app.i18n.names import NAMES

Message = tuple[int, None, str, list[str]]
ENVIRONMENT = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
ENVIRONMENT.newstyle_gettext = True  # type: ignore[attr-defined]  # of the extension
ENVIRONMENT.policies["ext.i18n.trimmed"] = True
GETTEXT = {"_": 1, "_l": 1, "gettext": 1, "lazy_gettext": 1, "ngettext": 2, "lazy_ngettext": 2}
# a capital letter, and then no name that only programs read: `Sec-Fetch-Site`, `TextField`, `Link.id`
SENTENCE = re.compile(
    r"(?![A-Z][a-z]*(?:[A-Z.-]\w*)+$)"
    r"(?:[A-Z][a-z]|[A-Z] [a-z(]|\d+ [a-z]+ [a-z]|[A-Z]{3,4}, |[A-Z]{2,} [a-z]+ )"
)
# calls whose texts are for programs, operators and the log
UNREAD_CALLS = frozenset(
    {"warning", "info", "error", "exception", "debug", "getLogger", "compile", "RuntimeError"}
)


def is_sentence(text: str) -> bool:
    return bool(SENTENCE.match(text)) and "/" not in text.partition(" ")[0]


def messages_of_template(file: IO[bytes], options: Any) -> Iterator[Message]:
    """Messages of `{% trans %}`, `_()` and `ngettext()`."""
    tree = ENVIRONMENT._parse(file.read().decode(), options.get("name"), None)  # noqa: SLF001
    for line, function, messages in extract_from_ast(tree, tuple(GETTEXT)):
        for text in [messages] if isinstance(messages, str) else (messages or ())[: GETTEXT[function]]:
            if text:
                yield line, None, text, []


def messages_of_python(file: IO[bytes], _options: Any) -> Iterator[Message]:
    for node in ast.walk(ast.parse(file.read())):
        if isinstance(node, ast.Call) and name_of(node.func) in GETTEXT:
            for argument in node.args[: GETTEXT[name_of(node.func)]]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield node.lineno, None, argument.value, []


def of_script(file: IO[bytes], _keywords: Any, _comments: Any, _options: Any) -> Iterator[Message]:
    for line, message, _, _ in extract("javascript", file):
        for text in [message] if isinstance(message, str) else message:
            yield line, None, text, []


def of_python(file: IO[bytes], _keywords: Any, _comments: Any, options: Any) -> Iterator[Message]:
    tree = ast.parse(file.read())
    skipped, is_wordy = set(unread(tree)), bool(WORDY.search(options.get("name", "")))
    constants = dict(constants_of(tree))
    parts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg in PARTS}
    for node in ast.walk(tree):
        text = text_of(node, constants) if id(node) not in skipped else None
        if text and (is_sentence(text) or id(node) in parts or is_told(text, is_wordy=is_wordy)):
            yield node.lineno, None, text.strip(), []  # type: ignore[attr-defined]


# names of arguments that hold words within a sentence
PARTS = frozenset({"one", "many", "hint", "calls_it", "label"})
# modules whose texts begin in the middle of a sentence
WORDY = re.compile(r"_notes\.py|redirects/")


def is_told(text: str, *, is_wordy: bool) -> bool:
    """Whether a text begins with a slot, or in the middle of a sentence."""
    return " " in text.strip() and (text.startswith("%(") or (is_wordy and text[0].islower()))


def unread(tree: ast.AST) -> Iterator[int]:
    """Ids of nodes to skip: docstrings, parts of f-strings, and arguments of UNREAD_CALLS."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield id(node.value)
        elif isinstance(node, ast.JoinedStr):
            yield from (id(part) for part in node.values)
        elif isinstance(node, ast.Call) and name_of(node.func) in UNREAD_CALLS:
            yield from (id(part) for part in ast.walk(node))


BRACES = re.compile(r"\{([\w.]+)\}")  # in a text that `format` fills


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def constants_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """A module's constant texts by their names: in an f-string they are no slots."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            text = text_of(node.value, {})
            if text is not None and "%(" not in text:
                yield node.targets[0].id, text


def text_of(node: ast.AST, constants: Mapping[str, str]) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return BRACES.sub(lambda found: f"%(v{found[1].replace('.', '_')})s", node.value)
    if isinstance(node, ast.JoinedStr):
        return slotted(node, constants)
    return None


def slotted(node: ast.JoinedStr, constants: Mapping[str, str]) -> str:
    """`f"{name} is saved."` → `%(name)s is saved.`; each slot has a name of its own."""
    found, names = "", set()
    for part in node.values:
        if isinstance(part, ast.Constant):
            found += str(part.value).replace("%", "%%")
        elif isinstance(part, ast.FormattedValue):
            name = name_of(part.value) or "value"
            if name in constants:
                found += constants[name].replace("%", "%%")
                continue
            while name in names:
                name += "_"
            names.add(name)
            found += f"%({name})s"
    return found


def all_texts(root: Path) -> dict[str, str]:
    """Every text, and where it occurs first."""
    found: dict[str, str] = {}
    for pattern, messages in (
        ("templates/**/*.html", messages_of_template),
        ("templates/**/*.txt", messages_of_template),
        ("**/*.py", messages_of_python),
    ):
        for path in sorted((root / "app").glob(pattern)):
            name = path.relative_to(root / "app").as_posix()
            with path.open("rb") as file:
                for line, _, text, _ in messages(file, {"name": name.removeprefix("templates/")}):
                    found.setdefault(text, f"{name}:{line}")
    for pattern, method in (
        ("static/*.js", of_script),
        ("**/*.py", of_python),
    ):
        for path in sorted((root / "app").glob(pattern)):
            name = path.relative_to(root / "app").as_posix()
            if not is_read(name):
                continue
            with path.open("rb") as file:
                for line, _, text, _ in method(file, (), (), {"name": name.removeprefix("templates/")}):
                    found.setdefault(text, f"{name}:{line}")
    return found


READ = re.compile(
    r"templates/(?!public|mail)|static/|redirects/(?:resolve|targets|presentation|simulation/explanation)\.py|"
    r"(?:core/(?:urls|errors)|input/(?:fields|forms|parsers|listing|data)|web/(?:errors|body))\.py|"
    r"net/(?:http|dial|networks|dns|session)\.py|"
    r"import_export/(?!archive_contents|bookmarks|dates|emails)|"
    r"(?!accounts/(?:ownership|sign_in_failures)|domains/verification|notifications/test_send)"
    r"(?:dashboard|accounts|projects|domains|pixels|notifications|links|trash)/"
)


# deliveries go to other people, in English
DELIVERED = re.compile(
    r"notifications/(mail|report|message|formatting|events|site|i18n|security_email|languages/.*)\.py"
)
PROGRAM = re.compile(
    r"(?:[A-Z][a-z]*-)+[A-Z]\w*(=.*)?|\w+\.\w+|/api/.*|Latin Cyrillic.*|E+ d M+ y|Basic .*|"
    r"The (body|multipart).*|Bitly|Dub|Kutt|Linkly|Rebrandly|Shlink|Switchy",
    re.DOTALL,
)


def is_read(name: str) -> bool:
    """Whether a file holds texts that the dashboard shows."""
    return bool(READ.match(name)) and not DELIVERED.fullmatch(name)


def needs_words(text: str) -> bool:
    """Whether a text has anything to translate."""
    plain = re.sub(r"%\(\w+\)s", "", text)
    is_program = text in NAMES or PROGRAM.fullmatch(text) or "{" in text
    return bool(re.search(r"[^\W\d_]{2}", plain)) and not is_program
