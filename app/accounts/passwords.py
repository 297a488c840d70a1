"""Hashes and checks passwords, those of accounts and those of links."""

from __future__ import annotations

import base64
import secrets
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, partial

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import hash_secret

from app.accounts.hashing import GATE
from app.accounts.password_rules import MAX_LENGTH

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
