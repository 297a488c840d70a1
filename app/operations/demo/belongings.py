"""What the demo account has beside links: projects, a domain, every pixel and every handler."""

from __future__ import annotations

import datetime as dt
import secrets

from sqlalchemy import exists, select

from app.accounts.access import Access
from app.core.database import begin_write
from app.core.extensions import db
from app.domains.models import Domain
from app.input.data import RequestData, Value
from app.notifications import services as handlers
from app.notifications.forms import HandlerForm
from app.notifications.transport import Setting, chosen_transports
from app.operations.demo.links import Surroundings
from app.pixels import services as pixels
from app.pixels.forms import PixelForm
from app.pixels.provider import all_providers
from app.projects.models import Project

PROJECTS = (("Launch", "#e4572e"), ("Mail and print", "#17bebb"), ("Events", "#7768ae"))
HOST = "links.example"  # a reserved name, which can't be registered


def make_belongings(access: Access, now: dt.datetime, days: int) -> Surroundings:
    since = now - dt.timedelta(days=days)
    return Surroundings(
        now=now,
        days=days,
        projects=make_projects(access, since),
        pixels=make_pixels(access),
        handlers=make_handlers(access),
        domain=make_domain(access, since),
    )


def make_projects(access: Access, since: dt.datetime) -> list[int]:
    begin_write(db.session)
    rows = [Project(**access.row_columns, name=name, color=color, datetime=since) for name, color in PROJECTS]
    db.session.add_all(rows)
    db.session.commit()
    return [row.id for row in rows]


def make_domain(access: Access, since: dt.datetime) -> int | None:
    """Makes a verified domain, unless another demo has it."""
    begin_write(db.session)
    if db.session.scalar(select(exists().where(Domain.host == HOST, Domain.is_verified))):
        return None
    row = Domain(
        **access.row_columns, host=HOST, is_verified=True, token=secrets.token_hex(16), datetime=since
    )
    row.custom_index_url = "https://example.com/"
    db.session.add(row)
    db.session.commit()
    return row.id


def make_pixels(access: Access) -> list[int]:
    """Makes a pixel of each provider, with the identifier that is its example."""
    made = []
    for type_, provider in all_providers().items():
        sent: list[tuple[str, Value]] = [
            ("type", type_),
            ("name", str(provider.label)),
            ("pixel", provider.example),
        ]
        form = PixelForm(RequestData(sent), owner=access)
        form.require_valid()
        begin_write(db.session)
        made.append(pixels.create(access, form.changes).id)
        db.session.commit()
    return made


def make_handlers(access: Access) -> list[int]:
    """Makes a handler of each transport, switched off and with example addresses: none ever sends."""
    made = []
    for type_, transport in chosen_transports().items():
        sent: list[tuple[str, Value]] = [("type", type_), ("name", str(transport.label))]
        form = HandlerForm(
            RequestData([*sent, *((one.name, harmless(one)) for one in transport.settings)]), owner=access
        )
        form.require_valid()
        begin_write(db.session)
        handler = handlers.create(access, form.changes)
        handlers.update(handler, {"is_enabled": False})
        made.append(handler.id)
        db.session.commit()
    return made


def harmless(setting: Setting) -> str:
    return f"https://example.com/hooks/{setting.name}" if setting.kind == "address" else setting.example
