"""How are passwords kept and compared? (Those of accounts and those of links.)"""

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

# OWASP's figures for argon2id: 26 ms where the library's own take 120 to 350 ms and 64 MiB
HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
SALT_BYTES = 16


def hash_password(password: str) -> str:
    """The argon2id hash that is stored. Takes some 30 ms: do it before a write begins. Raises Busy."""
    return GATE.run(lambda: HASHER.hash(_octets(password)))


def check_password(stored: str, password: str) -> bool:
    """Is `password` the one that `stored` was made of? Takes as long either way. Raises Busy."""
    try:
        return GATE.run(lambda: HASHER.verify(stored, _octets(password[: MAX_LENGTH + 1])))
    except VerificationError:
        return False


def hash_together(texts: Sequence[str]) -> list[str]:
    """The hashes of several texts with the same salt: `hash_as_stored` finds one of them by a single hash."""
    salt = secrets.token_bytes(SALT_BYTES)
    return [GATE.run(partial(HASHER.hash, _octets(text), salt=salt)) for text in texts]


def hash_as_stored(stored: Iterable[str], text: str) -> list[str]:
    """`text` hashed with each salt and each set of parameters that these hashes have. Raises Busy."""
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
    """Take as long as `check_password`, so that the time does not tell that there is no such account."""
    check_password(_nobodys(), password)


def is_outdated(stored: str) -> bool:
    """Was `stored` made with other parameters than today's?"""
    try:
        return HASHER.check_needs_rehash(stored)
    except InvalidHashError:
        return True


def _octets(password: str) -> bytes:
    """The same letters typed on another keyboard are the same password: NFC. A lone surrogate is no crash."""
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")


@cache
def _nobodys() -> str:
    return hash_password("the password of no account")
