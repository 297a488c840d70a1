"""Pixels and handlers that rows name: found among the owner's, or created from the file.

The name of a pixel consists of all its fields, so any export can create it. The settings of handlers are
secrets: rows of JSON have them, CSV has none. A row with settings means a handler with the same ones, a row
without any of this type and name. Forms validate both.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select

from app.accounts.access import Access
from app.core.config import Settings
from app.core.encryption import UnreadableSecret
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.import_export.cells import Name, loaded, missing_names, named_ids, names_of
from app.input.data import RequestData
from app.input.forms import ResourceForm
from app.input.parsers import Rejected
from app.notifications import services as handlers
from app.notifications.forms import HandlerForm
from app.notifications.models import NotificationHandler
from app.notifications.transport import all_transports
from app.pixels import services as pixels
from app.pixels.models import Pixel
from app.pixels.services import PixelForm

Ids = Mapping[Name, Sequence[int]]
Description = Mapping[str, Any]  # of a handler, as a file has it
WHOLE_PIXEL = 3  # type, identifier and name; exports had only the first two once
SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{32,88}={0,2}", re.ASCII)
SECRET_BYTES = range(24, 65)
NO_PIXELS = _l('This must be a list of pixels like [["type","name"]].')
NO_HANDLERS = _l('This must be a list of handlers like [["type","name"]].')


class AttachmentName(NamedTuple):
    """What one row names: `ids` where all exist, else `names`, and `to_make` for missing ones."""

    ids: list[int]
    names: list[Name]
    to_make: dict[Name, list[dict[str, Any]]]


NOTHING = AttachmentName([], [], {})


def read_pixels(text: str, known: Ids, owner: Any) -> AttachmentName:
    """Raises Rejected."""

    def define(name: Name, count: int) -> list[dict[str, Any]]:
        if len(name) != WHOLE_PIXEL:
            raise too_few_pixels(name, known, count)
        fields = dict(zip(("type", "pixel", "name"), name, strict=True))
        return [changes_of(PixelForm(RequestData(fields.items()), owner=owner), name)] * count

    return read(names_of(text, NO_PIXELS), known, define)


def read_handlers(
    text: str, own: Iterable[Description], known: Ids, owner: Any, settings: Settings
) -> AttachmentName:
    """Raises Rejected. `own`: what the row itself says about its handlers."""
    left, changes = defaultdict[Name, list[Description]](list), defaultdict[Name, list[dict[str, Any]]](list)
    for one in own:
        left[str(one.get("type")), str(one.get("name"))].append(one)

    def define(name: Name, count: int) -> list[dict[str, Any]]:
        if name not in changes:
            raise too_few_handlers(name, known, count)
        return changes[name][-count:]

    def whole_name(name: Name) -> Name:
        if not (described := left[name]):
            return name
        found = handler_changes(described.pop(0), name, owner, settings)
        whole = name_with_settings(found["type"], found["name"], found["settings"])
        changes[whole].append(found)
        return whole

    return read([whole_name(name) for name in names_of(text, NO_HANDLERS)], known, define)


def read_descriptions(text: str) -> list[Description]:
    """What a row says about its handlers. Raises Rejected."""
    found = loaded(text)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise Rejected('This must be a list like [{"type":"email","name":"me","settings":{…}}].', "format")
    return [one for one in found if entered_settings(one)]


def entered_settings(row: Description) -> dict[str, str]:
    """The settings in a description; none where the instance that wrote it could not decrypt them."""
    found = row.get("settings")
    found = found if isinstance(found, dict) else {}
    return {str(key): str(value) for key, value in found.items() if value is not None}


def name_with_settings(type_: str, name: str, settings: Mapping[str, Any]) -> Name:
    """The name of a handler by which it is told from others of its type and name, without a secret in it."""
    told = json.dumps(sorted((key, str(value)) for key, value in settings.items()))
    return type_, name, hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=16).hexdigest()


def read(
    names: list[Name], known: Ids, define: Callable[[Name, int], list[dict[str, Any]]]
) -> AttachmentName:
    missing = missing_names(names, known)
    if not missing:
        return AttachmentName(named_ids(names, known), [], {})
    return AttachmentName([], names, {name: define(name, count) for name, count in missing.items()})


def too_few_pixels(name: Name, known: Ids, missing: int) -> Rejected:
    there = len(known.get(name, ()))
    counts = {"named": there + missing, "name": " ".join(name), "there": there}
    if not there:
        return Rejected(_l("You have no pixel %(name)s.", name=counts["name"]), "not_found")
    return Rejected(_l("This names %(named)s of pixel %(name)s, you have %(there)s.", **counts), "not_found")


def too_few_handlers(name: Name, known: Ids, missing: int) -> Rejected:
    there = len(known.get(name, ()))
    counts = {"named": there + missing, "name": " ".join(name), "there": there}
    if not there:
        return Rejected(_l("You have no handler %(name)s.", name=counts["name"]), "not_found")
    return Rejected(
        _l("This names %(named)s of handler %(name)s, you have %(there)s.", **counts), "not_found"
    )


def handler_changes(row: Description, name: Name, owner: Any, settings: Settings) -> dict[str, Any]:
    """The changes for `handlers.create`, with the generated settings as they were."""
    said = entered_settings(row)
    fields = {**said, "type": name[0], "name": name[1]}
    found = changes_of(HandlerForm(RequestData(fields.items()), owner=owner, settings=settings), name)
    kept = {key: said[key] for key in all_transports()[found["type"]].makes if is_secret(said.get(key, ""))}
    found["settings"] = {**found["settings"], **kept}
    return found | ({"is_enabled": False} if row.get("is_enabled") is False else {})


def is_secret(text: str) -> bool:
    """Whether the text is a signing secret by the rules of Standard Webhooks."""
    try:
        return bool(SECRET.fullmatch(text)) and len(base64.b64decode(text[6:], validate=True)) in SECRET_BYTES
    except binascii.Error:
        return False


def changes_of(form: ResourceForm, name: Name) -> dict[str, Any]:
    if form.validate():
        return form.changes
    said = " ".join(str(problem.title) for problem in form.problems)
    raise Rejected(_l("%(name)s can't be created: %(reason)s", name=" ".join(name), reason=said), "format")


# --- inside the write


def pixels_for(access: Access, wanted: Iterable[AttachmentName]) -> Ids:
    """The owner's pixels by type, identifier and name, after the missing ones were created."""
    if not (lacking := [one for one in wanted if one.names]):
        return {}
    known = ids_by((Pixel.type, Pixel.pixel, Pixel.name), Pixel, access.workspace_id)
    return made(lacking, known, lambda changes: pixels.create(access, changes).id)


