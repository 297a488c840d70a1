"""Encryption of secrets in the database, so that a stolen copy of it reveals none.

They are stored as `fingerprint:2.token`: the fingerprint of the key, and the ciphertext (AES-256-GCM). A
token without `2.` is Fernet's, and one without a fingerprint is from before there were several keys. Both are
read, but no longer written.
"""

from __future__ import annotations

import base64
import json
import logging
import os
from contextlib import suppress
from functools import lru_cache
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import Dialect, Text
from sqlalchemy.types import TypeDecorator

from app.core.secret_keys.ring import current_keys, derive, fingerprint

PURPOSE, FERNET_PURPOSE = "waypost sealed settings v2", "waypost sealed settings v1"
VERSION, NONCE_BYTES = "2.", 12

log = logging.getLogger(__name__)


class UnreadableSecret(dict[str, Any]):
    """An encrypted object that no available key can decrypt. It is empty, and is never written back."""


class SealedJson(TypeDecorator[dict[str, Any]]):
    """A JSON object outside, an authenticated ciphertext in the database."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: dict[str, Any] | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else encrypt(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> dict[str, Any] | None:  # noqa: ARG002
        return None if value is None else decrypt(value)


def encrypt(value: dict[str, Any]) -> str:
    """Encrypts an object with the current key. Raises TypeError for UnreadableSecret."""
    if isinstance(value, UnreadableSecret):
        raise TypeError("what can't be read must not be written over what there is")
    return encrypt_text(json.dumps(value).encode(), current_keys().current())


def encrypt_text(text: bytes, key: str) -> str:
    mark, nonce = fingerprint(key), os.urandom(NONCE_BYTES)
    token = nonce + AESGCM(derive(key, PURPOSE)).encrypt(nonce, text, mark.encode())
    return f"{mark}:{VERSION}{base64.urlsafe_b64encode(token).decode()}"


def decrypt(sealed: str) -> dict[str, Any]:
    """The object; UnreadableSecret where the key is not available or the text is damaged."""
    text = decrypt_text(sealed, current_keys().all())
    if text is None:  # perhaps a new key that this process has not loaded yet
        current_keys().reload()
        text = decrypt_text(sealed, current_keys().all())
    if text is None:
        log.warning(
            "Something in the database can't be decrypted with this secret key: run `./waypost doctor`"
        )
        return UnreadableSecret()
    found: dict[str, Any] = json.loads(text)
    return found


def decrypt_text(sealed: str, known: tuple[str, ...]) -> bytes | None:
    mark, colon, token = sealed.rpartition(":")
    for key in known:
        if not colon or mark == fingerprint(key):
            with suppress(InvalidTag, InvalidToken, ValueError):
                return decrypt_token(token, key)
    return None


def decrypt_token(token: str, key: str) -> bytes:
    """Raises InvalidTag, InvalidToken or ValueError for what this key has not encrypted."""
    if not token.startswith(VERSION):
        return fernet(key).decrypt(token.encode())
    content = base64.urlsafe_b64decode(token.removeprefix(VERSION))
    nonce, ciphertext = content[:NONCE_BYTES], content[NONCE_BYTES:]
    return AESGCM(derive(key, PURPOSE)).decrypt(nonce, ciphertext, fingerprint(key).encode())


@lru_cache(maxsize=16)
def fernet(key: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(derive(key, FERNET_PURPOSE)))
