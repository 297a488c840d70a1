"""Earlier versions as sent fields: the link's form reads from them exactly what was recorded."""

from __future__ import annotations

import datetime as dt
from typing import Any

from app.accounts.workspaces import access_of
from app.links.earlier_versions import as_sent
from app.links.forms import LinkForm

TO = "https://example.com/"
MOMENT = dt.datetime(2026, 3, 1, 12, 30, tzinfo=dt.UTC)
VERSIONS: dict[str, dict[str, Any]] = {
    "texts": {"title": "T, with a comma", "notes": "two\nlines", "utm_source": None, "location_url": TO},
    "an alias": {"url": "Straße"},
    "flags": {"is_enabled": False, "cloaking_is_enabled": True, "sensitive_content": False},
    "numbers": {"clicks_limit": 5, "http_status_code": 301},
    "no limit": {"clicks_limit": None},
    "tags": {"tags": ["b", "a,b"]},
    "no tags": {"tags": []},
    "a schedule": {"schedule": True, "start_date": MOMENT, "end_date": MOMENT + dt.timedelta(days=1)},
    "no schedule": {"schedule": False, "start_date": None, "end_date": None},
    "targeting": {"targeting_type": "country_code", "targeting": [["DE", TO], ["FR", f"{TO}fr"]]},
    "targeting without lines": {"targeting_type": "rotation", "targeting": []},
    "no targeting": {"targeting_type": None, "targeting": []},
}


def test_the_form_reads_what_was_recorded(make_link: Any, alice: Any) -> None:
    for name, version in VERSIONS.items():
        link = make_link(alice, targeting_type="device_type", targeting=[["mobile", TO]])
        form = LinkForm(as_sent(link, version), owner=access_of(alice), stored=link)
        form.require_valid()
        assert form.changes == version, name


def test_lines_of_the_type_that_stays(make_link: Any, alice: Any) -> None:
    link = make_link(alice, targeting_type="device_type", targeting=[["mobile", TO]])
    for lines in ([["tablet", TO]], []):
        form = LinkForm(as_sent(link, {"targeting": lines}), owner=access_of(alice), stored=link)
        form.require_valid()
        assert form.changes["targeting"] == lines


def test_rows_that_it_names(
    make_link: Any, make_pixel: Any, make_handler: Any, make_project: Any, alice: Any
) -> None:
    changes = {
        "pixels_ids": [make_pixel(alice).id, make_pixel(alice).id],
        "email_reports": [make_handler(alice).id],
        "project_id": make_project(alice).id,
        "domain_id": None,
    }
    form = LinkForm(as_sent(make_link(alice), changes), owner=access_of(alice), stored=make_link(alice))
    form.require_valid()
    assert form.changes == changes
