"""What does one row of somebody's table ask for? Its texts go through the form that every link passes."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from app.addresses import Address
from app.config import Settings
from app.csv_files import unescape_text
from app.errors import FieldError, Invalid
from app.forms import ResourceForm
from app.links.forms import PAIRS, LinkForm
from app.reading import Rejected, plain, whole
from app.sent import Sent
from app.transfer.link_passwords import SWITCHED_OFF, had_password, password_changes, read_hash, read_version
from app.transfer.texts import Name, alias_of, flag_of, host_of, named_ids, pairs_of, tags_of, when

Texts = dict[str, str]
# a table can't hold these; nor what is looked up once for all of its rows
LEFT_OUT = {"type", "is_bulk", "location_urls", "cloaking_favicon", "cloaking_opengraph"}
LEFT_OUT |= {"domain_id", "project_id", "pixels_ids", "email_reports"}
ALWAYS = {"location_url", "url", "password", "schedule", "start_date", "end_date", "targeting_type"}
MOST_CLICKS = 2**53


@dataclass(frozen=True)
class Around:
    """What an owner's rows may name, read once for all of them."""

    owner: Any
    settings: Settings
    own_hosts: frozenset[str]
    domains: Mapping[str, int] = field(default_factory=dict)  # usable ones, by host
    pixels: Mapping[Name, Sequence[int]] = field(default_factory=dict)  # by type and id, and with the name
    handlers: Mapping[Name, Sequence[int]] = field(default_factory=dict)  # by type and name
    domain_id: int | None = None  # of rows that name none
    project: str = ""


class Wanted(NamedTuple):
    """A link to be made. `digest`: the same for the same row of the same owner, when it comes again.
    `notices`: what its owner must know about it, as [field, text]."""

    changes: dict[str, Any]
    project: str
    clicks: int
    datetime: dt.datetime | None
    digest: str
    notices: list[list[str]] = []  # noqa: RUF012  never changed


class RowForm(LinkForm):
    """The link form without what no table can say, and with what is the same for all rows given to it."""

    def settle(self) -> None:
        for name in PAIRS:
            if name in self and name != f"targeting_{self.chosen_targeting}":
                self[name].ignore()

    def own_hosts(self, addresses: Sequence[Address]) -> Collection[str]:  # noqa: ARG002
        hosts: Collection[str] = self.meta.own_hosts
        return hosts


@lru_cache(64)
def form_for(fields: frozenset[str]) -> type[RowForm]:
    """A form of these fields only: making all forty takes longer than all else about a row."""
    named = [name for name in dir(LinkForm) if hasattr(getattr(LinkForm, name), "field_class")]
    kept = fields | ALWAYS | (set(PAIRS) if "targeting" in fields else set())
    return type("RowForm", (RowForm,), dict.fromkeys(set(named) - kept | LEFT_OUT))


def read_row(cells: Mapping[str, str], columns: Mapping[str, str], around: Around) -> Wanted:
    """`columns`: field → column. Raises Invalid with everything that is wrong, by field."""
    texts = {name: unescape_text(cells.get(column, "")) for name, column in columns.items()}
    texts = {name: text for name, text in texts.items() if text}
    whole_address = texts.pop("short_url", "")
    if whole_address:
        texts.setdefault("url", whole_address)
    problems: list[FieldError] = []

    def read(name: str, how: Callable[[str], Any], otherwise: Any = None) -> Any:
        try:
            return how(texts[name]) if name in texts else otherwise
        except Rejected as rejected:
            problem = rejected.args[0]
            problems.append(FieldError(str(problem), problem.code, name))
            return otherwise

    beside = {
        "domain_id": read(
            "domain",
            lambda text: domain_of(text, around),
            domain_of_short(texts.get("url", ""), whole_address, around),
        ),
        "pixels_ids": read("pixels", lambda text: named_ids(text, around.pixels, "pixel")),
        "email_reports": read("handlers", lambda text: named_ids(text, around.handlers, "handler")),
    }
    moments = {name: read(name, when) for name in ("datetime", "start_date", "end_date")}
    clicks = read("clicks", lambda text: whole(text.replace(",", ""), 0, MOST_CLICKS), 0)
    project = read("project", lambda text: plain(text.strip(), 128), "") or around.project
    hashed, version = read("password_hash", read_hash), read("password_version", read_version)
    is_marked = read("has_password", had_password, otherwise=False)
    form = filled(texts, moments, read("targeting", pairs_of, ()), frozenset(columns), around)
    form.validate()
    problems += [problem for problem in form.problems if problem.field not in {one.field for one in problems}]
    if problems:
        raise Invalid(*problems)
    changes = form.changes | {name: value for name, value in beside.items() if value}
    changes |= password_changes(hashed, version, is_marked=is_marked)
    notices = [["has_password", SWITCHED_OFF]] if is_marked and hashed is None else []
    return Wanted(changes, project, clicks, moments["datetime"], digest_of(texts), notices)


def filled(
    texts: Texts,
    moments: Mapping[str, dt.datetime | None],
    pairs: Collection[tuple[str, str]],
    fields: frozenset[str],
    around: Around,
) -> ResourceForm:
    sent = dict(texts)
    if "url" in texts:
        sent["url"] = alias_of(texts["url"])
    if "is_enabled" in texts:
        sent["is_enabled"] = flag_of(texts["is_enabled"])
    for name in ("start_date", "end_date"):
        if moments[name]:
            sent |= {name: moments[name].strftime("%Y-%m-%d %H:%M:%S"), "schedule": "1"}  # type: ignore[union-attr]
        else:
            sent.pop(name, None)
    several = [("tags", tag) for tag in tags_of(sent.pop("tags", ""))]
    for index, pair in enumerate(pairs):
        halves = zip(("key", "value"), pair, strict=True)
        several += [
            (f"targeting_{texts.get('targeting_type')}_{half}[{index}]", text) for half, text in halves
        ]
    form: Any = form_for(fields)
    found: ResourceForm = form(
        Sent([*sent.items(), *several]),
        owner=around.owner,
        settings=around.settings,
        own_hosts=around.own_hosts,
    )
    return found


def domain_of(text: str, around: Around) -> int | None:
    host = host_of(text)
    if host in around.domains:
        return around.domains[host]
    return around.domain_id


def domain_of_short(address: str, whole_address: str, around: Around) -> int | None:
    """Rows that have whole short addresses name their domain with them."""
    whole = [text for text in (address, whole_address) if "/" in text.strip("/")]
    return domain_of(whole[0], around) if whole else around.domain_id


def digest_of(texts: Texts) -> str:
    written = json.dumps(sorted((name, text) for name, text in texts.items() if name != "clicks"))
    return hashlib.blake2b(written.encode("utf-8", "replace"), digest_size=16).hexdigest()
