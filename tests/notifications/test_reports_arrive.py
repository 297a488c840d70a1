"""Reports of real clicks: they arrive by every transport, with their figures and their chart."""

# ruff: noqa: F811  imported fixtures are named as arguments
from __future__ import annotations

import datetime as dt
import json
from types import SimpleNamespace
from urllib.parse import parse_qs

import pytest
from sqlalchemy import select

from app.notifications.delivery import attempt
from app.notifications.models import Delivery
from app.notifications.site import site_of
from app.notifications.transport import all_transports
from app.notifications.waiting import message_of
from tests.jobs.test_reports import DAY, MONDAY, attach, owner, run, visit  # noqa: F401  fixtures
from tests.notifications.test_transports import TYPES, filled, sink, way_out  # noqa: F401  fixtures

YESTERDAY = "2026-11-15"

pytestmark = pytest.mark.settings(BASE_URL="https://go.example")


@pytest.mark.parametrize("type_", TYPES)
def test_a_report_of_real_visits(
    type_,
    session,
    settings,
    owner,
    make_link,
    make_handler,
    attach,
    visit,
    sink: SimpleNamespace,
    way_out,
) -> None:
    owner.report_period = "weekly"
    first, second, handler = make_link(owner, "first"), make_link(owner, "second"), make_handler(owner)
    attach(first, handler)
    attach(second, handler)
    visit(first, MONDAY - DAY, 5, country_code="DE", referrer_host="news.example")
    visit(second, MONDAY - DAY + dt.timedelta(hours=1), 7)
    run(session, settings, MONDAY)
    report = next(
        row for row in session.scalars(select(Delivery)) if row.data["period"]["end_date"] == YESTERDAY
    )
    fields = {name: value for name, value in filled(type_, sink.web.url).items() if "template" not in name}
    outcome = attempt(type_, fields, message_of(report, site_of(settings)), way_out)
    assert outcome.detail == "Delivered."
    told = arrived(sink).replace("\u2060", "")  # which keeps a chat from making links of words
    for word in (
        "go.example/first",
        "go.example/second",
        "news.example",
        "DE" if all_transports()[type_].takes_batches else "Germany",
    ):
        assert word in told
    if type_ == "email":
        assert "image/png" in {part.get_content_type() for part in sink.mail.mails[0][1].walk()}


def arrived(sink: SimpleNamespace) -> str:
    """All texts of the one message that arrived."""
    if sink.mail.mails:
        parts = [part for part in sink.mail.mails[0][1].walk() if part.get_content_maintype() == "text"]
        return "\n".join(part.get_content() for part in parts)
    heard = sink.web.heard[0]
    if "urlencoded" in heard.headers["content-type"]:
        return parse_qs(heard.body.decode())["message"][0]
    return json.dumps(heard.json, ensure_ascii=False).replace("\\", "")
