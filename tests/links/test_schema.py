"""The schema of a link's settings, and the model's columns."""

from __future__ import annotations

from app.links.models import Link
from app.links.schema import SETTINGS

# columns that Waypost itself keeps
KEPT = {
    *(
        "id",
        "workspace_id",
        "user_id",
        "search_text",
        "search_notes",
        "start_due",
        "end_due",
        "password_version",
    ),
    *("last_datetime", "datetime"),
}
# settings that are stored otherwise: as rows of other tables, as a hash, as links of their own
ELSEWHERE = {"tags", "pixels_ids", "email_reports", "password", "is_bulk", "location_urls"}


def test_every_column_is_a_setting_or_kept_by_waypost() -> None:
    columns = set(Link.__table__.columns.keys())
    assert columns - SETTINGS.keys() == KEPT
    assert SETTINGS.keys() - columns == ELSEWHERE
