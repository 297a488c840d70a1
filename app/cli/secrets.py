"""`flask secrets`: shows which secret key the instance has, rotates it, or adopts another one."""

from __future__ import annotations

import time
from pathlib import Path

import click
from sqlalchemy import delete

from app.audit.services import record
from app.cli.failures import Group
from app.core.config import PREFIX, Settings
from app.core.database import begin_write
from app.core.durable_files import remove_drafts, remove_file
from app.core.extensions import db
from app.core.file_locks import wait_for_lock
from app.core.secret_keys import ring
from app.core.secret_keys.check import (
    KeyState,
    adopt_key,
    compare_keys,
    needed_fingerprint,
    reencrypt_all,
    retire_key,
)
from app.core.secret_keys.ring import CHECK_SECONDS, fingerprint
from app.journal.shared_salt import DailySalt
from app.notifications import confirmation, unsubscribe
from app.operations.database import migrate_first, migrate_tables
from app.operations.secret_key import place_of_key, use_files
from app.web.application import settings

MAIL_TOKENS = (unsubscribe.TOKENS, confirmation.TOKENS)
# until every running process has found a new key, with time to spare
LEARNING_SECONDS = 3 * CHECK_SECONDS
BY_SETTINGS = (
    "The secret key is in {prefix}SECRET_KEY. To rotate it: set {prefix}SECRET_KEY_OLD to it and"
    " {prefix}SECRET_KEY to a new one, restart Waypost, and run this again."
)

secrets = Group("secrets", help="The secret key: show its fingerprint, rotate it, adopt another one.")


@secrets.command("show")
def show() -> None:
    """Print the fingerprints of the key that the database needs, and of the configured one."""
    migrate_tables()
    state, needed = compare_keys(db.session, ring.current_keys().all())
    click.echo(f"The database needs: {needed or 'any key, for it has none yet'}")
    here = ", ".join(map(fingerprint, ring.current_keys().all()))
    click.echo(f"{place_of_key(settings())}: {here or 'no key'}")
    if state is KeyState.ROTATING:
        click.echo("A rotation is not finished: ./waypost secrets rotate")


@secrets.command("rotate")
def rotate() -> None:
    """Make a new secret key, and re-encrypt everything with it, while Waypost runs.

    A running Waypost accepts both keys meanwhile and needs no restart. If this is interrupted, run it again.
    """
    migrate_first()
    with wait_for_lock(settings().data_dir / "rotate.lock"):
        old = begin(settings())
        keys = ring.current_keys().all()
        done = reencrypt_all(db.session, keys)
        if needed_fingerprint(db.session) != fingerprint(keys[0]):
            verifiers = {tokens.purpose: tokens.verifier_of(old) for tokens in MAIL_TOKENS}
            retire_key(db.session, old, keys[0], verifiers)
            record(db.session, "secret_key.rotated", fingerprint=[fingerprint(old), fingerprint(keys[0])])
        db.session.commit()
        finish(settings(), old)
    click.echo(f"Re-encrypted: {done.rewritten:,}. The secret key is {fingerprint(keys[0])} now.")
    if done.unreadable:
        click.echo(f"Not readable with either key, and left as it is: {done.unreadable:,}.", err=True)


def begin(found: Settings) -> str:
    """Puts a new key in place and returns the one to retire. An interrupted rotation is continued."""
    keys = ring.current_keys().all()
    if found.secret_key_dir is None:
        if len(keys) < 2:
            raise click.ClickException(BY_SETTINGS.format(prefix=PREFIX))
        return keys[1]
    switch_key(found.secret_key_dir)
    use_files(found)
    return ring.read_key(found.secret_key_dir / ring.OLD_FILE)


def switch_key(directory: Path) -> None:
    """Puts a new key in place of the current one, or continues where that was interrupted."""
    current, old, following = (directory / name for name in (ring.FILE, ring.OLD_FILE, ring.NEXT_FILE))
    if ring.read_key(old) in {"", ring.read_key(current)}:
        if not ring.read_key(following):
            ring.replace_key(following, ring.new_key())
        time.sleep(LEARNING_SECONDS)  # until every process reads what the new key will write
        # the old one first: a process that reads in between finds the same key twice
        ring.replace_key(old, ring.read_key(current))
        ring.replace_key(current, ring.read_key(following))
    remove_file(following)
    time.sleep(LEARNING_SECONDS)  # until no process encrypts with the old key any more


def finish(found: Settings, old: str) -> None:
    backups = f"Backups made before need the key {fingerprint(old)}"
    if found.secret_key_dir is None:
        click.echo(f"{backups}: keep it as long as you keep them.")
        click.echo(f"Take {PREFIX}SECRET_KEY_OLD away, and restart Waypost.")
        return
    kept = keep_retired(found.secret_key_dir, old)
    remove_drafts(found.secret_key_dir, f"{ring.FILE}*")
    remove_drafts(kept.parent, "*")
    remove_file(found.secret_key_dir / ring.OLD_FILE)
    use_files(found)
    click.echo(f"{backups}. It is in {kept}: remove that once you keep none of them.")
    if not found.is_sqlite:
        file = found.secret_key_dir / ring.FILE
        click.echo(f"Other machines on this database need the new key now: copy {file} to each of them.")


def keep_retired(data_dir: Path, key: str) -> Path:
    """Stores a retired key where `restore` finds it. Nothing that this instance stores needs it any more."""
    directory = data_dir / ring.RETIRED_DIRECTORY
    directory.mkdir(mode=0o700, exist_ok=True)
    path = directory / fingerprint(key)
    ring.replace_key(path, key)
    return path


@secrets.command("adopt")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def adopt(*, yes: bool) -> None:
    """Use the configured secret key, although the database was encrypted with another one.

    What the other key has encrypted can't be read: settings of handlers (enter them again), two-factor
    secrets (reset them), histories of links and the trash. Links, accounts and statistics stay as they are.
    """
    migrate_tables()
    found = settings()
    makes_one = not ring.current_keys().all() and found.secret_key_dir is not None
    if makes_one:
        click.echo("There is no secret key here that can be read: a new one is made.")
    if not yes:
        click.confirm("Give up what was encrypted with the key before?", abort=True)
    if makes_one and found.secret_key_dir is not None:
        ring.replace_key(found.secret_key_dir / ring.FILE, ring.new_key())
        use_files(found)
    current = ring.current_keys().current()
    adopt_key(db.session, current)
    begin_write(db.session)
    db.session.execute(delete(DailySalt))  # which no machine can read now: they share another one
    record(db.session, "secret_key.adopted", fingerprint=fingerprint(current))
    db.session.commit()
    click.echo(f"The secret key is {fingerprint(current)} now. Restart Waypost, and run `./waypost doctor`.")
