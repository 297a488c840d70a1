"""Reading of cells: texts by field, aliases, states, tags, passwords and pictures, as files have them.

A column of aliases contains aliases, which may have slashes inside (`blog/launch`), or whole URLs, whose host
is not part of the alias. Without a scheme the two look the same: the first part is a host where the whole
column contains URLs, or where it is the host of the row's own domain, its short link, or this instance.

A password moves as its argon2id hash, or as a mark that there was one. A link that had one and comes without
its hash is created switched off, because it would be open to everyone
(docs/decisions/2026-11-22-passwords-in-exports.md). A picture is in the row as a data URL (RFC 2397), or a
member of the ZIP. It may be hostile: its length is limited before it is decoded; then it is an upload like
any other, which the form has a helper process write anew (docs/decisions/2026-11-23-whole-links-in-json.md).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from app.core.csv_files import unescape_text
from app.i18n.messages import lazy_gettext as _l
from app.import_export.columns import COLUMNS, Conventions, is_address, normalize_heading
from app.import_export.readers.archive import MAX_PICTURE_BYTES, ArchiveReader, oversize
from app.input.data import Upload
from app.input.parsers import Rejected
from app.links import uploads
from app.links.history import PICTURES
from app.web.media import TYPES

Name = tuple[str, ...]
#: parses one cell of a row by its field, and notes its problem; the optional third argument is the default
Read = Callable[..., Any]
NO_ALIAS = _l("This address has no alias behind its host.")
MAX_TOLD = 200  # characters
COLOR = re.compile(r"#[0-9a-f]{6}", re.ASCII)

# States of links at other services, without case. A hidden or archived link still redirects there
# (as far as we know, Bitly, Dub and Short.io only take it out of their lists)
ON = ("active", "enabled", "live", "published", "hidden", "archived", "ok")
OFF = (
    *("inactive", "disabled", "deleted", "removed", "expired", "blocked"),
    *("banned", "suspended", "paused", "draft"),
)
STATES = {**dict.fromkeys(ON, "1"), **dict.fromkeys(OFF, "0")}

# --- the texts of a row, and the alias among them


class AliasCell(NamedTuple):
    """The cell that the alias is read from. `others`: more aliases, where a service gives a link several."""

    text: str
    is_address: bool
    others: list[str]
    whole_address: str = ""  # the row's short link, which gives its domain

    @property
    def named_domain(self) -> str:
        """The whole URL that names the link's domain; "" without one."""
        return next((text for text in (self.text, self.whole_address) if "/" in text.strip("/")), "")


def texts_and_alias(
    cells: Mapping[str, str], columns: Mapping[str, str], conventions: Conventions
) -> tuple[dict[str, str], AliasCell]:
    """The texts of a row, and its alias cell. `url` is the text of the alias; `short_url` is removed."""
    texts = texts_of(cells, columns, conventions)
    whole_address = texts.pop("short_url", "")
    alias = alias_cell(texts, whole_address, conventions)
    texts["url"] = alias.text
    return {name: text for name, text in texts.items() if text}, alias


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


def host_of(text: str) -> str:
    return (urlsplit(text if "://" in text else f"//{text}").netloc).lower()


# --- values


def flag_of(text: str) -> str:
    """A state as the form reads it. An unknown text is returned as it is, and the form rejects it."""
    return STATES.get(text.strip().lower(), text)


def tags_of(text: str) -> list[str]:
    """Tags as our own export writes them, else separated by `|`, `;` or commas."""
    found = loaded(text) if text.startswith("[") else None
    if isinstance(found, list):  # in the APIs of Rebrandly and Dub a tag is an object with a name
        return [str(one["name"] if isinstance(one, dict) and "name" in one else one) for one in found]
    separator = next((each for each in "|;" if each in text), ",")
    return [tag.strip() for tag in text.split(separator) if tag.strip()]


