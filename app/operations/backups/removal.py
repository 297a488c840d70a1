"""Removal of old backups by the setting BACKUP_KEEP."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from app.core.storage_settings import Retention
from app.operations.backups.stores import BackupStore, StoredBackup

PERIODS: dict[str, Callable[[dt.datetime], object]] = {
    "days": lambda made: made.date(),
    "weeks": lambda made: made.isocalendar()[:2],
    "months": lambda made: (made.year, made.month),
}


def kept_names(backups: Sequence[StoredBackup], keep: Retention) -> set[str]:
    """The names that stay: the newest backup of all, and that of each of the last days, weeks and months.

    A day without a backup does not count, so that a pause removes nothing.
    """
    newest_first = sorted(backups, key=lambda each: each.made, reverse=True)
    kept = {each.name for each in newest_first[:1]}
    for name, period in PERIODS.items():
        newest: dict[object, str] = {}
        for each in newest_first:
            newest.setdefault(period(each.made), each.name)
        kept |= set(list(newest.values())[: getattr(keep, name)])
    return kept


def remove_old(store: BackupStore, keep: Retention, *, made: str) -> list[str]:
    """Removes backups that are no longer kept, once `made` is complete. Returns their names.

    Nothing is removed where the new one is not seen at its place.
    """
    backups = store.backups()
    if keep.is_all or made not in {each.name for each in backups}:
        return []
    kept = kept_names(backups, keep) | {made}
    old = [each.name for each in backups if each.name not in kept]
    for name in old:
        store.remove(name)
    return old
