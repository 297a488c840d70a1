"""How are passwords kept, compared and judged? (Those of accounts and those of links.)"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from app.accounts.hashing import GATE

# OWASP's figures for argon2id: 26 ms where the library's own take 120 to 350 ms and 64 MiB
HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
LEAST, MOST = 8, 1024

ROWS = "qwertyuiop asdfghjkl zxcvbnm qwertzuiop azertyuiop"
RUNS = ("abcdefghijklmnopqrstuvwxyz", "01234567890", *ROWS.split())
# what remains of the most common passwords once digits and signs around them are gone
WORDS = (
    "admin administrator baseball changeme charlie computer default dragon football hello iloveyou letmein"
    " login master michael monkey pass passw password passwort princess root secret shadow starwars sunshine"
    " superman test testtest trustno trustnoone waypost welcome whatever"
)
COMMON = frozenset(WORDS.split())
LOOK_ALIKES = str.maketrans("0134579@$!", "oleastgasi")


def hash_password(password: str) -> str:
    """The argon2id hash that is stored. Takes some 30 ms: do it before a write begins. Raises Busy."""
    return GATE.run(lambda: HASHER.hash(_octets(password)))


def check_password(stored: str, password: str) -> bool:
    """Is `password` the one that `stored` was made of? Takes as long either way. Raises Busy."""
    try:
        return GATE.run(lambda: HASHER.verify(stored, _octets(password[: MOST + 1])))
    except VerificationError:
        return False


def check_nothing(password: str) -> None:
    """Take as long as `check_password`, so that the time does not tell that there is no such account."""
    check_password(_nobodys(), password)


def is_outdated(stored: str) -> bool:
    """Was `stored` made with other parameters than today's?"""
    try:
        return HASHER.check_needs_rehash(stored)
    except InvalidHashError:
        return True


def weakness(password: str, *about: str) -> str | None:
    """Why this can't be an account's password, as a sentence, or None. `about`: what is known of its owner.

    Length and what everybody tries first, as NIST SP 800-63B has it: no rules about kinds of characters.
    """
    if not LEAST <= len(password) <= MOST:
        return f"A password has {LEAST} to {MOST:,} characters."
    if any(unicodedata.category(c) in {"Cc", "Cs"} for c in password):
        return "A password can't contain control characters."
    if _is_trivial(password.casefold(), {part for text in about for part in _parts(text)}):
        return "This password is one of the first that anybody would try. Choose another one."
    return None


def _is_trivial(password: str, known: set[str]) -> bool:
    plain = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", password)
    candidates = {password, plain, plain.translate(LOOK_ALIKES), password.translate(LOOK_ALIKES)}
    return len(set(password)) < 4 or _is_run(password) or bool(candidates & (COMMON | known))


def _is_run(password: str) -> bool:
    """Neighbours in the alphabet, among the digits or on a keyboard, in either direction, also repeated."""
    follows = {pair for run in RUNS for a, b in pairwise(run) for pair in (a + b, b + a)}
    steps = [a + b in follows for a, b in pairwise(password)]
    return steps.count(False) <= len(steps) // 4


def _parts(text: str) -> set[str]:
    whole = text.casefold()
    return {part for part in (whole, *re.split(r"[\W_]+", whole)) if len(part) > 3}


def _octets(password: str) -> bytes:
    """The same letters typed on another keyboard are the same password: NFC. A lone surrogate is no crash."""
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")


@cache
def _nobodys() -> str:
    return hash_password("the password of no account")
