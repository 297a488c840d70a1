"""Removes addresses from texts that users typed, for mails to people who did not ask for one."""

from __future__ import annotations

import re
import unicodedata

# domain names may also use U+3002 as a dot (RFC 3490, section 3.1); NFKC maps the other dots to "." or to it
IDEOGRAPHIC_DOT = str.maketrans("\u3002", ".")
LEFT_OUT = "…"
# texts that mail programs show as links: a scheme, an e-mail address, an IPv4 address, a domain name.
# A domain has two characters after a dot, the first a letter, so "e.V." and "2.10" do not match
ADDRESS = re.compile(
    r"\w:[/\\]|\w@\w|\d\.\d{1,3}\.\d{1,3}\.\d|[^\s.]\.[^\W\d_][^\s\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]"
)


def without_addresses(text: str) -> str:
    """`text` with "…" in place of each word that looks like an address."""
    return re.sub(r"\S+", lambda word: LEFT_OUT if looks_like_address(word[0]) else word[0], text)


def looks_like_address(word: str) -> bool:
    shown = "".join(each for each in word if unicodedata.category(each) != "Cf")  # invisible
    return ADDRESS.search(unicodedata.normalize("NFKC", shown).translate(IDEOGRAPHIC_DOT)) is not None


def name_without_addresses(name: str) -> str:
    """A name as a sentence may carry it; "" where little but addresses is in it."""
    text = without_addresses(name)
    return text if any(each.isalnum() for each in text) else ""
