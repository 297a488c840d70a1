"""Addresses in texts that users typed: mails to people who never asked for one carry none."""

from __future__ import annotations

import re
import unicodedata

# domain names write a dot in these ways, too (RFC 3490, section 3.1); NFKC makes one of the others
IDEOGRAPHIC_DOT = str.maketrans("\u3002", ".")
LEFT_OUT = "…"
# what readers of mail open or show as a link: a scheme, an e-mail address, an IPv4 address, a domain name.
# The two characters after the dot of a domain: "e.V." and "2.10" are none
ADDRESS = re.compile(
    r"\w:[/\\]|\w@\w|\d\.\d{1,3}\.\d{1,3}\.\d|[^\s.]\.[^\W\d_][^\s\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]"
)


def without_addresses(text: str) -> str:
    """`text` with "…" in place of each word that looks like an address."""
    return re.sub(r"\S+", lambda word: LEFT_OUT if looks_like_address(word[0]) else word[0], text)


def looks_like_address(word: str) -> bool:
    shown = "".join(each for each in word if unicodedata.category(each) != "Cf")  # which nobody sees
    return ADDRESS.search(unicodedata.normalize("NFKC", shown).translate(IDEOGRAPHIC_DOT)) is not None


def name_without_addresses(name: str) -> str:
    """A name as a sentence may carry it; "" where little but addresses is in it."""
    text = without_addresses(name)
    return text if any(each.isalnum() for each in text) else ""
