"""Accounts with passwords, for tests and benchmarks."""

from __future__ import annotations

from app.accounts import passwords, services
from app.accounts.access import Access
from app.accounts.models import User
from app.accounts.workspaces import memberships


def create_user(email: str, password: str, *, name: str = "", is_admin: bool | None = None) -> User:
    return services.store_user(
        email, passwords.hash_password(password), services.Profile(name), is_admin=is_admin
    )


def set_password(user: User, password: str) -> None:
    services.store_password(user, passwords.hash_password(password))


def access_to(user: User, workspace_id: int) -> Access | None:
    """The user's access to this workspace now; None for one who is no member."""
    found = (one for one in memberships(user) if one.workspace_id == workspace_id)
    return next((Access(user, workspace_id, one.role) for one in found), None)
