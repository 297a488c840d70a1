"""Messages as Babel's own extractors find them in the code, and catalogues as they are written."""

from __future__ import annotations

from babel.messages.pofile import read_po

from app.i18n.languages import HERE
from scripts.catalogues import VISITORS, find_messages

__all__ = ["DELIVERED", "VISITORS", "messages_in", "read_catalogue"]
# the files with what mails and chats say
DELIVERED = (
    "notifications/*.py",
    "notifications/transports/*.py",
    "templates/mail/*.html",
)


def messages_in(*patterns: str) -> list[str]:
    """The messages in files of app/, each once: of a plural its singular, and `context: message`."""
    found = (
        (text if isinstance(text, str) else text[0], context) for text, context in find_messages(*patterns)
    )
    return list(dict.fromkeys(f"{context}: {text}" if context else text for text, context in found))


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