def pairs_of(text: str) -> list[tuple[str, str]]:
    found = loaded(text)
    if not isinstance(found, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in found):
        raise Rejected(_l('This must be pairs like [["DE","https://example.com/de"]].'), "format")
    return [(str(key), str(value)) for key, value in found]


def names_of(text: str, problem: str) -> list[Name]:
    """The names in a cell of our own export: handlers by type and name, pixels by type, id and name."""
    found = loaded(text)
    if not isinstance(found, list):
        raise Rejected(problem, "format")
    return [tuple(map(str, one)) if isinstance(one, list) else () for one in found]


def named_ids(names: Sequence[Name], known: Mapping[Name, Sequence[int]]) -> list[int]:
    """The ids of names, of which none is missing. A name that occurs twice stands for two rows with it."""
    return sorted(id_ for name, count in Counter(names).items() for id_ in known[name][:count])


def missing_names(names: Sequence[Name], known: Mapping[Name, Sequence[int]]) -> dict[Name, int]:
    """How many rows of each name are missing."""
    missing = {name: count - len(known.get(name, ())) for name, count in Counter(names).items()}
    return {name: count for name, count in missing.items() if count > 0}


def read_color(text: str) -> str:
    """A colour as `#rrggbb`. Raises Rejected."""
    if not COLOR.fullmatch(text.lower()):
        raise Rejected(_l("This must be a colour like #4263eb."), "format")
    return text.lower()


def loaded(text: str) -> Any:
    """The value of a JSON text; None for any other text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# --- pictures

# the field with the picture itself, by the field with its name
DATA_FIELDS: Mapping[str, str] = MappingProxyType({name: f"{name}_data" for name in PICTURES})
FOLDER = "pictures"  # of the ZIP; other files only contain the names in it
DATA_URL = re.compile(r"data:image/[a-z0-9.+-]{1,40};base64,", re.ASCII | re.IGNORECASE)
MAX_BASE64 = 4 * (MAX_PICTURE_BYTES // 3 + 1)

NO_DATA_URL = _l("This must be a picture as a data URL: data:image/png;base64,…")
NO_BASE64 = _l("This picture is damaged: its base64 can't be read.")
NO_PICTURE = _l("This file does not contain its picture. Waypost's JSON and its file of everything do.")


def read_pictures(
    read: Read, texts: Mapping[str, str], archive: ArchiveReader | None
) -> tuple[dict[str, Upload], list[list[str]]]:
    """Pictures of a row by field, as uploads, and what its owner must know about them."""
    found: dict[str, Upload | None] = {}
    notices = []
    for name, data in DATA_FIELDS.items():
        if data in texts:
            found[name] = read(data, read_data_url)
        elif archive is not None:
            found[name] = read(name, archive.picture)
        elif name in texts:
            notices.append([name, NO_PICTURE])
    return {name: upload for name, upload in found.items() if upload}, notices


def read_data_url(text: str) -> Upload:
    """The picture like an upload, not validated yet. Raises Rejected."""
    match = DATA_URL.match(text)
    if match is None or match.end() == len(text):
        raise Rejected(NO_DATA_URL, "format")
    if len(text) - match.end() > MAX_BASE64:
        return oversize("")
    try:
        return Upload("", base64.b64decode(text[match.end() :], validate=True))
    except ValueError:
        raise Rejected(NO_BASE64, "format") from None


def with_pictures(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of an export, with its pictures in it."""
    named = {data: row[name] for name, data in DATA_FIELDS.items() if row[name]}
    return {**row, **{data: data_url(text.removeprefix(f"{FOLDER}/")) for data, text in named.items()}}


def data_url(name: str) -> str | None:
    """A stored picture as a data URL; None if it was replaced meanwhile, or no import would take it."""
    path = uploads.path_of(name)
    try:
        if path.stat().st_size > MAX_PICTURE_BYTES:  # stored before re-encoded pictures had a limit
            return None
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    return f"data:{TYPES[path.suffix[1:]]};base64,{base64.b64encode(content).decode()}"


