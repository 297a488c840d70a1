"""Signed tokens that expire. Browsers keep them for Waypost and can't change them."""

from __future__ import annotations

import hashlib
from typing import Any

from itsdangerous import URLSafeTimedSerializer

from app.core.secret_keys.ring import current_keys

SIGNER = {"key_derivation": "hmac", "digest_method": hashlib.sha256}


class TimedTokens:
    """Tokens of one purpose, valid for `max_age` seconds. Nothing else signs with the same salt."""

    def __init__(self, salt: str, max_age: int) -> None:
        self.salt, self.max_age = salt, max_age
        self._made: tuple[list[str], URLSafeTimedSerializer] | None = None

    def sign(self, value: object) -> str:
        return str(self._serializer().dumps(value))

    def read(self, token: str) -> Any:
        """The value of a token. Raises BadSignature for one that expired or was not signed here."""
        return self._serializer().loads(token, max_age=self.max_age)

    def _serializer(self) -> URLSafeTimedSerializer:
        """The serializer. It is made again only where the keys have changed."""
        known, made = current_keys().signing(), self._made
        if made is None or made[0] != known:
            made = known, URLSafeTimedSerializer(known, salt=self.salt, signer_kwargs=SIGNER)
            self._made = made
        return made[1]
