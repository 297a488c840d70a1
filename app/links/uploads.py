"""How does a picture that somebody sent become a file of ours, and how does that go again?

A picture is decoded and written anew, so that nothing of what was sent is served. Files come before the
commit and go after it: a request that fails leaves nothing behind, and no row names a file that is gone.
"""

from __future__ import annotations

import io
import os
import secrets
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore

from PIL import Image, ImageOps
from sqlalchemy import event
from sqlalchemy.orm import Session, SessionTransaction

from app.extensions import db
from app.reading import Rejected

MOST_PIXELS = 20_000_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
# what Pillow raises on bytes that are not what they seem, as found by feeding it such
BROKEN = (OSError, SyntaxError, ValueError, LookupError, ArithmeticError, TypeError, struct.error, zlib.error)

# Pillow's own limit, for what it unpacks inside: it warns above this and refuses twice as much
Image.MAX_IMAGE_PIXELS = MOST_PIXELS
TOO_MANY = (Image.DecompressionBombError, Image.DecompressionBombWarning)
# a picture of 20 megapixels takes some 160 MB while it is written anew
AT_ONCE = BoundedSemaphore(2)

_directory: Path | None = None


@dataclass(frozen=True)
class Picture:
    """A picture written anew, not yet a file. `suffix` is its kind: png, jpg or webp."""

    content: bytes
    suffix: str


def read_picture(content: bytes, *, may_be_icon: bool = False) -> Picture:
    """Decode a picture and write it anew, without what else was in it; else Rejected.

    Of an animation the first frame is kept, of an icon the largest size. All but JPEG and WebP become PNG.
    """
    formats = (*FORMATS, "ICO") if may_be_icon else FORMATS
    try:
        with AT_ONCE, Image.open(io.BytesIO(content), formats=formats) as image:
            refuse_huge(image)
            image.load()
            refuse_huge(image)
            return written_anew(image)
    except TOO_MANY:
        raise too_many() from None
    except BROKEN:
        known = "PNG, JPEG, GIF, WebP or ICO" if may_be_icon else "PNG, JPEG, GIF or WebP"
        raise Rejected(f"This must be a whole picture, as {known}.", "picture") from None


def refuse_huge(image: Image.Image) -> None:
    if image.width * image.height > MOST_PIXELS:
        raise too_many()


def too_many() -> Rejected:
    return Rejected("This picture may have at most 20 megapixels.", "too_many_pixels")


def written_anew(image: Image.Image) -> Picture:
    kind = {"JPEG": "JPEG", "MPO": "JPEG", "WEBP": "WEBP"}.get(image.format or "", "PNG")
    suffix = {"JPEG": "jpg", "WEBP": "webp", "PNG": "png"}[kind]
    # the way up stands in the metadata, which goes
    plain = ImageOps.exif_transpose(image)
    is_clear = kind != "JPEG" and plain.has_transparency_data
    plain = plain.convert("RGBA" if is_clear else "RGB")
    plain.info.clear()
    out = io.BytesIO()
    plain.save(out, kind, **{"quality": 90} if kind != "PNG" else {"optimize": False})
    return Picture(out.getvalue(), suffix)


def use_directory(directory: Path) -> None:
    """Keep this process's files there; set when the application is made."""
    global _directory  # one directory a process
    _directory = directory


def directory() -> Path:
    if _directory is None:
        raise RuntimeError("no directory for uploads: create_app sets it")
    return _directory


def keep(picture: Picture) -> str:
    """Write the picture into a file and name that. It goes again unless the transaction is committed."""
    name = f"{secrets.token_hex(16)}.{picture.suffix}"
    draft = prepared(name)
    with draft.open("xb") as file:
        file.write(picture.content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(directory() / name)
    return name


def keep_again(file: str | Path) -> str:
    """The same file, of this name or at another place, under one more name: each then goes by itself."""
    other = f"{secrets.token_hex(16)}{Path(file).suffix}"
    prepared(other)
    os.link(directory() / file, directory() / other)
    return other


def keep_any(picture: Picture | str | Path | None) -> str | None:
    """A new picture, or one more name for a file that there is; None where there is none."""
    if not picture:
        return None
    return keep(picture) if isinstance(picture, Picture) else keep_again(picture)


def prepared(name: str) -> Path:
    """Note that a file is about to be, and name the draft to write it to."""
    directory().mkdir(parents=True, exist_ok=True)
    draft = directory() / f".{name}"
    noted("new_uploads").extend([directory() / name, draft])
    return draft


def discard(name: str | None) -> None:
    """Remove the file once the transaction is committed."""
    if name:
        noted("old_uploads").append(directory() / name)


def noted(what: str) -> list[Path]:
    found: list[Path] = db.session.info.setdefault(what, [])
    return found


def mark() -> int:
    """How many files are to go so far, for `back_to` when what follows is undone."""
    return len(noted("old_uploads"))


def back_to(marked: int) -> None:
    """Keep those files after all that were to go since then."""
    del noted("old_uploads")[marked:]


@event.listens_for(db.session, "after_commit")
def committed(session: Session) -> None:
    session.info.pop("new_uploads", None)
    remove_files(session.info.pop("old_uploads", ()))


@event.listens_for(db.session, "after_transaction_end")
def ended(session: Session, transaction: SessionTransaction) -> None:
    """However it ended: what a commit would have kept or removed is not so."""
    if transaction.parent is None:
        session.info.pop("old_uploads", None)
        remove_files(session.info.pop("new_uploads", ()))


def remove(names: Iterable[str]) -> None:
    remove_files(directory() / name for name in names)


def remove_files(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
