"""Runs a command as the user who owns the instance, so that root leaves no files of its own behind.

Files that root makes in the data directory (locks, folders, the journal) can't be opened by the user that
Waypost runs as. See docs/decisions/2026-11-22-commands-of-root.md.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from app.core.config import ENV_FILE, PREFIX
from app.core.folders import PROGRAM_FILE

ROOT_UID = 0
# the owner of the first of these that exists owns the instance: a data directory may belong to root and be
# open to a group, or belong to another user while an instance in a container is root's
SIGNS = ("main.db", "journal")


class Owner(NamedTuple):
    uid: int
    gid: int
    name: str  # the number, where the user has no name
    groups: tuple[int, ...]
    home: str


def make_data_dir(data_dir: Path) -> None:
    """Makes the data directory where it is missing. Raises ClickException where that fails."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(
            f"{PREFIX}DATA_DIR: {data_dir} can't be made: {error.strerror}."
        ) from error


def run_as_owner(data_dir: Path, *, is_writing: bool = True) -> Owner | None:
    """Switches from root to the owner of the instance, and returns them; None where there is no need.

    Raises ClickException where that fails, and where another user can't use the data directory. No file of
    the instance may be open yet.
    """
    sign = next((path for name in SIGNS if is_seen(path := data_dir / name)), data_dir)
    if not is_seen(sign):
        return None  # there is no instance yet
    found = sign.stat()
    if found.st_uid == os.geteuid():
        return None
    owner = describe_owner(found.st_uid, found.st_gid)
    if os.geteuid() != ROOT_UID:
        refuse_without_access(data_dir, owner, is_writing=is_writing)
        return None
    try:
        unreadable = find_unreadable(owner)
        if unreadable and sign == data_dir:
            return None  # no instance yet, and a user who can't read the program is not meant to run one
        if unreadable:
            raise click.ClickException(
                f"{data_dir} belongs to {owner.name}, who can't read {unreadable}: allow that, or give"
                f" {data_dir} and everything in it to the user that Waypost runs as."
            )
        switch_user(owner)
    except OSError as error:
        raise click.ClickException(
            f"{data_dir} belongs to {owner.name}, and root can't become that user here ({error.strerror})."
            f" {advise(owner)}"
        ) from error
    return owner


def is_seen(path: Path) -> bool:
    """Whether this user can see that the file is there."""
    try:
        return path.exists()
    except PermissionError:
        return False


def refuse_without_access(data_dir: Path, owner: Owner, *, is_writing: bool) -> None:
    """Raises ClickException where this process's user can't use another user's data directory."""
    for mode, may, is_needed in ((os.R_OK, "read", True), (os.W_OK, "written", is_writing)):
        if is_needed and not os.access(data_dir, mode | os.X_OK):
            raise click.ClickException(
                f"{data_dir} belongs to {owner.name} and can't be {may} by this user. {advise(owner)}"
            )


def describe_owner(uid: int, gid: int) -> Owner:
    """The user with this number; one without a name has the group of the file, and no home."""
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return Owner(uid, gid, str(uid), (gid,), "/")
    groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return Owner(uid, entry.pw_gid, entry.pw_name, groups, entry.pw_dir)


def advise(owner: Owner) -> str:
    user = owner.name if owner.name != str(owner.uid) else f"#{owner.uid}"
    return f"Run the command as that user: sudo -u {shlex.quote(user)} …"


def program_files() -> list[Path]:
    """Files that every process of Waypost reads: Python, its library, a package, the program, settings."""
    files = [
        Path(sys.executable),
        Path(os.__file__),
        Path(click.__file__),
        PROGRAM_FILE,
    ]
    return files + [path for path in [ENV_FILE] if path.exists()]


def find_unreadable(owner: Owner) -> Path | None:
    """One of the program's files that this user can't read; else None."""
    with acting_as(owner):
        for path in program_files():
            try:
                path.open("rb").close()
            except OSError:
                return path
    return None


@contextlib.contextmanager
def acting_as(owner: Owner) -> Iterator[None]:
    """Has this user's rights while the context is open, and root's again afterwards."""
    groups, gid = os.getgroups(), os.getegid()
    try:
        os.setgroups(owner.groups)
        os.setegid(owner.gid)
        os.seteuid(owner.uid)
        yield
    finally:
        os.seteuid(ROOT_UID)
        os.setegid(gid)
        os.setgroups(groups)


def switch_user(owner: Owner) -> None:
    """Become this user for good, with the user's groups and home."""
    os.setgroups(owner.groups)
    os.setgid(owner.gid)
    os.setuid(owner.uid)
    os.environ.update(HOME=owner.home, USER=owner.name, LOGNAME=owner.name)


def explain_refusal(error: PermissionError, owner: Owner, data_dir: Path) -> str:
    """Text that says why a command run by root can't use a file, and what to do."""
    if error.filename is not None and Path(os.fsdecode(error.filename)).is_relative_to(data_dir):
        advice = f"Give everything in it to that user: chown -R {shlex.quote(owner.name)} {data_dir}"
    else:
        advice = f"Name a path that {owner.name} may use. `backup -` writes to standard output."
    return f"{error}. Run by root, this is done as {owner.name}, to whom the instance belongs. {advice}"
