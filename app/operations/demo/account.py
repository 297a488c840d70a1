"""The demo's account, with its projects, domain, pixels and handlers.

A seed replaces it, but never an account that no seed has made.
`DATA_DIR/demo_accounts` lists the demo accounts. The account is replaced, not emptied: clicks name their
owner by an id that is never used again, so those of an earlier demo count for no account.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import secrets
from pathlib import Path

import click
from PIL import Image, ImageDraw
from sqlalchemy import delete, exists, select

from app.accounts import passwords, services, setup
from app.accounts.access import Access
from app.accounts.models import User, Workspace
from app.accounts.workspaces import access_of
from app.core.database import begin_write
from app.core.extensions import db
from app.domains.models import Domain
from app.input.data import RequestData, Upload, Value
from app.links.models import Alias, Link
from app.links.removal import empty_trash, erase
from app.notifications import services as handlers
from app.notifications.forms import HandlerForm
from app.notifications.transport import Setting, chosen_transports
from app.operations.demo.links import CONTENT, Surroundings
from app.pixels import services as pixels
from app.pixels.provider import all_providers
from app.pixels.services import PixelForm
from app.projects.models import Project

FILE = "demo_accounts"
HOST = "links.example"  # a reserved name, which can't be registered
BATCH_SIZE = 200  # links in a transaction, so that others can write in between


def begin_anew(email: str, data_dir: Path) -> tuple[User, str]:
    """Makes a new account. Returns it and its password. Raises ClickException where a real account has the
    address."""
    known = read_known(data_dir)
    old = services.find_user(email)
    if old and known.get(old.email) != old.id:
        raise click.ClickException(f"{old.email} has an account that no seed has made; it is left alone")
    is_admin = bool(old and old.is_admin)
    if old:
        remove_account(old)
    password = secrets.token_urlsafe(12)
    password_hash = passwords.hash_password(password)
    begin_write(db.session)
    user = services.store_user(email, password_hash, services.Profile("Demo"), is_admin=is_admin)
    user.timezone = "Europe/Berlin"
    db.session.commit()
    write_known(data_dir, {**known, user.email: user.id})
    setup.forget_token(data_dir)
    return user, password


def remove_account(user: User) -> None:
    """Removes the account with everything it owns. Its aliases are free at once for any account."""
    user_id, workspace_id = user.id, access_of(user).workspace_id
    while remove_links(workspace_id):
        pass
    begin_write(db.session)
    empty_trash(workspace_id)
    db.session.execute(delete(Alias).where(Alias.workspace_id == workspace_id))
    db.session.execute(delete(Workspace).where(Workspace.id == workspace_id))
    db.session.delete(db.session.get_one(User, user_id))
    db.session.commit()


def remove_links(workspace_id: int) -> int:
    begin_write(db.session)
    some = db.session.scalars(
        select(Link.id).where(Link.workspace_id == workspace_id).limit(BATCH_SIZE)
    ).all()
    erase(workspace_id, some)
    db.session.commit()
    return len(some)


def read_known(data_dir: Path) -> dict[str, int]:
    try:
        found: dict[str, int] = json.loads((data_dir / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found


def write_known(data_dir: Path, known: dict[str, int]) -> None:
    draft = data_dir / f".{FILE}.{secrets.token_hex(8)}"
    draft.write_text(json.dumps(known), encoding="utf-8")
    draft.replace(data_dir / FILE)


# --- what the account has beside links


def make_belongings(access: Access, now: dt.datetime, days: int) -> Surroundings:
    since = now - dt.timedelta(days=days)
    return Surroundings(
        now=now,
        days=days,
        projects=make_projects(access, since),
        pixels=make_pixels(access),
        handlers=make_handlers(access),
        domain=make_domain(access, since),
        pictures={"cloaking_favicon": icon(), "cloaking_opengraph": card()},
    )


def make_projects(access: Access, since: dt.datetime) -> list[int]:
    begin_write(db.session)
    rows = [Project(**access.row_columns, **row, datetime=since) for row in CONTENT["projects"]]
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


# --- pictures, drawn here so that none has to be shipped

INK, PAPER, SIGNAL = "#1b3a4b", "#f4f1ea", "#e4572e"


def icon() -> Upload:
    """A signpost, 64 pixels wide."""
    image = Image.new("RGB", (64, 64), PAPER)
    draw = ImageDraw.Draw(image)
    draw.rectangle((29, 10, 34, 60), fill=INK)
    draw.polygon([(12, 14), (46, 14), (56, 24), (46, 34), (12, 34)], fill=SIGNAL)
    return png("icon.png", image)


def card() -> Upload:
    """A preview image for social networks: hills under a sun, 1200 by 630."""
    image = Image.new("RGB", (1200, 630), PAPER)
    draw = ImageDraw.Draw(image)
    draw.ellipse((880, 90, 1060, 270), fill=SIGNAL)
    for left, top, colour in [(-200, 330, "#8fb8a8"), (300, 380, "#5b8e7d"), (-100, 470, INK)]:
        draw.ellipse((left, top, left + 1300, top + 900), fill=colour)
    return png("card.png", image)


def png(name: str, image: Image.Image) -> Upload:
    file = io.BytesIO()
    image.save(file, "PNG")
    return Upload(name, file.getvalue())
