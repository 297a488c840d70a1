"""A simulated authenticator app: the codes that it shows."""

from __future__ import annotations

import base64

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from app.accounts import second_factor
from app.accounts.models import User
from app.core.clock import now
from app.core.extensions import db


def shown(secret: str, steps: int = 0) -> str:
    """The code that the app shows `steps` times 30 seconds from now."""
    totp = TOTP(base64.b32decode(secret.replace(" ", "")), 6, SHA1(), 30)
    return totp.generate(int(now().timestamp()) + 30 * steps).decode()


def code_of(user: User, steps: int = 0) -> str:
    return shown(second_factor.find(user).settings["secret"], steps)


def switch_on(user: User) -> list[str]:
    """Enables two-factor authentication with the current code; returns the recovery codes."""
    second_factor.begin(user)
    drawn = second_factor.draw_codes(user, code_of(user))
    assert drawn
    assert second_factor.confirm(user, code_of(user), drawn)
    db.session.commit()
    return drawn.shown