# --- passwords

# An owner chooses the hash, and every visitor's attempt computes it, so its cost must be limited. The second
# set that RFC 9106 recommends (64 MiB, 3 passes, 4 lanes) is within; Waypost's own hashes are far below
MAX_MEMORY_KIB, MAX_PASSES, MAX_LANES = 64 * 1024, 4, 4
MIN_KIB_PER_LANE = 8  # argon2 refuses less, so that no password would open the link
SALT_BYTES, HASH_BYTES = range(8, 65), range(16, 65)
MAX_VERSION = 2**30
HASH = re.compile(
    r"\$argon2id\$v=19\$m=([1-9][0-9]{0,9}),t=([1-9][0-9]{0,9}),p=([1-9][0-9]{0,9})"
    r"\$([A-Za-z0-9+/]{1,100})\$([A-Za-z0-9+/]{1,100})"
)
NO = frozenset({"", "0", "false", "no", "null"})

# replaces a hash, or a plain password, wherever a row is stored or shown
HIDDEN = "********"
PLAIN_MARKS = NO | {"1", "true", "yes"}
FIELDS = ("password_hash", "has_password")
NOT_STORED = ("handler_settings", *DATA_FIELDS.values())
HEADINGS, NOT_STORED_HEADINGS = (
    frozenset(normalize_heading(heading) for name in fields for heading in COLUMNS[name].headings)
    for fields in (FIELDS, NOT_STORED)
)
ANY_HASH = "$argon2"

NO_HASH = _l("This is not an argon2id hash as exported by Waypost. Remove it, and set a password afterwards.")
COSTLY = _l(
    "Checking this hash would take too much memory or time. Remove it, and set a password afterwards."
)
SWITCHED_OFF = _l("It had a password that this file does not hold. It is off: set one, then turn it on.")


def read_hash(text: str) -> str:
    """The hash, if it is well-formed and cheap enough to check. Raises Rejected."""
    match = HASH.fullmatch(text)
    if match is None or not (has_length(match[4], SALT_BYTES) and has_length(match[5], HASH_BYTES)):
        raise Rejected(NO_HASH, "format")
    memory, passes, lanes = (int(match[number]) for number in (1, 2, 3))
    if memory > MAX_MEMORY_KIB or passes > MAX_PASSES or lanes > MAX_LANES:
        raise Rejected(COSTLY, "range")
    if memory < MIN_KIB_PER_LANE * lanes:
        raise Rejected(NO_HASH, "format")
    return text


def has_length(text: str, lengths: range) -> bool:
    """Whether `text` is canonical unpadded base64, as argon2 requires, of a length in `lengths` (bytes)."""
    try:
        octets = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return False
    return len(octets) in lengths and base64.b64encode(octets).decode().rstrip("=") == text


def had_password(text: str) -> bool:
    """Whether a cell says that there was a password. Unknown words count as yes, to keep the link closed."""
    return text.strip().lower() not in NO


def hide_secrets(cells: Mapping[str, str], columns: Mapping[str, str]) -> dict[str, str]:
    """The cells of a row as they may be stored: without hashes, and without passwords from other services.

    `columns`: field → column. The replacement shows that there was a password. The settings of handlers and
    the data of pictures, which are megabytes, are left out without one.
    """
    # by heading also columns that are not read, or that only later rows have
    headings = {name: normalize_heading(name) for name in cells}
    chosen = {column: field for field, column in columns.items()}
    secret = {name for name in cells if headings[name] in HEADINGS or chosen.get(name) in FIELDS}
    return {
        name: HIDDEN
        if ANY_HASH in text or (name in secret and text.strip().lower() not in PLAIN_MARKS)
        else text
        for name, text in cells.items()
        if headings[name] not in NOT_STORED_HEADINGS and chosen.get(name) not in NOT_STORED
    }
