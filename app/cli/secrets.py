"""`flask secrets`: which secret key is this instance's, and how it gets another one."""

from __future__ import annotations

import time
from pathlib import Path

import click

from app.audit.services import record
from app.cli.database import alone, migrate_first, migrate_tables, settings
from app.cli.failures import Group
from app.cli.secret_key import place_of_key, use_files
from app.config import PREFIX, Settings
from app.database import begin_write
from app.extensions import db
from app.notifications import confirmation, stopping
from app.secret_keys import ring
from app.secret_keys.check import KeyState, adopt_key, compare_keys
from app.secret_keys.ring import CHECK_SECONDS, fingerprint
from app.secret_keys.rotation import is_pending, reencrypt_all, retire_key, wait_for_writers

MAIL_TOKENS = (stopping.TOKENS, confirmation.TOKENS)
# until every running process has found a new key, with time to spare
LEARNING_SECONDS = 3 * CHECK_SECONDS
BY_SETTINGS = (
    "The secret key is in {prefix}SECRET_KEY. To rotate it: set {prefix}SECRET_KEY_OLD to it and"
    " {prefix}SECRET_KEY to a new one, restart Waypost, and run this again."
)

secrets = Group("secrets", help="The secret key: show which it is, rotate it, go on with another one.")


@secrets.command("show")
def show() -> None:
    """Print the fingerprints of the key that the database needs, and of the one that is here."""
    migrate_tables()
    state, needed = compare_keys(db.session, ring.keys().all())
    click.echo(f"The database needs: {needed or 'any key, for it has none yet'}")
    here = ", ".join(map(fingerprint, ring.keys().all()))
    click.echo(f"{place_of_key(settings())}: {here or 'no key'}")
    if state is KeyState.ROTATING:
        click.echo("A rotation is not finished: flask --app wsgi secrets rotate")


@secrets.command("rotate")
def rotate() -> None:
    """Make a new secret key, and encrypt everything anew with it, while Waypost runs.

    A running Waypost takes both keys meanwhile and needs no new start. If this is interrupted, run it again.
    """
    migrate_first()
    with alone(settings().data_dir / "rotate.lock"):
        old = begin(settings())
        wait_until_learned(settings())
        try:
            done = reencrypt_all(db.session, ring.keys().all())
        except RuntimeError as error:
            raise click.ClickException(str(error)) from None
        finish(settings(), old)
    click.echo(
        f"Encrypted anew: {done.rewritten:,}. The secret key is {fingerprint(ring.keys().current())} now."
    )
    if done.unreadable:
        click.echo(f"Not readable with either key, and left as it is: {done.unreadable:,}.", err=True)


def begin(found: Settings) -> str:
    """The key that goes: of a rotation that was interrupted, or the current one, which gets a new one."""
    keys = ring.keys().all()
    if found.secret_key_dir is None:
        if len(keys) < 2:
            raise click.ClickException(BY_SETTINGS.format(prefix=PREFIX))
        return keys[1]
    switch_key(found.secret_key_dir)
    use_files(found)
    return ring.read_key(found.secret_key_dir / ring.OLD_FILE)


def switch_key(directory: Path) -> None:
    """Put a new key in place of the current one, or go on with that where it was interrupted."""
    current, old, following = (directory / name for name in (ring.FILE, ring.OLD_FILE, ring.NEXT_FILE))
    if ring.read_key(old) in {"", ring.read_key(current)}:
        if not ring.read_key(following):
            ring.replace_key(following, ring.new_key())
        wait_since(following)  # until every process reads what the new key will write
        # the old one first: who looks in between finds the same key twice
        ring.replace_key(old, ring.read_key(current))
        ring.replace_key(current, ring.read_key(following))
    ring.remove_file(following)


def wait_since(path: Path) -> float:
    """Until running processes have found the file of a key; when it was written (seconds since 1970)."""
    written = path.stat().st_mtime
    time.sleep(max(0.0, min(LEARNING_SECONDS, written + LEARNING_SECONDS - time.time())))
    return written


def wait_until_learned(found: Settings) -> None:
    """Until nobody encrypts with the old key any more."""
    if found.secret_key_dir is None:
        return  # a restart has told everybody
    changed = wait_since(found.secret_key_dir / ring.FILE)
    try:
        wait_for_writers(db.session, changed + LEARNING_SECONDS)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from None


def finish(found: Settings, old: str) -> None:
    current = ring.keys().current()
    if is_pending(db.session, current):
        begin_write(db.session)
        retire_key(
            db.session, old, current, {tokens.purpose: tokens.verifier_of(old) for tokens in MAIL_TOKENS}
        )
        record(db.session, "secret_key.rotated", fingerprint=[fingerprint(old), fingerprint(current)])
        db.session.commit()
    backups = f"Backups made before need the key {fingerprint(old)}"
    if found.secret_key_dir is None:
        click.echo(f"{backups}: keep it as long as you keep them.")
        click.echo(f"Take {PREFIX}SECRET_KEY_OLD away, and restart Waypost.")
        return
    kept = keep_retired(found.secret_key_dir, old)
    ring.remove_drafts(found.secret_key_dir, f"{ring.FILE}*")
    ring.remove_drafts(kept.parent, "*")
    ring.remove_file(found.secret_key_dir / ring.OLD_FILE)
    use_files(found)
    click.echo(f"{backups}. It is in {kept}: remove that once you keep none of them.")


def keep_retired(data_dir: Path, key: str) -> Path:
    """Where `restore` finds it. Nothing that this instance stores needs it any more."""
    directory = data_dir / ring.RETIRED_DIRECTORY
    directory.mkdir(mode=0o700, exist_ok=True)
    path = directory / fingerprint(key)
    ring.replace_key(path, key)
    return path


@secrets.command("adopt")
@click.option("--yes", is_flag=True, help="Do not ask.")
def adopt(*, yes: bool) -> None:
    """Go on with the secret key that is here, although the database was encrypted with another one.

    What that has encrypted can't be read: settings of handlers (enter them again), two-factor secrets (reset
    them), histories of links and the trash. Links, accounts and statistics stay as they are.
    """
    migrate_tables()
    found = settings()
    makes_one = not ring.keys().all() and found.secret_key_dir is not None
    if makes_one:
        click.echo("There is no secret key here that can be read: a new one is made.")
    if not yes:
        click.confirm("Give up what was encrypted with the key before?", abort=True)
    if makes_one and found.secret_key_dir is not None:
        ring.replace_key(found.secret_key_dir / ring.FILE, ring.new_key())
        use_files(found)
    current = ring.keys().current()
    adopt_key(db.session, current)
    begin_write(db.session)
    record(db.session, "secret_key.adopted", fingerprint=fingerprint(current))
    db.session.commit()
    click.echo(f"The secret key is {fingerprint(current)} now. Restart Waypost, and look at `flask doctor`.")
