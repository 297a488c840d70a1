"""What a destination suggests for its link: a title, a description, a picture and an icon.

Fetched when an owner asks for it, and never otherwise. Nothing is filled in by itself. The request is over
after `SECONDS` and what decoding takes, and few run at once in a process: a slow destination must not hold
the threads of pages.
"""

# see docs/decisions/2026-11-24-metadata-of-destinations.md
from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from threading import BoundedSemaphore, Thread

from itsdangerous import BadSignature

from app.core.errors import Busy, FieldError, Invalid
from app.core.secret_keys.timed_tokens import TimedTokens
from app.i18n.messages import lazy_gettext as _l
from app.input.data import Upload
from app.input.parsers import Rejected
from app.links import destination_page, uploads
from app.links.destination_page import DestinationPage, NotAPage, Refused
from app.links.pictures import Picture, read_picture
from app.net.dial import Deadline
from app.net.http import NoAnswer
from app.net.networks import Network

SECONDS = 6.0  # for the page, its picture and its icon
DECODING_SECONDS = 3.0
MAX_FETCHES = 4  # at once in one process
RETRY_SECONDS = 5
MAX_PICTURE, MAX_ICON = 5 * 1024 * 1024, 512 * 1024  # bytes as sent, as for uploads
PICTURE_WIDTH, ICON_WIDTH = 1200, 256
MAX_KEPT = 1024 * 1024  # bytes, re-encoded
# shorter than what orphaned uploads are kept for (`YOUNGEST_SECONDS` in app/links/orphan_uploads.py)
TOKENS = TimedTokens("waypost: a picture that was fetched from a destination", 20 * 60 * 60)
NAME = re.compile(r"[0-9a-f]{32}\.(png|jpg|webp)", re.ASCII)

_fetches = BoundedSemaphore(MAX_FETCHES)

# One text for all that keeps a request from arriving, in private networks and elsewhere: what lies behind a
# firewall, and which ports are open there, must not be read off it.
UNREACHABLE = _l(
    "The destination can't be reached from here. Check its address. Servers in private networks are never "
    "asked."
)


@dataclass(frozen=True)
class Suggestions:
    """What a page says of itself; "" or None for what it does not say."""

    title: str = ""
    description: str = ""
    picture: Picture | None = None
    icon: Picture | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.title or self.description or self.picture or self.icon)


def fetch_suggestions(url: str, allowed: Sequence[Network], languages: str = "") -> Suggestions:
    """What the destination suggests. Raises Invalid with words for its owner, Busy."""
    if not _fetches.acquire(blocking=False):
        text = _l("Too many destinations are being asked at this moment. Try again in a few seconds.")
        raise Busy(RETRY_SECONDS, FieldError(text, "busy"))
    try:
        deadline = Deadline(SECONDS)
        page = ask_page(url, allowed, deadline, languages)
        wanted = (page.picture_url, MAX_PICTURE, False), (icon_url(page), MAX_ICON, True)
        futures = [begin(one, allowed, deadline) for one in wanted]
        picture, icon = (picture_of(future, deadline) for future in futures)
    finally:
        _fetches.release()
    found = Suggestions(page.title, page.description, picture, icon)
    if found.is_empty:
        raise unusable(_l("This page has no title, no description and no picture of its own."), "empty")
    return found


def ask_page(url: str, allowed: Sequence[Network], deadline: Deadline, languages: str) -> DestinationPage:
    try:
        return destination_page.read_page(url, allowed, deadline, languages)
    except TimeoutError:
        raise too_slow() from None
    except NotAPage:
        text = _l("The destination is not a web page, so there is nothing to fetch.")
        raise unusable(text, "not_a_page") from None
    except Refused as refused:
        text = _l("The destination answers with the error %(status)s.", status=refused.status)
        raise unusable(text, "refused") from None
    except NoAnswer as silent:
        if silent.code == "timed_out":
            raise too_slow() from None
        if silent.code == "too_many_redirects":
            raise unusable(_l("The destination redirects too many times."), silent.code) from None
        raise unusable(UNREACHABLE, "unreachable") from None


def unusable(text: str, code: str) -> Invalid:
    return Invalid(FieldError(text, code, "location_url"))


def too_slow() -> Invalid:
    return unusable(_l("The destination took too long to answer."), "timed_out")


def icon_url(page: DestinationPage) -> str:
    """The largest icon that the page names; "" where it names none."""
    return max(page.icons, key=lambda one: (one.size, one.is_touch)).url if page.icons else ""


def begin(
    wanted: tuple[str, int, bool], allowed: Sequence[Network], deadline: Deadline
) -> Future[Picture | None]:
    """Download and decode a picture in a thread of its own: no deadline ends a decoder."""
    future: Future[Picture | None] = Future()
    url, limit, is_icon = wanted

    def work() -> None:
        found = None
        with suppress(NoAnswer, TimeoutError, Rejected, Busy):
            found = download(url, limit, allowed, deadline, is_icon=is_icon) if url else None
        future.set_result(found)

    Thread(target=work, name="picture of a destination", daemon=True).start()
    return future


def download(
    url: str, limit: int, allowed: Sequence[Network], deadline: Deadline, *, is_icon: bool
) -> Picture | None:
    content = destination_page.download_picture(url, allowed, deadline, limit)
    width = ICON_WIDTH if is_icon else PICTURE_WIDTH
    return (
        read_picture(content, may_be_icon=is_icon, max_width=width, most_bytes=MAX_KEPT) if content else None
    )


def picture_of(future: Future[Picture | None], deadline: Deadline) -> Picture | None:
    """The picture; None where it can't be had in time, or is none. The rest is shown without it."""
    seconds = max(0.0, SECONDS - deadline.spent_ms() / 1000) + DECODING_SECONDS
    with suppress(TimeoutError):
        return future.result(seconds)
    return None


# --- pictures between a suggestion and the saved link


def keep_picture(user_id: int, picture: Picture | None) -> str:
    """Store a suggested picture as an upload, if the transaction is committed. Returns its token.

    It is removed with the other orphaned uploads: a saved link gets a file of its own.
    """
    return TOKENS.sign([user_id, uploads.keep(picture)]) if picture else ""


def kept_picture(user_id: int, token: str) -> Upload | None:
    """The picture of a token that this user got; None where there is none any more."""
    try:
        owner_id, name = TOKENS.read(token)
    except BadSignature:
        return None
    if owner_id != user_id or not NAME.fullmatch(name):
        return None
    with suppress(FileNotFoundError):
        return Upload(name, uploads.path_of(name).read_bytes())
    return None
