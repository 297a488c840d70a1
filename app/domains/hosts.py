"""Parsing of hosts that may be an owner's domain, and detection of those that look like one another.

A host is stored as browsers send it: lower-case, `xn--`, with a port only where that is not the usual one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

import idna
import regex

from app.core.caches import cache_texts
from app.core.urls import BadAddress, refuse_unwritable, wire_host
from app.i18n.messages import lazy_gettext as _l
from app.input.parsers import Rejected

MAX_HOST_LENGTH = 261
SHAPE = re.compile(r"([^\s/?#@:\[\]\\%]+)(?::([0-9]{1,5}))?", re.ASCII)
DOTTED = re.compile(r"[0-9.]+", re.ASCII)
USUAL_PORTS = {80, 443}
LOCAL = "localhost"


def read_host(text: str) -> str:
    """`Gö.Example:443` → `xn--g-1ga.example`. Raises Rejected for a text that can't be a domain."""
    try:
        refuse_unwritable(text, MAX_HOST_LENGTH)
    except BadAddress as bad:
        raise Rejected(str(bad), bad.code) from None
    match = SHAPE.fullmatch(text)
    if text.startswith("[") or text.count(":") > 1:
        raise Rejected(_l("An IP address can't be a domain."), "ip_address")
    if match is None or (port := int(match[2] or 443)) not in range(1, 65536):
        raise Rejected(_l("This must be a host like go.example, perhaps with a port."), "host")
    name = read_name(match[1].removesuffix("."))
    return name if port in USUAL_PORTS else f"{name}:{port}"


def read_name(text: str) -> str:
    try:
        wire = wire_host(text)
        name = (
            wire if DOTTED.fullmatch(wire) else idna.encode(text, uts46=True, std3_rules=True).decode("ascii")
        )
    except ValueError:  # also IDNA's own
        raise Rejected(_l("There can be no such host."), "host") from None
    if DOTTED.fullmatch(name):
        raise Rejected(_l("An IP address can't be a domain."), "ip_address")
    if name == LOCAL:
        raise Rejected(_l("This is the server's own machine, and a different one for every visitor."), "own")
    if is_look_alike(idna.decode(name)):
        raise Rejected(_l("This looks like another name and could be confused with it."), "look_alike")
    return name


def is_like(name: str, others: Collection[str]) -> bool:
    """Whether this host looks like one of `others`: by accents, digits for letters, or foreign letters."""
    return glance(name) in {glance(other) for other in others if other and not DOTTED.fullmatch(other)}


@cache_texts(8192, max_characters=261, bytes_per_entry=1500)
def glance(host: str) -> str:
    """The skeleton of a host: hosts that look alike have the same."""
    return looks(readable(name_of(host)))


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


# --- names that look like one another

# Scripts in everyday use, each by itself, and combinations that are used together (UTS #39, UAX #31)
SCRIPTS = """
    Latin Cyrillic Greek Armenian Hebrew Arabic Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu
    Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Ethiopic Khmer Thaana Han+Hiragana+Katakana
    Han+Hangul Han+Bopomofo
"""


def written_in(scripts: str) -> str:
    allowed = "".join(rf"\p{{Script={script}}}" for script in scripts.split("+"))
    return rf"[{allowed}\p{{Script=Common}}\p{{Script=Inherited}}]+"


OF_ONE_SCRIPT = regex.compile("|".join(map(written_in, SCRIPTS.split())))
# letters of other scripts that look like Latin ones: a label of these alone is read as a Latin one
LOOK_LATIN = regex.compile(r"(?=.*\p{L})[аъьсԁеіјӏһорԛѕѵѡԝхуүпгҽαικνρυωηοτցհոսօյզգ\-\p{Nd}]+")
# Latin letters and what looks like them, in lower case, without accents. Sources: the confusables of Unicode
# for Cyrillic, Greek and Armenian (UTS #39), and what the spoof checker of Chromium adds to them.
LIKE = {
    "a": "аαɑ", "b": "ьвƅъβ", "c": "сϲҫ", "d": "ԁժԃ", "e": "еҽєɛε", "f": "ғӻք", "g": "ɡցԍգ",
    "h": "һհнћңҥӈӊԋԧԩħ", "i": "іıιɩ", "j": "јյ", "k": "кκқҝҟҡӄԟĸ", "l": "ӏ1ł|", "m": "м",
    "n": "пηոռԥŋ", "o": "оοσօ0øө", "p": "рρҏϼ", "q": "ԛզգ", "r": "гґ", "s": "ѕ", "t": "тτҭԏŧ",
    "u": "սυμцʋ", "v": "ѵν", "w": "ԝѡωшщա", "x": "хχҳӽӿ", "y": "уγүұʏ", "z": "ʐ",
    "3": "зҙӡʒ", "4": "ч", "6": "б", "ae": "æӕ", "oe": "œ", "ss": "ß", "lo": "ю",
}  # fmt: skip
AS_LATIN = str.maketrans({foreign: latin for latin, all_like in LIKE.items() for foreign in all_like})
# applied after that: two letters that look like one
TOGETHER = (("rn", "m"), ("vv", "w"), ("cl", "d"))


def is_look_alike(name: str) -> bool:
    """Whether a label mixes scripts, or consists of foreign letters that all look like Latin ones.

    The latter counts only under a Latin top-level domain: under `рф` readers expect Cyrillic.
    """
    labels = name.split(".")
    if not all(OF_ONE_SCRIPT.fullmatch(label) for label in labels):
        return True
    return labels[-1].isascii() and any(
        not label.isascii() and LOOK_LATIN.fullmatch(label) for label in labels[:-1]
    )


def looks(name: str) -> str:
    """The skeleton of a name as people read it: like that of UTS #39, but coarser."""
    plain = "".join(
        letter for letter in unicodedata.normalize("NFKD", name) if not unicodedata.combining(letter)
    )
    seen = plain.casefold().translate(AS_LATIN)
    for two, one in TOGETHER:
        seen = seen.replace(two, one)
    return seen
