"""Decodes and re-encodes uploaded pictures in a helper process, so that nothing sent is ever served.

Decoded, 20 megapixels take 80 MB and more, which the allocator of a web process with many threads never
gives back, and a decoder is where hostile bytes do most harm. A process of its own gives all memory back, has
limits of memory and CPU time, and no secret; its crash is a picture that was refused. At most two run at once
on the machine, whichever process asks. See docs/decisions/2026-11-22-picture-helper.md.
"""

# see docs/decisions/2026-11-20-pictures.md
from __future__ import annotations

import errno
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore

from app.core.errors import Busy, FieldError
from app.core.file_locks import lock_file
from app.i18n.messages import lazy_gettext as _l
from app.input.parsers import Rejected

HELPER = Path(__file__).with_name("picture_decoder.py")
MAX_HELPERS = 2
# requests of one process that wait or are served; they hold threads that other requests need
MAX_REQUESTS = 8
WAIT_SECONDS, POLL_SECONDS, RETRY_SECONDS = 10.0, 0.05, 10
# the helper ends itself after 30 s of CPU time; this ends one that gets no CPU time
DEADLINE_SECONDS = 60.0

log = logging.getLogger(__name__)

_requests = BoundedSemaphore(MAX_REQUESTS)
_lock_directory: Path | None = None


@dataclass(frozen=True)
class Picture:
    """A re-encoded picture, not yet a file. `suffix` is its kind: png, jpg or webp."""

    content: bytes
    suffix: str


def use_lock_directory(directory: Path) -> None:
    """Set the directory of the lock files that count the machine's helpers; called by `create_app`."""
    global _lock_directory  # one directory a process
    _lock_directory = directory


def read_picture(
    content: bytes,
    *,
    may_be_icon: bool = False,
    max_width: int | None = None,
    most_bytes: int | None = None,
    as_png: bool = False,
) -> Picture:
    """The same picture re-encoded, no wider and no higher than `max_width`, in `most_bytes` at most.

    With `as_png` it becomes a PNG, whatever it was.

    Raises Rejected if it is no picture or too large, Busy if too many are being read.
    """
    command = [sys.executable, "-I", str(HELPER)]
    command += ["--icon"] if may_be_icon else []
    command += ["--width", str(max_width)] if max_width else []
    command += ["--bytes", str(most_bytes)] if most_bytes else []
    command += ["--png"] if as_png else []
    with reserve_helper():
        suffix, _, rewritten = run_helper(command, content).partition(b"\n")
    if suffix.startswith(b"!"):
        raise rejected(suffix[1:].decode(), may_be_icon=may_be_icon)
    return Picture(rewritten, suffix.decode())


@contextmanager
def reserve_helper() -> Iterator[None]:
    """Hold the right to run one helper. Raises Busy if none becomes free in time."""
    if not _requests.acquire(blocking=False):
        raise busy()
    try:
        with lock_any_slot():
            yield
    finally:
        _requests.release()


@contextmanager
def lock_any_slot() -> Iterator[None]:
    """Hold one of the machine's `MAX_HELPERS` lock files."""
    if _lock_directory is None:
        raise RuntimeError("no directory for the locks of picture helpers: create_app sets it")
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        for number in range(MAX_HELPERS):
            with lock_file(_lock_directory / f"pictures-{number}.lock") as is_held:
                if is_held:
                    yield
                    return
        if time.monotonic() > deadline:
            raise busy()
        time.sleep(POLL_SECONDS)


def busy() -> Busy:
    text = _l("Too many pictures are being read at this moment. Try again in a few seconds.")
    return Busy(RETRY_SECONDS, FieldError(text, "busy"))


def run_helper(command: list[str], content: bytes) -> bytes:
    """The output of the helper; the code of a refusal if it fails. Raises Busy if it can't be started."""
    # of the environment, which may hold secrets, only what some Pythons need to start
    environ = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    try:
        done = subprocess.run(
            command,
            input=content,
            capture_output=True,
            check=True,
            cwd="/",
            env=environ,
            timeout=DEADLINE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        log.warning("A picture of %d bytes was not read within %d s", len(content), DEADLINE_SECONDS)
    except subprocess.CalledProcessError as error:
        # a negative code is a signal: out of CPU time, or a crash of the decoder
        last_line = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        log.warning(
            "A picture of %d bytes ended its helper (%d): %s", len(content), error.returncode, last_line
        )
    except OSError as error:  # no memory, or no process is left for the helper
        if error.errno not in {errno.EAGAIN, errno.ENOMEM}:
            raise
        raise busy() from error
    else:
        return done.stdout
    return b"!picture_too_complex\n"


def rejected(code: str, *, may_be_icon: bool) -> Rejected:
    if code == "too_many_pixels":
        return Rejected(_l("This picture may have at most 20 megapixels."), code)
    if code == "picture_too_complex":
        return Rejected(_l("This picture takes too much time or memory to read. Send a smaller one."), code)
    if may_be_icon:
        return Rejected(_l("This must be a whole picture, as PNG, JPEG, GIF, WebP or ICO."), "picture")
    return Rejected(_l("This must be a whole picture, as PNG, JPEG, GIF or WebP."), "picture")
