"""Checks modes, owners and writability of an instance's files. Writes only files without a name."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from app.core.config import PREFIX, Settings
from app.core.secret_keys import ring
from app.operations.checks.finding import Finding, ok, plural, problem, warning
from app.operations.database import RESTORING, files
from app.operations.owner import describe_owner
from app.rate_limit.storages import FILE as RATE_LIMITS

OTHERS = stat.S_IRWXG | stat.S_IRWXO
SECRET = (ring.FILE, ring.OLD_FILE, ring.NEXT_FILE, ring.RETIRED_DIRECTORY, "keys", "setup_token")
PRIVATE = ("journal", "imports", "downloads", "backups", "replaced", RATE_LIMITS)
BESIDE = ("", "-wal", "-shm")
# folders in which a running instance makes files
FOLDERS = ("", "journal", "keys", "imports", "downloads", "uploads", "replaced", "places")
SHOWN = 3
MADE_BY_DISKS = "lost+found"
# errors of a file system without unnamed files (O_TMPFILE), or of an old kernel
NO_NAMELESS = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT})


def files_check(settings: Settings) -> Iterator[Finding]:
    """Whether this user can write the files, and no other user can read them."""
    data_dir = settings.data_dir
    if not data_dir.exists():
        yield problem(
            f"{data_dir} does not exist.",
            f"Is {PREFIX}DATA_DIR right? The first start creates the folder.",
        )
        return
    if (data_dir / RESTORING).exists():
        yield problem("A restore was interrupted.", "Run it again.")
    found = [
        *unwritable_places(data_dir),
        *open_files(data_dir),
        *foreign_files(data_dir),
    ]
    yield from found
    if not found:
        yield ok(f"{data_dir} belongs to this user, and no other user can read it.")


def unwritable_places(data_dir: Path) -> Iterator[Finding]:
    """Folders in which no file can be made, and databases that can't be written."""
    user = describe_owner(os.geteuid(), os.getegid()).name
    for name in FOLDERS:
        folder = data_dir / name
        if reason := describe_refusal(folder):
            yield problem(
                f"{folder} can't be written to: {reason}.",
                f"Give it to {user} with mode 0700, on a disk with room that is mounted for writing.",
            )
    for path in files():
        if path.exists() and not os.access(path, os.R_OK | os.W_OK):
            yield problem(f"{path} can't be written to.", f"Give it to {user}, with mode 0600.")


def describe_refusal(folder: Path) -> str:
    """Why no file can be made in a folder; "" where one can, or where there is no such folder yet.

    It is tried with a file that has no name, so that nothing in the folder changes, not even its time.
    """
    if not folder.exists():
        return ""
    if not folder.is_dir():
        return "it is no folder"
    if not os.access(folder, os.W_OK | os.X_OK):
        return os.strerror(errno.EACCES)
    try:
        fd = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, b"\n")
        finally:
            os.close(fd)
    except OSError as error:
        return "" if error.errno in NO_NAMELESS else str(error.strerror)
    return ""


def open_files(data_dir: Path) -> Iterator[Finding]:
    """Files that other users of this machine can access, each kind in one line."""
    databases = [path.with_name(f"{path.name}{end}") for path in files() for end in BESIDE]
    kinds = [data_dir / name for name in (*SECRET, *PRIVATE)]
    if data_dir.stat().st_mode & OTHERS:
        yield of_mode([data_dir], data_dir, is_secret=False)
    for kind in [*kinds, *databases, *data_dir.glob("before-restore-*")]:
        opened = [path for path in with_content(kind) if mode_of(path) & OTHERS]
        if opened:
            yield of_mode(opened, kind, is_secret=kind.name in SECRET)


def of_mode(opened: list[Path], kind: Path, *, is_secret: bool) -> Finding:
    others = f", and {plural(len(opened) - 1, 'more file')} in {kind}" if len(opened) > 1 else ""
    said = (
        f"{opened[0]} has the mode {mode_of(opened[0]) & 0o777:o}{others}:"
        " others on this machine can get at it."
    )
    advice = f"chmod {'-R ' if len(opened) > 1 else ''}go= {kind if len(opened) > 1 else opened[0]}"
    return problem(said, advice) if is_secret else warning(said, advice)


def foreign_files(data_dir: Path) -> Iterator[Finding]:
    """Files of other users: those that this user can't use, and those that they can."""
    owners = {path: owner_of(path) for path in with_content(data_dir) if path.name != MADE_BY_DISKS}
    foreign = {path: uid for path, uid in owners.items() if uid not in {os.geteuid(), None}}
    shut = {path: uid for path, uid in foreign.items() if not is_usable(path)}
    user = describe_owner(os.geteuid(), os.getegid()).name
    if shut:
        yield problem(
            f"{describe_paths(shut)} and can't be used by {user}.",
            f"chown -R {user} {data_dir}, or run this as the user that Waypost runs as.",
        )
    if usable := {path: uid for path, uid in foreign.items() if path not in shut}:
        yield warning(f"{describe_paths(usable)}.", "Run every command as the same user.")


def describe_paths(foreign: Mapping[Path, int | None]) -> str:
    """Text that names the first of some files of other users, and their owners."""
    users = sorted({describe_owner(uid, -1).name for uid in foreign.values() if uid is not None})
    more = len(foreign) - SHOWN
    named = ", ".join(map(str, list(foreign)[:SHOWN])) + (f" and {more:,} more" if more > 0 else "")
    whose = "another user" if len(users) == 1 else "other users"
    return f"{named} belong{'s' if len(foreign) == 1 else ''} to {whose} ({', '.join(users)})"


def is_usable(path: Path) -> bool:
    wanted = os.R_OK | os.W_OK | (os.X_OK if path.is_dir() else 0)
    return os.access(path, wanted)


def with_content(path: Path) -> Iterable[Path]:
    """A file, or a folder and everything in it; nothing where neither exists."""
    if path.is_symlink() or not path.is_dir():
        return [path] if path.exists() else []
    found = [path]
    for folder, folders, names in os.walk(path):
        found += [Path(folder) / name for name in sorted([*folders, *names])]
    return found


def mode_of(path: Path) -> int:
    """The mode of a file; 0 for one that is gone, and for a symbolic link, whose own mode means nothing."""
    try:
        found = path.lstat().st_mode
    except FileNotFoundError:
        return 0
    return 0 if stat.S_ISLNK(found) else found


def owner_of(path: Path) -> int | None:
    """The owner of a file; None for one that is gone, and for a symbolic link, whose owner has no effect."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return None if stat.S_ISLNK(found.st_mode) else found.st_uid
