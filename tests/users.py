"""Accounts with passwords, for tests and benchmarks."""

from __future__ import annotations

from app.accounts import passwords, services
from app.accounts.models import User


def create_user(email: str, password: str, *, name: str = "", is_admin: bool | None = None) -> User:
    return services.store_user(
        email, passwords.hash_password(password), services.Profile(name), is_admin=is_admin
    )


def set_password(user: User, password: str) -> None:
    services.store_password(user, passwords.hash_password(password))
