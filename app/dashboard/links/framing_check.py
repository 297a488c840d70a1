"""Checks, when a cloaked link is saved, whether its destinations allow frames."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from time import monotonic

from app.core.extensions import db
from app.core.urls import split_address
from app.dashboard.links.rows import short_url
from app.i18n.messages import gettext as _
from app.links.framing import forbids_framing
from app.links.models import Link
from app.net import http as net_http
from app.net.networks import Network
from app.redirects.presentation import WEB
from app.web import application

SECONDS = 3.0  # for all of them: the owner waits
MAX_DESTINATIONS = 5
HOPS = 4
# as for a frame; of the body nothing is needed
HEADERS = {"accept": "text/html,*/*;q=0.8", "sec-fetch-dest": "iframe", "sec-fetch-mode": "navigate"}


def warning(links: Sequence[Link]) -> str | None:
    """A warning if a destination of a cloaked link forbids frames; None where none is known to.

    No transaction is open during the requests.
    """
    destinations_to_check = [
        pair for link in links if link.cloaking_is_enabled for pair in destinations(link)
    ]
    db.session.rollback()
    until = monotonic() + SECONDS
    hosts = [
        split_address(url).netloc
        for url, framing in islice(destinations_to_check, MAX_DESTINATIONS)
        if is_forbidden(url, framing, until)
    ]
    if not hosts:
        return None
    them = ", ".join(dict.fromkeys(hosts))
    return _(
        "Saved, but visitors will see an empty page: %(hosts)s forbids being shown in a frame. Turn "
        "cloaking off to redirect visitors there instead.",
        hosts=them,
    )


def destinations(link: Link) -> list[tuple[str, str]]:
    """Each address that the link may show in a frame, and the page that the frame is on."""
    every = dict.fromkeys([link.location_url, *(value for _, value in link.targeting or [])])
    return [(url, short_url(link)) for url in every if url.lower().startswith(WEB)]


def is_forbidden(url: str, framing: str, until: float) -> bool:
    """Whether the destination forbids frames. False if it fails to answer properly in time."""
    try:
        for _ in range(HOPS):
            left = until - monotonic()
            if left <= 0:
                return False
            answer = net_http.request("GET", url, headers=HEADERS, allowed=allowed(), seconds=left, limit=1)
            target = net_http.redirect_target(url, answer)
            if target is None:
                return forbids_framing(answer.headers, url, framing)
            url = target
    except net_http.NoAnswer:
        return False
    return False


def allowed() -> Sequence[Network]:
    return application.settings().allow_private_networks
