"""Encrypts keys by a passphrase, for a backup: argon2id and AES-256-GCM."""

# see docs/decisions/2026-11-22-backups-and-the-secret-key.md
from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from argon2.low_level import Type, hash_secret_raw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app.operations.backups.manifest import UnusableBackup

SECRET_KEYS = b"waypost: secret keys in a backup v1"
SALT_BYTES, NONCE_BYTES, KEY_BYTES = 16, 12, 32
# what a restore accepts: a made-up archive must not take all memory
MAX_MEMORY_KIB, MAX_TIME, MAX_PARALLELISM = 1024 * 1024, 20, 16
NO_KEYS = "This backup is damaged: the secret key in it can't be read."
WRONG = "The passphrase is wrong, or the backup is damaged. Nothing was changed."


@dataclass(frozen=True)
class Cost:
    """Cost of argon2id: the second set that RFC 9106 recommends, with more memory."""

    memory_kib: int = 128 * 1024
    time: int = 3
    parallelism: int = 4


def encrypt_keys(keys: Sequence[str], passphrase: str, purpose: bytes = SECRET_KEYS) -> bytes:
    salt, nonce, cost = os.urandom(SALT_BYTES), os.urandom(NONCE_BYTES), Cost()
    cipher = AESGCM(derive(passphrase, salt, cost))
    found = {
        **asdict(cost),
        "salt": encode(salt),
        "nonce": encode(nonce),
        "ciphertext": encode(cipher.encrypt(nonce, json.dumps(list(keys)).encode(), purpose)),
    }
    return json.dumps(found).encode()


def decrypt_keys(content: bytes, passphrase: str, purpose: bytes = SECRET_KEYS) -> list[str]:
    """The keys. Raises UnusableBackup for a wrong passphrase, or content not of `encrypt_keys`."""
    try:
        found: dict[str, Any] = json.loads(content)
        cost = Cost(*(int(found[name]) for name in ("memory_kib", "time", "parallelism")))
        salt, nonce, ciphertext = (
            base64.b64decode(found[name], validate=True) for name in ("salt", "nonce", "ciphertext")
        )
    except (ValueError, KeyError, TypeError):
        raise UnusableBackup(NO_KEYS) from None
    limits = (cost.memory_kib, MAX_MEMORY_KIB), (cost.time, MAX_TIME), (cost.parallelism, MAX_PARALLELISM)
    is_bounded = all(1 <= given <= most for given, most in limits)
    if not is_bounded or cost.memory_kib < 8 * cost.parallelism:
        raise UnusableBackup(NO_KEYS)
    if (len(salt), len(nonce)) != (SALT_BYTES, NONCE_BYTES):
        raise UnusableBackup(NO_KEYS)
    try:
        plain = AESGCM(derive(passphrase, salt, cost)).decrypt(nonce, ciphertext, purpose)
    except InvalidTag:
        raise UnusableBackup(WRONG) from None
    return [str(key) for key in json.loads(plain)]


def derive(passphrase: str, salt: bytes, cost: Cost) -> bytes:
    return hash_secret_raw(
        passphrase.encode(), salt, cost.time, cost.memory_kib, cost.parallelism, KEY_BYTES, Type.ID
    )


def encode(content: bytes) -> str:
    return base64.b64encode(content).decode()
