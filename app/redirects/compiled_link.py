"""Compiled links: a link as the redirect engine keeps it in memory."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, make_dataclass
from http import HTTPStatus
from sys import getsizeof
from typing import TYPE_CHECKING, Any

from app.journal.codec import encode_ending
from app.redirects.location import encode_location, with_query
from app.redirects.queries import NAMES, OPTIONS
from app.redirects.targets import Targets, compiled_targets

if TYPE_CHECKING:
    from app.links.models import Link

EncodedHeaders = list[tuple[bytes, bytes]]
Message = dict[str, Any]  # of ASGI

# on every answer to a visitor: a change must show at once, and search engines must not list short links
ALWAYS = (("Cache-Control", "no-store"), ("X-Robots-Tag", "noindex"))
STATUSES = {code.value: f"{code.value} {code.phrase}" for code in HTTPStatus}
KEEPS_METHOD = frozenset({307, 308})


if TYPE_CHECKING:
    # for the type checker, a column's type is that of the model
    Columns = Link
else:
    Columns = make_dataclass(
        "Columns",
        [*((name, Any) for name in NAMES), *((name, Any, unset) for name, unset in OPTIONS.items())],
        slots=True,
        eq=False,
        kw_only=True,
    )


@dataclass(slots=True, eq=False, kw_only=True)
class CompiledLink(Columns):
    """A link compiled for answering visitors: the columns of `links.schema` that redirects read, by their
    names, and what follows from them."""

    domain_id: int  # 0 where the column has none
    has_pixels: bool = False
    # a title, a description or a picture of its own for the previews of chats and networks
    has_card: bool = False

    schemes: frozenset[str]
    # the operator's setting: visitors are asked before pixels fire
    asks_consent: bool = False
    # the pairs of `targeting_type`
    targets: Targets | None = None
    # always the same redirect, for every visitor and at any time
    is_plain: bool = False
    # no page for the link's settings comes before, and nothing is looked up: `resolve` alone gives the answer
    is_open: bool = False
    # set when the link has changed: code that still finds this object must load the link again
    is_gone: bool = False
    # of a limited link: when this was compiled; the journal's number of visits once that is settled, and when
    # to count it anew, by the monotonic clock
    made: float = field(default_factory=time.monotonic)
    journaled: int | None = None
    journaled_until: float = 0.0
    # of a plain link, made once: the message that begins each answer, with headers as they are sent; and the
    # end of the lines of its visits, which name its destination
    start: Message = field(default_factory=dict)
    line_ending: str = ""

    @property
    def utm(self) -> tuple[tuple[str, str], ...]:
        """The owner's UTM parameters, which are added to every destination."""
        if not (self.utm_source or self.utm_medium or self.utm_campaign):
            return ()
        return (
            ("utm_source", self.utm_source or ""),
            ("utm_medium", self.utm_medium or ""),
            ("utm_campaign", self.utm_campaign or ""),
        )

    @property
    def weight(self) -> int:
        """About how many bytes its long parts take in memory: destinations and targets."""
        texts = getsizeof(self.location_url) + getsizeof(self.expiration_url)
        return texts + (self.targets.weight if self.targets else 0)

    @property
    def asks_confirmation(self) -> bool:
        """Whether a visitor of this limited link must confirm with a tap, which uses up the click. Not if
        there is a password or a warning: their form is the tap, because a visitor is asked only once."""
        is_asked = self.clicks_limit_confirmation_is_enabled and self.clicks_limit is not None
        return is_asked and not (self.password_hash or self.sensitive_content)

    @property
    def keeps_method(self) -> bool:
        return self.http_status_code in KEEPS_METHOD


def compile_link(
    columns: Mapping[str, Any], schemes: frozenset[str], *, asks_consent: bool = False
) -> CompiledLink:
    """Compile a link from its stored columns; those with their default may be left out. `schemes` are the
    schemes that a destination may have."""
    kept = {**columns, "schemes": schemes, "asks_consent": asks_consent}
    kept["targets"] = compiled_targets(columns.get("targeting_type"), kept.pop("targeting", None))
    compiled_link = CompiledLink(**kept)
    compiled_link.is_open = is_open(compiled_link)
    location = encode_location(with_query(compiled_link.location_url, compiled_link.utm), schemes)
    if location and compiled_link.is_open and is_the_same_for_all(compiled_link):
        compiled_link.is_plain = True
        compiled_link.start = start_message(compiled_link.http_status_code, redirect_headers(location))
        compiled_link.line_ending = encode_ending(compiled_link.location_url)
    return compiled_link


def encode_headers(headers: Iterable[tuple[str, str]]) -> EncodedHeaders:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


ALWAYS_ENCODED = encode_headers(ALWAYS)


def redirect_headers(location: str) -> EncodedHeaders:
    """The headers of a redirect, but for those that depend on the request."""
    return [(b"Location", location.encode("latin-1")), *ALWAYS_ENCODED]


def start_message(status: int, headers: EncodedHeaders) -> Message:
    """The message of ASGI that begins an answer."""
    return {"type": "http.response.start", "status": status, "headers": headers}


def is_open(compiled_link: CompiledLink) -> bool:
    """Whether an enabled link needs no look-up and no page of its settings before the destination."""
    has_gate = compiled_link.password_hash or compiled_link.sensitive_content or compiled_link.clicks_limit
    return compiled_link.is_enabled and not (
        has_gate or compiled_link.cloaking_is_enabled or compiled_link.has_pixels
    )


def is_the_same_for_all(compiled_link: CompiledLink) -> bool:
    """Whether an open link redirects every visitor to the same address at any time."""
    asks_visitor = (
        compiled_link.targets
        or compiled_link.forward_query_parameters_is_enabled
        or compiled_link.app_linking_is_enabled
    )
    return not (asks_visitor or compiled_link.has_card or compiled_link.start_date or compiled_link.end_date)
