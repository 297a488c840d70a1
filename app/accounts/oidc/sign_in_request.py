"""The random values of one sign-in."""

from __future__ import annotations

import secrets
from typing import NamedTuple

RANDOM_BYTES = 48


class SignInRequest(NamedTuple):
    """What one sign-in sends to the provider and expects back."""

    state: str
    nonce: str
    verifier: str  # of PKCE

    @classmethod
    def draw(cls) -> SignInRequest:
        """New values, which nobody can guess."""
        return cls(*(secrets.token_urlsafe(RANDOM_BYTES) for _ in cls._fields))
