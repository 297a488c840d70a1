"""The texts of one row by field, and the alias among them.

A column of aliases contains aliases, which may have slashes inside (`blog/launch`), or whole URLs, whose host
is not part of the alias. Without a scheme the two look the same: the first part is a host where the whole
column contains URLs, or where it is the host of the row's own domain, its short link, or this instance.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from app.core.csv_files import unescape_text
from app.i18n.messages import lazy_gettext as _l
from app.import_export.columns import normalize_heading
from app.import_export.conventions import Conventions, is_address
from app.import_export.link_passwords import HEADINGS, had_password
from app.import_export.value_parsers import host_of, loaded
from app.input.parsers import Rejected

NO_ALIAS = _l("This address has no alias behind its host.")
MAX_TOLD = 200  # characters


def texts_of(
    cells: Mapping[str, str], columns: Mapping[str, str], conventions: Conventions
) -> dict[str, str]:
    """The texts of a row by field, without empty ones. `columns`: field → column."""
    texts = {name: unescape_text(cells.get(column, "")) for name, column in columns.items()}
    if "has_password" not in columns and conventions.known:
        texts["has_password"] = late_password(cells, conventions.known)
    return {name: text for name, text in texts.items() if text and text.strip() not in conventions.nulls}


def late_password(cells: Mapping[str, str], known: Collection[str]) -> str:
    """The mark of a password in a column that appeared only after the columns were named; "" without one."""
    late = (text for name, text in cells.items() if name not in known and normalize_heading(name) in HEADINGS)
    return next((text for text in late if had_password(text)), "")


class AliasCell(NamedTuple):
    """The cell that the alias is read from. `others`: more aliases, where a service gives a link several."""

    text: str
    is_address: bool
    others: list[str]
    whole_address: str = ""  # the row's short link, which gives its domain


def texts_and_alias(
    cells: Mapping[str, str], columns: Mapping[str, str], conventions: Conventions
) -> tuple[dict[str, str], AliasCell]:
    """The texts of a row, and its alias cell. `url` is the text of the alias; `short_url` is removed."""
    texts = texts_of(cells, columns, conventions)
    whole_address = texts.pop("short_url", "")
    alias = alias_cell(texts, whole_address, conventions)
    texts["url"] = alias.text
    return {name: text for name, text in texts.items() if text}, alias


def alias_cell(texts: Mapping[str, str], whole_address: str, conventions: Conventions) -> AliasCell:
    """The cell that the alias is read from: the row's short link where there is no other.

    A JSON list is Bitly's `custom_bitlinks`.
    """
    text = texts.get("url", "")
    found = loaded(text) if text.startswith("[") else None
    several = [str(one) for one in found if one] if isinstance(found, list) else [text]
    first = several[0] if several else ""
    if first:
        # the convention was found from the first rows only, so each text is checked too
        is_one = conventions.has_addresses and is_address(first)
        return AliasCell(first, is_one, several[1:], whole_address)
    return AliasCell(whole_address, is_address=True, others=[], whole_address=whole_address)


def describe_others(others: Collection[str]) -> str:
    return _l(
        "It had more than one alias. These are not made: %(aliases)s", aliases=", ".join(others)[:MAX_TOLD]
    )


def alias_of(text: str, hosts: Collection[str] = (), *, is_address: bool = False) -> str:
    """The alias itself, or the path of a whole URL. Raises Rejected for a URL without one."""
    is_whole = "://" in text or text.startswith("//")
    host, slash, path = text.partition("/")
    if is_whole:
        path = path_of(text)
    elif not slash:
        return text
    elif not (is_address or host.lower() in hosts):
        # the whole text is the alias, without the slashes around it, which plugins of YOURLS write
        return unquote(text.strip("/")) if text.startswith("/") else text.rstrip("/")
    if not (alias := unquote(path.partition("?")[0].partition("#")[0].strip("/"))):
        raise Rejected(NO_ALIAS, "alias")
    return alias


def path_of(address: str) -> str:
    try:
        return urlsplit(address).path
    except ValueError:
        raise Rejected(NO_ALIAS, "alias") from None


def hosts_of(texts: Mapping[str, str], whole_address: str) -> set[str]:
    """The hosts of a row's own domain and short link."""
    named = [texts.get("domain", ""), whole_address if "/" in whole_address else ""]
    return {host_of(text) for text in named if text}
