"""Requires that a command has the secret key that the database needs, or says what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from app.core.config import PREFIX, Settings
from app.core.durable_files import remove_file
from app.core.extensions import db
from app.core.secret_keys import ring
from app.core.secret_keys.check import (
    KeyState,
    adopt_first_key,
    compare_keys,
    find_record,
    reads_what_there_is,
)
from app.core.secret_keys.ring import SecretKeys, use_keys
from app.web.application import use_settings

ADOPT = "./waypost secrets adopt"
WHAT_TO_DO = (
    "Put the right key back, from where you keep it or out of a backup that holds it. If it is lost for good,"
    f" give up what was encrypted with it: {ADOPT}"
)

# each machine would make a key of its own, and read nothing of what another one has written
OF_MACHINES = (
    "If another machine serves this database already, copy {name} from its data directory to {directory}"
    " (mode 0600), or set {prefix}SECRET_KEY to the same value on every machine."
)


def require_secret_key(settings: Settings) -> None:
    """Makes a key where there is none and nothing needs one. Raises ClickException for a wrong key."""
    require_readable_file(settings)
    keys = ring.current_keys().all()
    state, needed = compare_keys(db.session, keys)
    is_new = state is KeyState.MISSING and not needed and reads_what_there_is(db.session, ())
    if is_new:
        create_key(settings)
        state, keys = KeyState.UNKNOWN, ring.current_keys().all()
    if state is KeyState.UNKNOWN and reads_what_there_is(db.session, keys):
        adopt_once(settings, is_new=is_new)
    elif state not in {KeyState.RIGHT, KeyState.ROTATING}:
        raise click.ClickException(describe_problem(settings, state, needed))
    db.session.rollback()


def require_readable_file(settings: Settings) -> None:
    if settings.secret_key_dir is not None:
        try:
            ring.read_key(settings.secret_key_dir / ring.FILE)
        except ring.UnreadableKey as error:
            raise click.ClickException(f"{error} {WHAT_TO_DO}") from None


def create_key(settings: Settings) -> None:
    """Makes a key, and has this process use it, which began without one."""
    if settings.secret_key_dir is None:
        raise RuntimeError("settings hold the key, so there is one")
    ring.create_key(settings.secret_key_dir / ring.FILE)
    use_files(settings)


def use_files(settings: Settings) -> None:
    """Has this process use the keys that the files hold now."""
    use_keys(SecretKeys(settings.secret_key, settings.secret_key_old, settings.secret_key_dir))
    keys = ring.current_keys().all()
    current, old = (*keys, "", "")[:2]
    use_settings(replace(settings, secret_key=current, secret_key_old=old))


def adopt_once(settings: Settings, *, is_new: bool) -> None:
    """Adopts the key for a database without one. Of several machines that start at once, the first one's
    counts; ClickException is raised in the others, and a key that such a start has made is removed."""
    adopt_first_key(db.session, ring.current_keys().current())
    state, needed = compare_keys(db.session, ring.current_keys().all())
    if state is not KeyState.RIGHT:
        if is_new and settings.secret_key_dir is not None:
            remove_file(settings.secret_key_dir / ring.FILE)
        raise click.ClickException(describe_problem(settings, state, needed))


def describe_problem(settings: Settings, state: KeyState, needed: str) -> str:
    """What is wrong with the key, and what to do."""
    return f"{describe_state(settings, state, needed)} {advise(settings)}"


def advise(settings: Settings) -> str:
    if settings.is_sqlite:
        return WHAT_TO_DO
    directory = settings.secret_key_dir or settings.data_dir
    of_machines = OF_MACHINES.format(name=ring.FILE, directory=directory, prefix=PREFIX)
    return f"{of_machines} Otherwise: {WHAT_TO_DO[0].lower()}{WHAT_TO_DO[1:]}"


def describe_state(settings: Settings, state: KeyState, needed: str) -> str:
    where = place_of_key(settings)
    named = f"the key {needed}" if needed else "another key"
    if state is KeyState.MISSING:
        return f"The secret key is missing: this database was encrypted with {named}, and {where} holds none."
    here = ring.fingerprint(ring.current_keys().current())
    record = find_record(db.session, here)
    retired = record.retired_datetime if record else None
    is_retired = f", which was replaced on {retired:%Y-%m-%d}" if retired else ""
    return (
        f"This is not the secret key of this database: it was encrypted with {named}, and {where} holds the"
        f" key {here}{is_retired}."
    )


def place_of_key(settings: Settings) -> Path | str:
    return settings.secret_key_dir / ring.FILE if settings.secret_key_dir else f"{PREFIX}SECRET_KEY"
