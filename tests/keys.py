"""Other secret keys for a part of a test, as if the process had been started with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.core.secret_keys import ring
from app.core.secret_keys.ring import SecretKeys, use_keys


@contextmanager
def secret_keys(current: str = "", old: str = "") -> Iterator[None]:
    """Act inside the block as if this process had been started with these keys."""
    before = ring.current_keys()
    use_keys(SecretKeys(current, old))
    try:
        yield
    finally:
        use_keys(before)
