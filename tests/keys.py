"""Other secret keys for a part of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.secret_keys import ring
from app.secret_keys.ring import SecretKeys, use_keys


@contextmanager
def secret_keys(current: str = "", old: str = "") -> Iterator[None]:
    """As though this process had been started with these keys."""
    before = ring.keys()
    use_keys(SecretKeys(current, old))
    try:
        yield
    finally:
        use_keys(before)
