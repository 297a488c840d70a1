"""Brings every catalogue up to date with the messages of the code, and compiles it: `make messages`.

New messages come in without a translation, and those that the code has no more go. Babel's extractors find
them. A catalogue whose Language-Team is "visitors" gets the messages of visitors' pages only.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from app.core.folders import ROOT
from app.i18n.languages import HERE, VISITORS_ONLY
from app.i18n.messages import CODES
from app.openapi.document import PROBLEMS, body
from app.openapi.operations import operations

EVERYTHING = (
    "**/*.py",
    "templates/**/*.html",
    "static/*.js",
    "audit/actions.toml",
    "dashboard/words.toml",
    "public/*.toml",
)
VISITORS = ("public/**/*.py", "public/*.toml", "templates/public/*.html")
KEYWORDS: dict[str, Any] = {
    "_": None,
    "_l": None,
    "_noop": None,
    "gettext": None,
    "lazy_gettext": None,
    "ngettext": (1, 2),
    "lazy_ngettext": (1, 2),
    "ngettext_noop": (1, 2),
    "pgettext": ((1, "c"), 2),
}
JINJA = {"silent": "false", "newstyle_gettext": "true", "trimmed": "true"}
WIDTH = 110

Message = tuple[str | tuple[str, ...], str | None]  # a text or the forms of a plural, and a context


def toml_texts(file: IO[bytes], *_: object, **_options: object) -> Iterator[tuple[int, None, str, list[str]]]:
    """An extractor for Babel: each text in a TOML file is a message."""
    content = file.read().decode()
    for text in texts_in(tomllib.loads(content)):
        yield content[: max(content.find(text), 0)].count("\n") + 1, None, text, []


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from texts_in(one)
    else:
        for name, one in value.items():
            yield from texts_in(one) if name not in CODES else ()


METHODS: dict[str, Any] = {".py": "python", ".html": "jinja2", ".js": "javascript", ".toml": toml_texts}


def find_messages(*patterns: str) -> dict[Message, str]:
    """The messages in files of app/, each once, and where it is found first."""
    found: dict[Message, str] = {}
    for pattern in patterns:
        for path in sorted((ROOT / "app").glob(pattern)):
            for line, message in extracted(path):
                found.setdefault(message, f"{path.relative_to(ROOT)}:{line}")
    return found


def extracted(path: Path) -> Iterator[tuple[int, Message]]:
    for line, text, _, context in extract_from_file(
        METHODS[path.suffix], str(path), keywords=KEYWORDS, options=JINJA
    ):
        yield line, (text if isinstance(text, str) else tuple(text), context)


def api_texts() -> list[str]:
    """The texts of the API's description that the API page shows: some are made of parts."""
    every = operations()
    schemas = [schema for one in every for schema in one.query.values()]
    schemas += [schema for one in every if one.form for schema in body(one)["properties"].values()]
    schemas += [schema["items"] for schema in schemas if "items" in schema]
    texts = [one.summary for one in every] + [one.tag for one in every] + list(PROBLEMS.values())
    texts += [schema.get("description", "").rstrip(".") for schema in schemas]
    return sorted({text for text in texts if text})


@cache
def all_messages() -> dict[Message, str]:
    return {(text, None): "the description of the API" for text in api_texts()} | find_messages(*EVERYTHING)


def up_to_date(path: Path) -> Catalog:
    """The catalogue at a path with the messages that the code has now."""
    with path.open("rb") as file:
        catalogue = read_po(file)
    is_visitors = catalogue.language_team == VISITORS_ONLY
    template = Catalog(creation_date=catalogue.creation_date)  # a new date would be a change each time
    for text, context in find_messages(*VISITORS) if is_visitors else all_messages():
        template.add(text, context=context)
    catalogue.update(template, no_fuzzy_matching=True)
    catalogue.obsolete.clear()
    return catalogue


def write(path: Path, catalogue: Catalog) -> None:
    with path.open("wb") as file:
        write_po(file, catalogue, sort_output=True, width=WIDTH)
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, catalogue)


def lacking(catalogue: Catalog) -> Sequence[str]:
    """The messages without a whole translation."""
    return [str(one.id) for one in catalogue if one.id and not all([one.string, *list_of(one.string)])]


def list_of(texts: Any) -> list[str]:
    return list(texts) if isinstance(texts, tuple | list) else [texts]


def main() -> None:
    for path in sorted(HERE.glob("*/LC_MESSAGES/messages.po")):
        catalogue = up_to_date(path)
        write(path, catalogue)
        print(f"{path.relative_to(ROOT)}: {len(catalogue)} messages, {len(lacking(catalogue))} untranslated")


if __name__ == "__main__":
    main()
