"""How does a visitor show that he has passed a link's password or its warning?"""

from __future__ import annotations

import hashlib

from itsdangerous import BadSignature, URLSafeTimedSerializer

from app.secret_keys.ring import keys
from app.visits.plan import Plan

SECONDS = 3600
SALT = "waypost: a visitor has passed"  # nothing else that this key signs can be taken for it


class Unlock:
    """Makes and reads signed tokens. One opens one gate of one link, until the password changes."""

    @property
    def tokens(self) -> URLSafeTimedSerializer:
        how = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
        return URLSafeTimedSerializer(keys().signing(), salt=SALT, signer_kwargs=how)

    def token(self, gate: str, plan: Plan) -> str:
        return str(self.tokens.dumps(bound_to(gate, plan)))

    def opens(self, token: str, gate: str, plan: Plan) -> bool:
        try:
            found: object = self.tokens.loads(token, max_age=SECONDS)
        except BadSignature:  # also one that has expired
            return False
        return found == bound_to(gate, plan)


def bound_to(gate: str, plan: Plan) -> list[str | int]:
    return [gate, plan.id, plan.password_version]
