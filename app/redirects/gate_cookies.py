"""Signed tokens of visitors who have passed a link's password or warning."""

from __future__ import annotations

from itsdangerous import BadSignature

from app.core.secret_keys.timed_tokens import TimedTokens
from app.redirects.compiled_link import CompiledLink

SECONDS = 3600
TOKENS = TimedTokens("waypost: a visitor has passed", SECONDS)


class Unlock:
    """Makes and checks tokens. One unlocks one gate of one link, until the password changes."""

    def token(self, gate: str, compiled_link: CompiledLink) -> str:
        return TOKENS.sign(bound_to(gate, compiled_link))

    def opens(self, token: str, gate: str, compiled_link: CompiledLink) -> bool:
        try:
            return bool(TOKENS.read(token) == bound_to(gate, compiled_link))
        except BadSignature:
            return False


def bound_to(gate: str, compiled_link: CompiledLink) -> list[str | int]:
    return [gate, compiled_link.id, compiled_link.password_version]
