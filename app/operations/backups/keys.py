"""Secret keys of a backup: which ones it needs, and where a restore finds them."""

# see docs/decisions/2026-11-22-backups-and-the-secret-key.md
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from sqlalchemy import inspect

from app.core.config import PREFIX, Settings
from app.core.extensions import db
from app.core.secret_keys import ring
from app.core.secret_keys.check import needed_fingerprint
from app.core.secret_keys.models import KeyRecord
from app.core.secret_keys.ring import UnreadableKey, distinct, fingerprint, read_key
from app.operations.backups.archive import ENCRYPTED_KEYS, KEYS, Manifest
from app.operations.backups.encryption import SECRET_KEYS, UnusableBackup, decrypt_keys
from app.operations.secret_key import ADOPT


@dataclass(frozen=True)
class GivenKeys:
    """What the operator has given a restore to decrypt the backup with."""

    passphrase: str | None = None
    key_file: Path | None = None
    is_without: bool = False


def database_key() -> str:
    """Fingerprint of the key that the database needs; "" where it names none, as old ones do."""
    with db.engine.connect() as connection:
        is_there = inspect(connection).has_table(KeyRecord.__tablename__)
    found = needed_fingerprint(db.session) if is_there else ""
    db.session.rollback()
    return found


def needed_keys(known: Sequence[str], needed: str, *, is_kept: bool) -> list[str]:
    """Fingerprints of the keys that a copy needs.

    `known`: the keys from before and after the copy was made, so that a rotation meanwhile does no harm.
    Raises ClickException where `is_kept` asks for a key that is not here.
    """
    fingerprints = [fingerprint(key) for key in known]
    is_here = bool(known) and (not needed or needed in fingerprints)
    if is_kept and not is_here:
        raise click.ClickException(
            "The secret key of this database is not here, so the backup can't hold it: see `flask doctor`."
        )
    return fingerprints if is_here or not needed else [needed]


def find_keys(made: Manifest, directory: Path, settings: Settings, given: GivenKeys) -> list[str]:
    """The keys that this backup needs, the current one first; none where it is restored without.

    Raises UnusableBackup where one is not found, or where the settings name another one.
    """
    if given.is_without:
        return []
    own = (directory / KEYS).read_text(encoding="ascii").splitlines() if KEYS in made.files else []
    known = [*own, *keys_at_hand(directory, made, settings, given)]
    by_fingerprint = {fingerprint(key): key for key in known}
    needed = made.keys or [fingerprint(key) for key in own]
    for each in needed:
        if each not in by_fingerprint:
            raise UnusableBackup(describe_missing(made, each))
    found = [by_fingerprint[each] for each in needed]
    if found and settings.secret_key_dir is None:
        require_settings(found)
    return found


def keys_at_hand(directory: Path, made: Manifest, settings: Settings, given: GivenKeys) -> list[str]:
    found = list(ring.current_keys().all())
    retired = settings.data_dir / ring.RETIRED_DIRECTORY
    files = [*([given.key_file] if given.key_file else []), *sorted(retired.glob("*"))]
    try:
        found += [key for path in files if (key := read_key(path))]
    except UnreadableKey as error:
        raise UnusableBackup(str(error)) from None
    if given.passphrase is not None and ENCRYPTED_KEYS in made.files:
        found += decrypt_keys((directory / ENCRYPTED_KEYS).read_bytes(), given.passphrase, SECRET_KEYS)
    return found


def describe_missing(made: Manifest, needed: str) -> str:
    holds = (
        "The backup holds it, encrypted: add --passphrase or --passphrase-file."
        if ENCRYPTED_KEYS in made.files
        else f"The backup does not hold it: add --key-file, or set {PREFIX}SECRET_KEY to it."
    )
    return (
        f"This backup needs the secret key {needed}, which is not here. {holds} If it is lost for good, add"
        " --without-secret: what it has encrypted stays unreadable, all else is restored."
    )


def require_settings(found: Sequence[str]) -> None:
    """Raises UnusableBackup where the settings have another key: a key file would not be used beside it."""
    at_hand = ring.current_keys().all()
    if at_hand[:1] == tuple(found[:1]) and set(found) <= set(at_hand):
        return
    old = f", and {PREFIX}SECRET_KEY_OLD to {fingerprint(found[1])}" if len(found) > 1 else ""
    raise UnusableBackup(
        f"{PREFIX}SECRET_KEY holds the key {fingerprint(at_hand[0])}, and this backup needs"
        f" {fingerprint(found[0])}: take it away, or set it to that one{old}."
    )


def key_files(data_dir: Path) -> list[Path]:
    return [path for name in (ring.FILE, ring.OLD_FILE, ring.NEXT_FILE) if (path := data_dir / name).exists()]


def holds_other_keys(data_dir: Path, keys: Sequence[str]) -> bool:
    """Whether the key files hold other keys than these; True where one is damaged."""
    try:
        return distinct(*(read_key(path) for path in key_files(data_dir))) != tuple(keys)
    except UnreadableKey:
        return True


def write_keys(data_dir: Path, keys: Sequence[str]) -> None:
    for name, key in zip((ring.FILE, ring.OLD_FILE), keys, strict=False):
        ring.replace_key(data_dir / name, key)


def describe_without(made: Manifest) -> str:
    named = f" {' and '.join(made.keys)}" if made.keys else ""
    return (
        f"Restored without the secret key{named}: put it back before the start. If it is lost for good, go on"
        f" without what it has encrypted: {ADOPT}"
    )
