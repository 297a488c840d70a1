"""Addresses in notifications: each opens a dashboard page that exists."""

from __future__ import annotations

from app.notifications.site import SiteUrls

SITE = SiteUrls("", "")


def test_every_address(desk, make_link, alice):
    link = make_link(alice)
    days = ("2026-11-16", "2026-11-22")
    addresses = [
        SITE.link_page(link.id),
        SITE.handlers_page(),
        SITE.statistics_page(None, *days),
        SITE.statistics_page(link.id, *days),
    ]
    answers = [desk.client.get(address) for address in addresses]
    assert [answer.status_code for answer in answers] == [200] * 4
    for page in answers[2:]:
        assert "2026-11-16" in page.text, "the days of the report are chosen there"
