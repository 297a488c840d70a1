"""Messages as Babel's own extractors find them in the code, and catalogues as they are written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po

from app.core.config import ROOT
from app.i18n.languages import HERE

# the files with what visitors read, and with what mails and chats say
VISITORS = ("public/**/*.py", "templates/public/*.html")
DELIVERED = (
    "notifications/*.py",
    "notifications/transports/*.py",
    "import_export/emails.py",
    "templates/mail/*.html",
)
KEYWORDS: dict[str, tuple[object, ...] | None] = {
    "_": None,
    "_l": None,
    "gettext": None,
    "lazy_gettext": None,
    "ngettext": (1, 2),
    "lazy_ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
}
METHODS = {".py": "python", ".html": "jinja2"}


def messages_in(*patterns: str) -> list[str]:
    """The messages in files of app/, each once: of a plural its singular, and `context: message`."""
    paths = [path for pattern in patterns for path in sorted((ROOT / "app").glob(pattern))]
    return list(dict.fromkeys(text for path in paths for text in extracted(path)))


def extracted(path: Path) -> Iterator[str]:
    options = {"silent": "false", "newstyle_gettext": "true", "trimmed": "true"}
    found = extract_from_file(METHODS[path.suffix], str(path), keywords=KEYWORDS, options=options)
    for _, message, _, context in found:
        text = message if isinstance(message, str) else message[0]
        yield f"{context}: {text}" if context else text


def read_catalogue(tag: str) -> dict[str, str]:
    """The translation of each message; of one with plural forms, the last of them."""
    with (HERE / tag / "LC_MESSAGES" / "messages.po").open("rb") as file:
        found = [(one.context, one.id, one.string) for one in read_po(file) if one.id]
    return {
        (f"{context}: " if context else "") + (id_ if isinstance(id_, str) else id_[0]): (
            text if isinstance(text, str) else text[-1]
        )
        for context, id_, text in found
    }
