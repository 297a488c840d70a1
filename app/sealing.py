"""How is a secret kept in the database, so that a stolen copy of it is of no use?"""

from __future__ import annotations

import base64
import json
from typing import Any

from cryptography.fernet import Fernet, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import Dialect, Text
from sqlalchemy.types import TypeDecorator

_fernet: MultiFernet | None = None


def use_key(secret: str) -> None:
    """Derive this process's sealing key from the instance's `SECRET_KEY` (HKDF-SHA256)."""
    global _fernet  # one key a process, set by create_app
    derived = HKDF(hashes.SHA256(), 32, salt=None, info=b"waypost sealed settings v1").derive(secret.encode())
    _fernet = MultiFernet([Fernet(base64.urlsafe_b64encode(derived))])


class SealedJson(TypeDecorator[dict[str, Any]]):
    """A JSON object outside, an authenticated ciphertext in the database."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: dict[str, Any] | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else fernet().encrypt(json.dumps(value).encode()).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> dict[str, Any] | None:  # noqa: ARG002
        return None if value is None else json.loads(fernet().decrypt(value.encode()))


def fernet() -> MultiFernet:
    if _fernet is None:
        raise RuntimeError("no sealing key: create_app sets it")
    return _fernet