def handlers_for(access: Access, wanted: Iterable[AttachmentName]) -> Ids:
    """The owner's handlers by type and name, after the missing ones were created."""
    if not (lacking := [one for one in wanted if one.names]):
        return {}
    return made(
        lacking, handler_ids(access.workspace_id), lambda changes: handlers.create(access, changes).id
    )


def made(
    wanted: Iterable[AttachmentName], known: dict[Name, list[int]], create: Callable[[dict[str, Any]], int]
) -> Ids:
    """Create what is missing, and return all ids. Earlier rows may have created some or all of it already."""
    for one in wanted:
        for name, count in Counter(one.names).items():
            lacking = count - len(known[name])
            for changes in one.to_make.get(name, [])[-lacking:] if lacking > 0 else ():
                known[name].append(create(changes))
    return known


def handler_ids(workspace_id: int) -> dict[Name, list[int]]:
    """Ids of an owner's handlers by type and name, and with the settings, the oldest first."""
    found: dict[Name, list[int]] = defaultdict(list)
    mine = select(NotificationHandler).where(NotificationHandler.workspace_id == workspace_id)
    for one in db.session.scalars(mine.order_by(NotificationHandler.id)):
        for name in handler_names(one):
            found[name].append(one.id)
    return found


def handler_names(handler: NotificationHandler) -> set[Name]:
    """All names by which a row may mean this handler, also one without its generated settings."""
    transport = all_transports()[handler.type]
    whole = transport.visible_settings(handler.settings)
    entered = {key: value for key, value in whole.items() if key not in transport.makes}
    names: set[Name] = {(handler.type, handler.name)}
    if not isinstance(handler.settings, UnreadableSecret):
        names |= {name_with_settings(handler.type, handler.name, each) for each in (whole, entered)}
    return names


def ids_by(columns: Sequence[Any], model: Any, workspace_id: int) -> dict[Name, list[int]]:
    """Ids of an owner's rows by these columns, the oldest first: several may have the same values."""
    found: dict[Name, list[int]] = defaultdict(list)
    for id_, *values in db.session.execute(
        select(model.id, *columns).where(model.workspace_id == workspace_id).order_by(model.id)
    ):
        found[tuple(map(str, values))].append(id_)
    return found
