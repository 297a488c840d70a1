"""Hashes and checks passwords, those of accounts and those of links, and the rules for the former.

As in NIST SP 800-63B and OWASP ASVS: passwords that attackers try first are refused (the commonest, and those
made of the owner's own data); kinds of characters do not matter. Passwords of links have no such rules.
"""

from __future__ import annotations

import base64
import gzip
import re
import secrets
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import hash_secret

from app.accounts.hashing import GATE
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


# OWASP's parameters for argon2id: 26 ms; the library's defaults take 120 to 350 ms and 64 MiB
HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
SALT_BYTES = 16


def hash_password(password: str) -> str:
    """The argon2id hash to store. Takes some 30 ms, so call it before a write begins. Raises Busy."""
    return GATE.run(lambda: HASHER.hash(_octets(password)))


def check_password(stored: str, password: str) -> bool:
    """Whether `stored` is the hash of `password`. Takes equally long either way. Raises Busy."""
    try:
        return GATE.run(lambda: HASHER.verify(stored, _octets(password[: MAX_LENGTH + 1])))
    except VerificationError:
        return False


def hash_together(texts: Sequence[str]) -> list[str]:
    """Hashes several texts with the same salt, so that `hash_as_stored` finds one by a single hash."""
    salt = secrets.token_bytes(SALT_BYTES)
    return [GATE.run(partial(HASHER.hash, _octets(text), salt=salt)) for text in texts]


def hash_as_stored(stored: Iterable[str], text: str) -> list[str]:
    """Hashes `text` once for each salt and set of parameters among `stored`. Raises Busy."""
    heads = {one.rpartition("$")[0]: one for one in stored}
    return [GATE.run(partial(_hash_like, one, text)) for one in heads.values()]


def _hash_like(stored: str, text: str) -> str:
    known = extract_parameters(stored)
    salt = stored.split("$")[-2]
    found = hash_secret(
        _octets(text),
        base64.b64decode(salt + "=" * (-len(salt) % 4)),
        time_cost=known.time_cost,
        memory_cost=known.memory_cost,
        parallelism=known.parallelism,
        hash_len=known.hash_len,
        type=known.type,
        version=known.version,
    )
    return found.decode("ascii")


def check_nothing(password: str) -> None:
    """Takes as long as `check_password`, so that the time does not reveal that there is no such account."""
    check_password(_nobodys(), password)


def is_outdated(stored: str) -> bool:
    """Whether `stored` was made with other parameters than today's."""
    try:
        return HASHER.check_needs_rehash(stored)
    except InvalidHashError:
        return True


def _octets(password: str) -> bytes:
    """UTF-8 of the NFC form: keyboards compose letters differently. A lone surrogate is encoded, too."""
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")


@cache
def _nobodys() -> str:
    return hash_password("the password of no account")
