"""Rules for passwords of accounts: their length, the commonest ones, and those made of the owner's own data.

As in NIST SP 800-63B and OWASP ASVS: passwords that attackers try first are refused; kinds of characters do
not matter.
Passwords of links have no such rules.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path

from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l

MIN_LENGTH, MAX_LENGTH = 8, 1024
# 23,423 passwords from two lists of the commonest ones, a line each; docs/dependencies.md says from where
COMMON_FILE = Path(__file__).with_name("common_passwords.txt.gz")
# common words that are in neither list
MORE_COMMON = frozenset(["passw", "testtest", "trustnoone", "waypost"])

ROWS = "qwertyuiop asdfghjkl zxcvbnm qwertzuiop azertyuiop"
RUNS = ("abcdefghijklmnopqrstuvwxyz", "01234567890", *ROWS.split())
# signs that stand for letters; the same sign may be read in two ways
LOOK_ALIKES = (
    str.maketrans("0134579@$!", "oleastgasi"),
    str.maketrans("0134579@$!", "oieastqasl"),
)
MIN_PART, MAX_REST = 3, 2  # letters of what counts as a part of the owner's data; letters left beside parts

TRIVIAL = _l("This password is one of the most common ones. Choose another one.")
OWN = _l("This password contains your e-mail address or name. Choose another one.")


def find_weakness(password: str, *about: str) -> str | None:
    """Why this is refused as the password of an account, or None. `about`: the owner's address and name."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        return _l(
            "A password has %(least)s to %(most)s characters.",
            least=MIN_LENGTH,
            most=lazy_digits(MAX_LENGTH),
        )
    if any(unicodedata.category(c) in {"Cc", "Cs"} for c in password):
        return _l("A password can't contain control characters.")
    typed = unicodedata.normalize("NFC", password).casefold()
    if is_common(typed):
        return TRIVIAL
    return OWN if is_made_of(typed, parts_of(about)) else None


def is_common(password: str) -> bool:
    if len(set(password)) < 4 or is_run(password):
        return True
    return bool(readings(password) & (common_passwords() | MORE_COMMON))


def readings(password: str) -> set[str]:
    """Variants to look up: as typed, without digits and signs around it, unrepeated, signs as letters."""
    found = {password, re.sub(r"^[\W\d_]+|[\W\d_]+$", "", password)}
    found |= {match[1] for one in found if (match := re.fullmatch(r"(.{4,}?)\1+", one))}
    return {one.translate(table) for one in found for table in (*LOOK_ALIKES, {})} - {""}


def is_run(password: str) -> bool:
    """Whether it is a run of the alphabet, the digits or a keyboard row, either way round, also repeated."""
    follows = {pair for run in RUNS for a, b in pairwise(run) for pair in (a + b, b + a)}
    steps = [a + b in follows for a, b in pairwise(password)]
    return steps.count(False) <= len(steps) // 4


def parts_of(about: tuple[str, ...]) -> list[str]:
    """Words of the owner's data, the longest first: `anna.lee@mail.example` has example, anna, mail, lee."""
    words = {word for text in about for word in re.split(r"[\W_]+", text.casefold())}
    return sorted((word for word in words if len(word) >= MIN_PART), key=len, reverse=True)


def is_made_of(password: str, parts: list[str]) -> bool:
    """Whether it is made of these parts, either way round, digits, signs and at most MAX_REST letters."""
    for table in (*LOOK_ALIKES, {}):
        letters = re.sub(r"[\W\d_]", "", password.translate(table))
        rest = letters
        for part in parts:
            for written in (part, part[::-1], re.sub(r"\d", "", part)):
                rest = rest.replace(written, "") if len(written) >= MIN_PART else rest
        if rest != letters and len(rest) <= MAX_REST:
            return True
    return False


@cache
def common_passwords() -> frozenset[str]:
    """The list of common passwords, read on first use: 3 MB that most processes never need."""
    with gzip.open(COMMON_FILE, "rt", encoding="utf-8") as file:
        return frozenset(file.read().split("\n"))
