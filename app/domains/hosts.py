"""Which host does a text name, and may it be somebody's domain?

Stored as browsers send it: lower-case, `xn--`, with a port only where that is not the usual one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

import idna
import regex

from app.addresses import BadAddress, refuse_unwritable, wire_host
from app.reading import Rejected

MOST = 261
SHAPE = re.compile(r"([^\s/?#@:\[\]\\%]+)(?::([0-9]{1,5}))?", re.ASCII)
DOTTED = re.compile(r"[0-9.]+", re.ASCII)
USUAL_PORTS = {80, 443}
LOCAL = "localhost"

# Scripts in everyday use, each by itself, and those that are written together (UTS #39, UAX #31)
SCRIPTS = """
    Latin Cyrillic Greek Armenian Hebrew Arabic Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu
    Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Ethiopic Khmer Thaana Han+Hiragana+Katakana
    Han+Hangul Han+Bopomofo
"""


def written_in(scripts: str) -> str:
    allowed = "".join(rf"\p{{Script={script}}}" for script in scripts.split("+"))
    return rf"[{allowed}\p{{Script=Common}}\p{{Script=Inherited}}]+"


OF_ONE_SCRIPT = regex.compile("|".join(map(written_in, SCRIPTS.split())))
# letters of other scripts that look like Latin ones: a label of these alone is read as another one
AS_LATIN = str.maketrans("аеорсухіјѕһԁԛԝӏαορνικτս01ıł", "aeopcyxijshdqwlaopviktuolil")
LOOK_LATIN = regex.compile(r"(?=.*\p{L})[аъьсԁеіјӏһорԛѕѵѡԝхуүпгҽαικνρυωηοτցհոսօյզգ\-\p{Nd}]+")


def read_host(text: str) -> str:
    """`Gö.Example:443` → `xn--g-1ga.example`. Raises Rejected for what can be no domain."""
    try:
        refuse_unwritable(text, MOST)
    except BadAddress as bad:
        raise Rejected(str(bad), bad.code) from None
    match = SHAPE.fullmatch(text)
    if text.startswith("[") or text.count(":") > 1:
        raise Rejected("An IP address can't be a domain.", "ip_address")
    if match is None or (port := int(match[2] or 443)) not in range(1, 65536):
        raise Rejected("This must be a host like go.example, perhaps with a port.", "host")
    name = read_name(match[1].removesuffix("."))
    return name if port in USUAL_PORTS else f"{name}:{port}"


def read_name(text: str) -> str:
    try:
        wire = wire_host(text)
        name = (
            wire if DOTTED.fullmatch(wire) else idna.encode(text, uts46=True, std3_rules=True).decode("ascii")
        )
    except ValueError:  # also IDNA's own
        raise Rejected("There can be no such host.", "host") from None
    if DOTTED.fullmatch(name):
        raise Rejected("An IP address can't be a domain.", "ip_address")
    if name == LOCAL:
        raise Rejected("This is the machine itself, for everybody another one.", "own")
    if is_look_alike(idna.decode(name)):
        raise Rejected("This looks like another name, and would be taken for it.", "look_alike")
    return name


def is_look_alike(name: str) -> bool:
    """Does a label mix scripts, or is it of foreign letters that all look like Latin ones?

    The latter only under a Latin top level: under `рф` nobody takes Cyrillic for anything else.
    """
    labels = name.split(".")
    if not all(OF_ONE_SCRIPT.fullmatch(label) for label in labels):
        return True
    return labels[-1].isascii() and any(
        not label.isascii() and LOOK_LATIN.fullmatch(label) for label in labels[:-1]
    )


def is_like(name: str, others: Collection[str]) -> bool:
    """Would a quick eye take it for one of these? Accents, digits for letters, foreign letters."""
    return looks(name) in {looks(other) for other in others if other and not DOTTED.fullmatch(other)}


def looks(name: str) -> str:
    """What is left of a name at a glance."""
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", readable(name))
        if not unicodedata.combining(letter)
    )
    return plain.casefold().translate(AS_LATIN).replace("rn", "m").replace("vv", "w")


def name_of(host: str) -> str:
    """The host without its port."""
    return host.partition(":")[0]


def readable(host: str) -> str:
    """As people read it: `xn--g-1ga.example` → `gö.example`."""
    name, colon, port = host.partition(":")
    try:
        return idna.decode(name) + colon + port
    except idna.IDNAError:
        return host
