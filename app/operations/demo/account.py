"""The demo's account. A seed replaces it, but never an account that no seed has made.

`DATA_DIR/demo_accounts` lists the demo accounts. The account is replaced, not emptied: clicks name their
owner by an id that is never used again, so those of an earlier demo count for no account.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import click
from sqlalchemy import delete, select

from app.accounts import passwords, services, setup
from app.accounts.models import User, Workspace
from app.accounts.workspaces import access_of
from app.core.database import begin_write
from app.core.extensions import db
from app.links.models import Alias, Link
from app.links.removal import erase
from app.links.trash_purge import empty_trash

FILE = "demo_accounts"
BATCH_SIZE = 200  # links in a transaction, so that others can write in between


def begin_anew(email: str, data_dir: Path) -> tuple[User, str]:
    """Makes a new account. Returns it and its password. Raises ClickException where a real account has the
    address."""
    known = read_known(data_dir)
    old = services.find_user(email)
    if old and known.get(old.email) != old.id:
        raise click.ClickException(f"{old.email} has an account that no seed has made; it is left alone")
    is_admin = bool(old and old.is_admin)
    if old:
        remove_account(old)
    password = secrets.token_urlsafe(12)
    password_hash = passwords.hash_password(password)
    begin_write(db.session)
    user = services.store_user(email, password_hash, services.Profile("Demo"), is_admin=is_admin)
    user.timezone = "Europe/Berlin"
    db.session.commit()
    write_known(data_dir, {**known, user.email: user.id})
    setup.forget_token(data_dir)
    return user, password


def remove_account(user: User) -> None:
    """Removes the account with everything it owns. Its aliases are free at once for any account."""
    user_id, workspace_id = user.id, access_of(user).workspace_id
    while remove_links(workspace_id):
        pass
    begin_write(db.session)
    empty_trash(workspace_id)
    db.session.execute(delete(Alias).where(Alias.workspace_id == workspace_id))
    db.session.execute(delete(Workspace).where(Workspace.id == workspace_id))
    db.session.delete(db.session.get_one(User, user_id))
    db.session.commit()


def remove_links(workspace_id: int) -> int:
    begin_write(db.session)
    some = db.session.scalars(
        select(Link.id).where(Link.workspace_id == workspace_id).limit(BATCH_SIZE)
    ).all()
    erase(workspace_id, some)
    db.session.commit()
    return len(some)


def read_known(data_dir: Path) -> dict[str, int]:
    try:
        found: dict[str, int] = json.loads((data_dir / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found


def write_known(data_dir: Path, known: dict[str, int]) -> None:
    draft = data_dir / f".{FILE}.{secrets.token_hex(8)}"
    draft.write_text(json.dumps(known), encoding="utf-8")
    draft.replace(data_dir / FILE)
