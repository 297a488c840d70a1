"""Set-up of the first account, by a one-time address that the start prints."""

from __future__ import annotations

import hmac
import stat
from pathlib import Path

from app.accounts.models import User
from app.accounts.services import Profile, has_users, one_at_a_time, store_user
from app.core.config import Settings
from app.core.running_address import running_address
from app.core.secret_keys.ring import create_key, read_key

FILE = "setup_token"


def setup_token(data_dir: Path) -> str:
    """The set-up token, made once for a data directory and readable by its owner alone. Raises OSError."""
    path = data_dir / FILE
    token = read_key(path) or create_key(path)
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        path.chmod(0o600)  # a copy of the directory may have lost the mode
    return token


def pending_address(settings: Settings) -> str | None:
    """The set-up address while there is no account; else None, and an old token is removed."""
    if has_users():
        forget_token(settings.data_dir)
        return None
    return f"{known_site(settings)}/setup?token={setup_token(settings.data_dir)}"


def known_site(settings: Settings) -> str:
    """The dashboard's address, as far as it is known without a request."""
    known = settings.dashboard_url or settings.base_url
    return known or running_address(settings.data_dir) or settings.local_url


def is_right(data_dir: Path, token: str) -> bool:
    """Whether this is the set-up token, compared in constant time. Always False once there is a user."""
    if has_users():
        return False
    try:
        right = (data_dir / FILE).read_bytes()
    except FileNotFoundError:  # only the start makes one, never a request
        return False
    return len(right) > 32 and hmac.compare_digest(right, token.encode("utf-8", "replace"))


def create_first_user(email: str, password_hash: str, profile: Profile) -> User | None:
    """Creates the first account, an admin; None if there is one already. The caller has begun the write."""
    one_at_a_time()
    return None if has_users() else store_user(email, password_hash, profile, is_admin=True)


def forget_token(data_dir: Path) -> None:
    """Removes the token, once there is an account."""
    (data_dir / FILE).unlink(missing_ok=True)
