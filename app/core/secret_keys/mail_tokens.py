"""Signed tokens for links in mails. They stay valid after the secret key that signed them is retired."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from itsdangerous import BadSignature, SignatureExpired, URLSafeSerializer, URLSafeTimedSerializer

from app.core.database import AnySession
from app.core.secret_keys.check import retired_verifiers
from app.core.secret_keys.ring import current_keys

AnySerializer = URLSafeSerializer | URLSafeTimedSerializer


@dataclass(frozen=True)
class MailTokens:
    """Tokens of one purpose, which is their name in the record of a retired key.

    `max_age`: seconds that they are valid for; None is without end. Nothing else signs with the same salt.
    """

    purpose: str
    salt: str
    max_age: int | None = None

    def sign(self, value: object) -> str:
        return str(self._serializer(current_keys().signing(), "hmac").dumps(value))

    def read(self, session: AnySession, token: str) -> Any:
        """The value of a token. Raises SignatureExpired for a genuine one that is too old; BadSignature."""
        failure = BadSignature("nothing has signed it")
        for serializer in self._known(session):
            try:
                return self._load(serializer, token)
            except SignatureExpired:
                raise
            except BadSignature as error:
                failure = error
        raise failure

    def verifier_of(self, key: str) -> str:
        """The verifier of tokens that a secret key has signed, in hexadecimal. It is of no other use.

        It is what itsdangerous derives from the key by `key_derivation="hmac"`.
        """
        return hmac.new(key.encode(), self.salt.encode(), hashlib.sha256).hexdigest()

    def _known(self, session: AnySession) -> Iterator[AnySerializer]:
        """Serializers of the configured keys, then of the retired ones, read only where those fail."""
        yield self._serializer(current_keys().signing(), "hmac")
        for verifier in retired_verifiers(session, self.purpose):
            yield self._serializer(verifier, "none")

    def _serializer(self, key: list[str] | bytes, key_derivation: str) -> AnySerializer:
        how = {"key_derivation": key_derivation, "digest_method": hashlib.sha256}
        kind = URLSafeSerializer if self.max_age is None else URLSafeTimedSerializer
        return kind(key, salt=self.salt, signer_kwargs=how)

    def _load(self, serializer: AnySerializer, token: str) -> Any:
        if isinstance(serializer, URLSafeTimedSerializer):
            return serializer.loads(token, max_age=self.max_age)
        return serializer.loads(token)
