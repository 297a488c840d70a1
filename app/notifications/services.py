"""Creation, changes, deletion and restoring of notification handlers."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete as delete_rows
from sqlalchemy import func, select

from app.accounts.access import Access
from app.accounts.models import Workspace
from app.audit.services import Object, record
from app.core.clock import now
from app.core.database import reread
from app.core.encryption import UnreadableSecret
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.core.leases import precise_now
from app.events.types import CLICKED
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.notifications.confirmation import about, require_confirmation
from app.notifications.delivery import UNREADABLE
from app.notifications.event_types import told_types
from app.notifications.models import ClickNumber, NotificationHandler
from app.notifications.outbox import end_pending
from app.notifications.system_email import withdraw
from app.notifications.transport import all_transports
from app.notifications.unsubscribe import place_of
from app.trash import services as trash
from app.trash.models import Trashed
from app.web import application


def create(access: Access, changes: dict[str, Any]) -> NotificationHandler:
    """Create a handler from `changes`: type, name and settings. Raises Invalid for one too many."""
    require_room(access.workspace_id)
    settings = filled_in({**made(changes["type"]), **changes.get("settings", {})})
    handler = NotificationHandler(**access.row_columns, **{**changes, "settings": settings})
    require_settings(handler)
    settle_filter(handler)
    db.session.add(handler)
    db.session.flush()
    require_confirmation(db.session, handler)
    db.session.flush()
    note(handler, "handler.created")
    return handler


def require_room(workspace_id: int) -> None:
    """Lock the workspace's number of handlers for this transaction. Raises Invalid where it is the highest.

    The lock is none against other rows that name the workspace.
    """
    workspace = select(Workspace.id).where(Workspace.id == workspace_id)
    db.session.execute(workspace.with_for_update(key_share=True))
    mine = select(func.count()).where(NotificationHandler.workspace_id == workspace_id)
    most = application.settings().max_handlers
    if (db.session.scalar(mine) or 0) >= most:
        text = _l("A workspace may have at most %(most)s handlers.", most=lazy_digits(most))
        raise Invalid(FieldError(text, "too_many"))


def settle_filter(handler: NotificationHandler) -> None:
    """Drop a click filter that has no clicks to filter."""
    if CLICKED not in told_types(handler.events):
        handler.click_filter = None


def begin_counting(handler: NotificationHandler) -> None:
    """Forget which clicks were counted: with another filter, the first one is another one."""
    db.session.execute(delete_rows(ClickNumber).where(ClickNumber.handler_id == handler.id))


def note(handler: NotificationHandler, action: str, **changes: Any) -> None:
    """Record in the audit log: names of settings, never their values."""
    on = Object("notification_handler", handler.id, handler.name)
    record(db.session, action, owner_id=handler.user_id, on=on, type=handler.type, **changes)


def update(handler: NotificationHandler, changes: dict[str, Any]) -> NotificationHandler:
    """Change what `changes` names; a new type drops the settings of the old one.

    Raises NotFound when the handler was deleted meanwhile, Invalid when its type was changed meanwhile.
    """
    reread(db.session, handler)
    if not changes:
        return handler  # nothing was edited, so the last edit was another one
    place, filter_before = place_of(handler), handler.click_filter
    settings = settings_with(handler, changes)
    note_changes(handler, changes, settings)
    for name, value in changes.items():
        setattr(handler, name, value)
    handler.settings = settings
    settle_filter(handler)
    if handler.click_filter != filter_before:
        begin_counting(handler)
    if not isinstance(settings, UnreadableSecret):
        require_settings(handler)
    if changes.keys() & {"is_enabled", "type", "settings"}:
        # the owner has attended to it, so earlier failures no longer count
        handler.failing_since = handler.off_reason = None
        require_confirmation(db.session, handler, place)
    if not handler.is_enabled:
        end_pending(db.session, handler.id)
    handler.last_datetime = now()
    db.session.flush()
    return handler


def settings_with(handler: NotificationHandler, changes: dict[str, Any]) -> dict[str, Any]:
    """The settings after these changes. Unreadable ones stay as stored until they are entered anew."""
    is_other_type = changes.get("type", handler.type) != handler.type
    if isinstance(handler.settings, UnreadableSecret) and not is_other_type and not changes.get("settings"):
        return handler.settings
    begins_anew = is_other_type or isinstance(handler.settings, UnreadableSecret)
    kept = made(changes.get("type", handler.type)) if begins_anew else handler.settings
    return filled_in({**kept, **changes.get("settings", {})})


def filled_in(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without those that were cleared."""
    return {name: value for name, value in settings.items() if value is not None}


def note_changes(handler: NotificationHandler, changes: dict[str, Any], settings: dict[str, Any]) -> None:
    """Record which settings change, by name alone: nearly each of them may be a secret."""
    plain = {name: value for name, value in changes.items() if name != "settings"}
    changed = [name for name, value in plain.items() if getattr(handler, name) != value]
    names = settings.keys() | handler.settings.keys()
    changed += sorted(name for name in names if settings.get(name) != handler.settings.get(name))
    if changed:
        note(handler, "handler.updated", fields=changed)


def renew(handler: NotificationHandler) -> NotificationHandler:
    """Renew the generated settings. Raises NotFound, and Invalid where its type generates none."""
    reread(db.session, handler)
    make_anew = all_transports()[handler.type].renew
    if isinstance(handler.settings, UnreadableSecret):
        raise Invalid(FieldError(UNREADABLE, "unreadable"))
    if make_anew is None:
        raise Invalid(FieldError(_l("A handler of this type has no secret."), "no_secret", "type"))
    handler.settings = make_anew(handler.settings, precise_now())
    note(handler, "handler.secret_renewed")
    handler.last_datetime = now()
    db.session.flush()
    return handler


def delete(handler: NotificationHandler) -> str:
    """Move it to the trash, which takes it off its links. Raises NotFound when it is gone already.

    Returns the batch, by which it can be restored.
    """
    reread(db.session, handler)
    withdraw(db.session, about(handler))
    batch = trash.throw_away([handler], lambda row: (row.name, all_transports()[row.type].label))
    db.session.delete(handler)
    db.session.flush()
    return batch


def restore(trashed: Trashed) -> NotificationHandler:
    """Restore it, on the links that it was on. Raises Invalid for one handler too many."""
    require_room(trashed.workspace_id)
    handler: NotificationHandler = trash.put_back([trashed], NotificationHandler)[0]
    return handler


def made(type_: str) -> dict[str, str]:
    """New values for the settings that are generated."""
    return {name: make() for name, make in all_transports()[type_].makes.items()}


def require_settings(handler: NotificationHandler) -> None:
    """Raises Invalid where a setting is missing. The form checks it, but the type may have changed since."""
    names = [one.name for one in all_transports()[handler.type].settings if not one.is_optional]
    missing = [name for name in names if not handler.settings.get(name)]
    if missing:
        raise Invalid(
            *(FieldError(_l("This is required for this type."), "required", name) for name in missing)
        )
