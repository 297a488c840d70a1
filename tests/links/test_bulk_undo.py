"""Undo of a bulk change as one: what comes back, and what is not overwritten."""

from __future__ import annotations

from typing import Any

import pytest

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.actor import act_as, acting
from app.core.extensions import db
from app.links import bulk_edit, bulk_undo, services
from app.links.destination import DestinationRules
from app.links.history import history_of
from app.links.models import Link
from app.links.replacement import Replacement

BATCH = "0123456789abcdef" * 2


def replace_all(owner: User, links: list[Link], batch: str = BATCH) -> None:
    act_as(acting()._replace(way="many", batch=batch))
    asked = {"replacement": Replacement("old", "new", DestinationRules(None, None))}
    assert bulk_edit.act_on(access_of(owner), [link.id for link in links], bulk_edit.BulkChange(asked)) == []
    act_as(acting()._replace(batch=""))


def undo_all(owner: User, batch: str = BATCH) -> dict[int, str]:
    ids = bulk_undo.find_ids(owner.id, batch, 0, 100)
    return {one.id: str(one.reason) for one in bulk_edit.act_on(access_of(owner), ids, bulk_undo.undo(batch))}


@pytest.mark.databases
def test_all_come_back_as_they_were(alice: User, bob: User, make_link: Any) -> None:
    links = [make_link(alice, f"n{n}", location_url=f"https://old.example/{n}") for n in range(3)]
    same = make_link(alice, location_url="https://elsewhere.example/")
    foreign = make_link(bob, location_url="https://old.example/")
    replace_all(alice, [*links, same])
    replace_all(bob, [foreign])
    assert [link.location_url for link in links] == [f"https://new.example/{n}" for n in range(3)]
    assert bulk_undo.count_links(alice.id, [BATCH]) == {BATCH: 3}
    assert undo_all(alice) == {}
    assert [link.location_url for link in links] == [f"https://old.example/{n}" for n in range(3)]
    assert foreign.location_url == "https://new.example/"
    assert [one.kind for one in history_of(links[0])] == ["reverted", "changed"]
    assert history_of(same) == []
    assert undo_all(alice) == {}  # once more changes nothing
    assert len(history_of(links[0])) == 2


def test_later_changes_of_the_same_field_stay(alice: User, make_link: Any) -> None:
    kept, titled, gone = (make_link(alice, location_url="https://old.example/") for _ in range(3))
    replace_all(alice, [kept, titled, gone])
    services.update(kept, {"location_url": "https://later.example/"})
    services.update(titled, {"title": "A title"})
    gone_id = gone.id
    services.delete(gone)
    db.session.commit()
    assert undo_all(alice) == {
        kept.id: "It was changed since.",
        gone_id: "It no longer exists: it was deleted meanwhile.",
    }
    assert kept.location_url == "https://later.example/"
    assert (titled.location_url, titled.title) == ("https://old.example/", "A title")


def test_tags_dates_and_targeting_come_back(alice: User, factory: Any) -> None:
    pixel = factory.pixel(alice)
    link = factory.link(
        alice, tags=("a",), targeting_type="country_code", targeting=[["DE", "https://de.example"]]
    )
    act_as(acting()._replace(batch=BATCH))
    asked = {
        "add_tags": ["b"],
        "add_pixels": [pixel.id],
        "is_enabled": False,
        "values": {"utm_source": ("set", "x")},
    }
    bulk_edit.act_on(access_of(alice), [link.id], bulk_edit.BulkChange(asked))
    assert ([row.tag for row in link.tag_rows], link.pixels, link.utm_source) == (["a", "b"], [pixel], "x")
    assert undo_all(alice) == {}
    assert ([row.tag for row in link.tag_rows], link.pixels) == (["a"], [])
    assert (link.is_enabled, link.utm_source, link.targeting_type) == (True, None, "country_code")


def test_what_was_changed_after_the_preview_stays(alice: User, make_link: Any) -> None:
    changed, other = (make_link(alice, location_url="https://old.example/") for _ in range(2))
    seen = bulk_edit.next_change()
    services.update(changed, {"location_url": "https://old.example/later"})
    services.update(other, {"title": "A title"})
    db.session.commit()
    asked = {"replacement": Replacement("old", "new", DestinationRules(None, None))}
    failures = bulk_edit.act_on(access_of(alice), [changed.id, other.id], bulk_edit.BulkChange(asked, seen))
    assert [(one.id, str(one.reason)) for one in failures] == [
        (changed.id, "It was changed elsewhere since the preview.")
    ]
    assert (changed.location_url, other.location_url) == ("https://old.example/later", "https://new.example/")
