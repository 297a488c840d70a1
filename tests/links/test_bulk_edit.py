"""Bulk edit: the changes of many links, targeting lines, links that can't be changed, and undo as one."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.actor import act_as, acting
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.input.data import RequestData
from app.links import bulk_edit, services
from app.links.bulk_forms import ManyForm, TargetingEdit
from app.links.destination import DestinationRules
from app.links.history import history_of
from app.links.models import Link
from app.links.replacement import Replacement
from tests import pictures

NOW = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)


def asked(owner: User, *pairs: tuple[str, str]) -> dict[str, Any]:
    form = ManyForm(RequestData(pairs), owner=access_of(owner))
    form.require_valid()
    return form.changes


@pytest.mark.databases
def test_each_keeps_what_nobody_asked_to_change(alice: User, factory: Any) -> None:
    kept, come, gone = (factory.pixel(alice) for _ in range(3))
    handler = factory.handler(alice)
    link = factory.link(alice, tags=("b", "a"), title="Kept", schedule=True, end_date=NOW)
    link.pixels, link.handlers = [kept, gone], [handler]
    db.session.commit()
    changes = asked(
        alice,
        ("is_enabled", "0"),
        ("add_tags", "c"),
        ("add_tags", "a"),
        ("remove_tags", "b"),
        ("add_pixels", str(come.id)),
        ("remove_pixels", str(gone.id)),
    )
    assert bulk_edit.act_on(access_of(alice), [link.id], bulk_edit.BulkChange(changes)) == []
    assert [row.tag for row in link.tag_rows] == ["a", "c"]
    assert link.pixels == [kept, come]
    assert (link.is_enabled, link.title, link.handlers, link.end_date) == (False, "Kept", [handler], NOW)


def test_dates_are_set_and_taken_away(alice: User, make_link: Any) -> None:
    link = make_link(alice, schedule=True, start_date=NOW)
    changes = asked(alice, ("schedule", "1"), ("start_date", ""), ("end_date", "2030-01-01"))
    assert bulk_edit.act_on(access_of(alice), [link.id], bulk_edit.BulkChange(changes)) == []
    assert (link.schedule, link.start_date, link.end_date) == (
        True,
        None,
        dt.datetime(2030, 1, 1, tzinfo=dt.UTC),
    )
    assert (
        bulk_edit.act_on(access_of(alice), [link.id], bulk_edit.BulkChange(asked(alice, ("schedule", "0"))))
        == []
    )
    assert (link.schedule, link.start_date, link.end_date) == (False, None, None)


@pytest.mark.databases
def test_those_that_fail_stay_as_they_were_and_say_why(alice: User, bob: User, make_link: Any) -> None:
    full = make_link(alice, tags=tuple(f"t{number}" for number in range(20)))
    foreign, good = make_link(bob), make_link(alice)
    changes = asked(alice, ("add_tags", "new"), ("is_enabled", "0"))
    failures = bulk_edit.act_on(
        access_of(alice), [full.id, foreign.id, 10**9, good.id], bulk_edit.BulkChange(changes)
    )
    assert {one.id: one.reason for one in failures} == {
        full.id: "It would have 21 tags; the limit is 20.",
        foreign.id: "It no longer exists: it was deleted meanwhile.",
        10**9: "It no longer exists: it was deleted meanwhile.",
    }
    db.session.expire_all()
    assert (full.is_enabled, len(full.tag_rows), foreign.is_enabled) == (True, 20, True)
    assert (good.is_enabled, [row.tag for row in good.tag_rows]) == (False, ["new"])


def test_a_failure_keeps_its_picture(alice: User, make_link: Any) -> None:
    for name in ("kept.png", "gone.png"):
        pictures.place(name, b"a picture")
    kept, gone = (make_link(alice, cloaking_opengraph=f"{name}.png") for name in ("kept", "gone"))

    def without(link: Link) -> None:
        services.update(link, {"cloaking_opengraph": None})
        if link is kept:
            raise Invalid(FieldError("Not this one.", "invalid"))

    assert bulk_edit.act_on(access_of(alice), [kept.id, gone.id], without) == [
        bulk_edit.BulkFailure(kept.id, "Not this one.")
    ]
    assert pictures.served() == ["kept.png"]
    assert (kept.cloaking_opengraph, gone.cloaking_opengraph) == ("kept.png", None)


def test_what_is_deleted_is_one_batch(alice: User, bob: User, make_link: Any) -> None:
    one, two, foreign = make_link(alice), make_link(alice), make_link(bob)
    batch, failures = bulk_edit.delete(access_of(alice), [one.id], None)
    assert failures == []
    assert bulk_edit.delete(access_of(alice), [two.id, foreign.id], batch) == (
        batch,
        [bulk_edit.BulkFailure(foreign.id, bulk_edit.GONE)],
    )
    assert db.session.get(Link, foreign.id)


WRONG = [
    ((), "is_enabled"),
    ((("add_tags", ""),), "is_enabled"),
    ((("schedule", "1"),), "start_date"),
    ((("schedule", "1"), ("start_date", "2030-01-02"), ("end_date", "2030-01-01")), "end_date"),
    ((("schedule", "1"), ("start_date", "soon")), "start_date"),
    ((("add_pixels", "999"),), "add_pixels"),
    ((("project_id", "999"),), "project_id"),
    ((("add_tags", "x" * 33),), "add_tags"),
]


def test_what_can_not_be_asked(alice: User) -> None:
    for pairs, field in WRONG:
        form = ManyForm(RequestData(pairs), owner=access_of(alice))
        assert not form.validate(), pairs
        assert [problem.field for problem in form.problems] == [field], pairs


DE, FR, ES = (["DE", "https://de.example"], ["FR", "https://fr.example"], ["ES", "https://es.example"])
NEW_DE = ["DE", "https://new.example"]
COUNTRY, NONE, LANGUAGE, ROTATION = "country_code", None, "browser_language", "rotation"


@pytest.mark.parametrize(
    ("stored", "edit", "result"),
    [
        pytest.param((NONE, []), ("set", COUNTRY, [DE]), (COUNTRY, [DE]), id="set on none"),
        pytest.param(
            (LANGUAGE, [["de", "https://x.example"]]), ("set", COUNTRY, [DE]), (COUNTRY, [DE]), id="set"
        ),
        pytest.param((COUNTRY, [DE]), ("clear", None, []), (None, []), id="clear"),
        pytest.param((NONE, []), ("put", COUNTRY, [DE]), (COUNTRY, [DE]), id="put on none"),
        pytest.param(
            (COUNTRY, [DE, FR]), ("put", COUNTRY, [NEW_DE]), (COUNTRY, [NEW_DE, FR]), id="replace one"
        ),
        pytest.param((COUNTRY, [DE]), ("put", COUNTRY, [FR, ES]), (COUNTRY, [DE, FR, ES]), id="add"),
        pytest.param(
            ("city_name", [["Köln", "https://a.example"]]),
            ("put", "city_name", [["KÖLN", "https://b.example"]]),
            ("city_name", [["KÖLN", "https://b.example"]]),
            id="ignoring case, as visitors are matched",
        ),
        pytest.param(
            (ROTATION, [["50", "https://a.example"], ["50", "https://b.example"]]),
            ("put", ROTATION, [["80", "https://b.example"]]),
            (ROTATION, [["50", "https://a.example"], ["80", "https://b.example"]]),
            id="a weight belongs to its destination",
        ),
        pytest.param((COUNTRY, [DE, FR]), ("remove", COUNTRY, [["DE", ""]]), (COUNTRY, [FR]), id="by key"),
        pytest.param(
            (COUNTRY, [DE, FR]), ("remove", COUNTRY, [["", FR[1]]]), (COUNTRY, [DE]), id="by destination"
        ),
        pytest.param((COUNTRY, [DE]), ("remove", COUNTRY, [["DE", ""]]), (None, []), id="the last one"),
    ],
)
def test_what_results(stored: Any, edit: Any, result: Any) -> None:
    link = Link(targeting_type=stored[0], targeting=stored[1])
    changes = TargetingEdit(*edit).changes_of(link)
    assert (changes["targeting_type"], changes["targeting"]) == result


@pytest.mark.parametrize(
    ("stored", "pairs"),
    [((COUNTRY, [DE]), [["FR", ""]]), ((COUNTRY, [DE]), [["DE", FR[1]]]), ((LANGUAGE, []), [["DE", ""]])],
)
def test_lines_that_are_not_there(stored: Any, pairs: Any) -> None:
    link = Link(targeting_type=stored[0], targeting=stored[1])
    assert TargetingEdit("remove", COUNTRY, pairs).changes_of(link) == {}


@pytest.mark.parametrize(
    ("stored", "pairs", "problem"),
    [
        ((LANGUAGE, []), [DE], "It has another targeting: Language."),
        (
            ("city_name", [[f"c{n}", "https://x.example"] for n in range(100)]),
            [["more", DE[1]]],
            "It would have 101",
        ),
    ],
)
def test_what_a_link_can_not_have(stored: Any, pairs: Any, problem: str) -> None:
    link = Link(targeting_type=stored[0], targeting=stored[1])
    type_ = "city_name" if stored[0] == "city_name" else COUNTRY
    with pytest.raises(Invalid) as found:
        TargetingEdit("put", type_, pairs).changes_of(link)
    assert str(found.value.errors[0].title).startswith(problem)


BATCH = "0123456789abcdef" * 2


def replace_all(owner: User, links: list[Link], batch: str = BATCH) -> None:
    act_as(acting()._replace(way="many", batch=batch))
    asked = {"replacement": Replacement("old", "new", DestinationRules(None, None))}
    assert bulk_edit.act_on(access_of(owner), [link.id for link in links], bulk_edit.BulkChange(asked)) == []
    act_as(acting()._replace(batch=""))


def undo_all(owner: User, batch: str = BATCH) -> dict[int, str]:
    ids = bulk_edit.find_undoable(owner.id, batch, 0, 100)
    return {one.id: str(one.reason) for one in bulk_edit.act_on(access_of(owner), ids, bulk_edit.undo(batch))}


@pytest.mark.databases
def test_all_come_back_as_they_were(alice: User, bob: User, make_link: Any) -> None:
    links = [make_link(alice, f"n{n}", location_url=f"https://old.example/{n}") for n in range(3)]
    same = make_link(alice, location_url="https://elsewhere.example/")
    foreign = make_link(bob, location_url="https://old.example/")
    replace_all(alice, [*links, same])
    replace_all(bob, [foreign])
    assert [link.location_url for link in links] == [f"https://new.example/{n}" for n in range(3)]
    assert bulk_edit.count_links(alice.id, [BATCH]) == {BATCH: 3}
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
