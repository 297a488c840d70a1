"""Imports that update links: what the preview says of each row, and that exactly this is written."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.config import Settings
from app.domains.models import Domain
from app.import_export import columns, importer, preview, row_updates, runs
from app.import_export.exporter import export
from app.import_export.models import FailedRow, LinkImport, PreviewRow
from app.import_export.row_to_link import TWICE, TWICE_CHANGED
from app.links import services
from app.links.bulk_edit import GONE
from app.links.history import history_of
from app.links.models import Link
from app.projects.models import Project
from tests.import_export.hostile import HOSTILE, as_json

pytestmark = pytest.mark.databases

Check = Callable[..., LinkImport]


@pytest.fixture
def check(session: Session, settings: Settings, bring: Callable[..., LinkImport]) -> Check:
    """`check(user, text)`: the user's checked import of this table, which updates links."""

    def run(user: User, text: str, **values: object) -> LinkImport:
        job = bring(user, text, "checking", **{"is_update": True, **values})
        runs.run(job.id, settings)
        session.refresh(job)
        assert job.state == "checked", job.problem
        return job

    return run


@pytest.fixture
def apply(session: Session, settings: Settings) -> Callable[[LinkImport], LinkImport]:
    """`apply(job)`: the same import, with its rows written."""

    def run(job: LinkImport) -> LinkImport:
        importer.start(job, "taking")
        session.commit()
        runs.run(job.id, settings)
        session.refresh(job)
        assert job.state == "done", job.problem
        return job

    return run


def counts(job: LinkImport) -> tuple[int, int, int, int]:
    """New, changed, unchanged, wrong."""
    return job.made, job.changed, job.known, job.failed


def differences(session: Session, job: LinkImport) -> dict[str, list[list[Any]]]:
    rows = session.scalars(sa.select(PreviewRow).filter_by(import_id=job.id, kind="changed"))
    return {row.alias: row.differences for row in rows}


def problems(session: Session, job: LinkImport) -> dict[int, list[tuple[str, str]]]:
    rows = session.scalars(sa.select(FailedRow).filter_by(import_id=job.id, is_made=False))
    return {row.line: [(name, str(text)) for name, text in row.problems] for row in rows}


def exported(user: User, kind: str = "csv") -> str:
    return "".join(export(user.id, {}, kind, lambda url, domain: f"{domain or 'https://go.test'}/{url}"))


def edited(text: str, **cells: dict[str, str]) -> str:
    """An export with other cells: alias → column → text."""
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    for row in rows:
        row.update(cells.get(row["url"], {}))
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def by_alias(session: Session, user: User) -> dict[str, Link]:
    session.expire_all()
    return {
        link.url: link
        for link in session.scalars(sa.select(Link).where(Link.workspace_id == access_of(user).workspace_id))
    }


@pytest.fixture
def full(session: Session, alice: User, factory: Any) -> Link:
    """Links of alice's with every field that a table can contain, and two handlers of one name."""
    project = Project(**access_of(alice).row_columns, name="Spring")
    session.add(project)
    session.commit()
    domain = factory.domain(alice, "links.example")
    handlers = [factory.handler(alice, name="me") for _ in range(2)]
    moment = dt.datetime(2030, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    values = {
        "url": "Full", "location_url": "https://example.com/ä?x=1,2", "domain_id": domain.id, "project_id": project.id,
        "title": '=HYPERLINK("x")', "notes": "two\r\nlines, \"quoted\"", "tags": ["a, b", "+c", "d|e"],
        "schedule": True, "start_date": moment, "end_date": moment + dt.timedelta(days=1), "clicks_limit": 7,
        "expiration_url": "https://example.com/over", "sensitive_content": True, "http_status_code": 301,
        "cloaking_title": "-t", "is_enabled": False, "utm_source": "'s", "utm_campaign": "@u",
        "targeting_type": "country_code", "targeting": [["DE", "https://example.com/de"]],
        "pixels_ids": [factory.pixel(alice).id], "email_reports": [handlers[1].id], "password_hash": "$argon2id$x",
    }  # fmt: skip
    link = services.create(access_of(alice), values)
    for name in ("plain", "other"):
        services.create(
            access_of(alice), {"url": name, "location_url": f"https://example.com/{name}", "title": name}
        )
    session.commit()
    return link


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_an_export_as_it_is_changes_nothing(
    session: Session, alice: User, full: Link, check: Check, apply: Any, kind: str
) -> None:
    before = exported(alice, "json")
    job = check(alice, exported(alice, kind))
    assert (counts(job), problems(session, job)) == ((0, 0, 3, 0), {})
    assert counts(apply(job)) == (0, 0, 3, 0)
    assert exported(alice, "json") == before


def test_two_edited_cells_are_what_changes(
    session: Session, alice: User, full: Link, check: Check, apply: Any
) -> None:
    before = {row["url"]: row for row in json.loads(exported(alice, "json"))}
    text = edited(exported(alice), Full={"title": "Better"}, other={"url": "renamed"})
    job = check(alice, text)
    assert counts(job) == (0, 2, 1, 0)
    assert differences(session, job) == {
        "Full": [["title", '=HYPERLINK("x")', "Better"]],
        "other": [["url", "other", "renamed"]],
    }
    assert {row["url"]: row for row in json.loads(exported(alice, "json"))} == before, "nothing is written"
    assert counts(apply(job)) == (0, 2, 1, 0)
    after = {row["url"]: row for row in json.loads(exported(alice, "json"))}
    changed = {
        (name, field)
        for name, row in before.items()
        for field, value in row.items()
        if after[name if name != "other" else "renamed"][field] != value
    }
    assert changed == {
        ("Full", "title"), ("Full", "last_datetime"),
        ("other", "url"), ("other", "short_url"), ("other", "last_datetime"),
    }  # fmt: skip
    link = by_alias(session, alice)["Full"]
    [newest, *_] = history_of(link)
    assert (newest.way, newest.who, newest.fields) == (
        "import",
        "links.csv",
        {"title": ['=HYPERLINK("x")', "Better"]},
    )
    services.revert(link, history_of(link)[1].id)
    assert link.title == '=HYPERLINK("x")'


CELLS: dict[str, tuple[str, str, str, object]] = {
    # column, text, attribute, value
    "a destination": ("location_url", "https://example.com/new", "location_url", "https://example.com/new"),
    "a state": ("is_enabled", "paused", "is_enabled", False),
    "a number": ("clicks_limit", "9", "clicks_limit", 9),
    "a kind of redirect": ("http_status_code", "308", "http_status_code", 308),
    "a date, which makes a schedule": (
        *("start_date", "2031-02-03 04:05", "start_date"),
        dt.datetime(2031, 2, 3, 4, 5, tzinfo=dt.UTC),
    ),
    "a text as a formula": ("notes", "'=1+1", "notes", "=1+1"),
}


@pytest.mark.parametrize(("column", "text", "attribute", "value"), CELLS.values(), ids=CELLS)
def test_a_cell_is_one_field(
    session: Session,
    alice: User,
    full: Link,
    check: Check,
    apply: Any,
    column: str,
    text: str,
    attribute: str,
    value: object,
) -> None:
    job = check(alice, edited(exported(alice), plain={column: text}))
    assert (counts(job), problems(session, job)) == ((0, 1, 2, 0), {})
    apply(job)
    assert getattr(by_alias(session, alice)["plain"], attribute) == value


def test_relations_are_changed_by_name(
    session: Session, alice: User, full: Link, factory: Any, check: Check, apply: Any
) -> None:
    factory.domain(alice, "second.example")
    cells = {
        "tags": "one|two",
        "project": "Summer",
        "domain": "second.example",
        "pixels": json.dumps([["social_a", "123", "Own"]]),
        "targeting_type": "browser_language",
        "targeting": '[["de","https://example.com/de"]]',
    }
    job = check(alice, edited(exported(alice), plain=cells))
    assert (counts(job), problems(session, job)) == ((0, 1, 2, 0), {})
    found = {name: (before, after) for name, before, after in differences(session, job)["plain"]}
    assert found["project"] == ("", "Summer")
    assert found["domain"] == ("", "second.example")
    assert found["pixels"] == ([], [["social_a", "123", "Own"]])
    assert session.query(Project).count() == 1, "nothing is made by a check"
    apply(job)
    link = by_alias(session, alice)["plain"]
    assert [row.tag for row in link.tag_rows] == ["one", "two"]
    assert link.project and link.project.name == "Summer"
    assert link.domain and link.domain.host == "second.example"
    assert [one.name for one in link.pixels] == ["Own"]
    assert (link.targeting_type, link.targeting) == ("browser_language", [["de", "https://example.com/de"]])


def test_what_a_spreadsheet_rewrites_is_no_change(
    session: Session, alice: User, full: Link, check: Check
) -> None:
    """Times without seconds, states in capitals, and other ends of lines."""
    cells = {
        "start_date": "2030-01-02 03:04",
        "schedule": "TRUE",
        "is_enabled": "False",
        "notes": 'two\nlines, "quoted"',
    }
    assert counts(check(alice, edited(exported(alice), Full=cells))) == (0, 0, 3, 0)


EMPTY: dict[str, tuple[bool, int]] = {"keeps the value": (False, 0), "clears it, where so chosen": (True, 1)}


@pytest.mark.parametrize(("clears", "changed"), EMPTY.values(), ids=EMPTY)
def test_an_empty_cell(
    session: Session, alice: User, full: Link, check: Check, apply: Any, *, clears: bool, changed: int
) -> None:
    names = (
        "title",
        "tags",
        "project",
        "end_date",
        "targeting_type",
        "pixels",
        "handlers",
        "is_enabled",
        "domain",
    )
    job = check(alice, edited(exported(alice), Full=dict.fromkeys(names, "")), clears_empty=clears)
    assert (counts(job), problems(session, job)) == ((0, changed, 3 - changed, 0), {})
    apply(job)
    link = by_alias(session, alice)["Full"]
    assert (link.title is None, link.tag_rows == [], link.project is None, link.end_date is None) == (
        clears,
    ) * 4
    assert (link.targeting_type is None, link.pixels == [], link.handlers == []) == (clears,) * 3
    assert (link.is_enabled, link.domain is not None, link.schedule) == (False, True, True), (
        "one of each stays"
    )


def test_an_empty_destination_can_not_be_cleared(
    session: Session, alice: User, full: Link, check: Check
) -> None:
    job = check(alice, edited(exported(alice), plain={"location_url": ""}), clears_empty=True)
    assert counts(job) == (0, 0, 2, 1)
    assert [found[0] for found in problems(session, job).values()] == [
        ("location_url", "This can't be empty.")
    ]


def test_whose_the_link_is(session: Session, alice: User, bob: User, check: Check, apply: Any) -> None:
    """Somebody else's id and one that nobody has are told in the same words."""
    mine = services.create(
        access_of(alice), {"url": "mine", "location_url": "https://example.com/", "title": "old"}
    )
    his = services.create(
        access_of(bob), {"url": "his", "location_url": "https://example.com/", "title": "his"}
    )
    session.commit()
    text = f"id,title\n{mine.id},new\n{his.id},new\n{his.id + 1000},new\nx,new\n"
    job = check(alice, text)
    assert counts(job) == (0, 1, 0, 3)
    said = problems(session, job)
    assert said[3] == [("id", f"You have none with the id {his.id}.")]
    assert said[4] == [("id", f"You have none with the id {his.id + 1000}.")]
    assert said[5][0][0] == "id"
    assert counts(apply(job)) == (0, 1, 0, 3)
    assert problems(session, job) == said, "they stay listed"
    session.expire_all()
    assert (mine.title, his.title) == ("new", "his")
    job = check(alice, "url,location_url,title\nhis,https://example.com/,new\n")
    assert (counts(job), problems(session, job)[2]) == (
        (0, 0, 0, 1),
        [("url", "This short link is taken.")],
    )


def test_an_alias_without_case_on_its_domain(
    session: Session, alice: User, factory: Any, check: Check, apply: Any
) -> None:
    domain = factory.domain(alice, "links.example")
    for id_ in (None, domain.id):
        services.create(
            access_of(alice), {"url": "Spring", "location_url": "https://example.com/", "domain_id": id_}
        )
    session.commit()
    rows = ["SPRING,,here", "sprinG,links.example,there", "autumn,,new"]
    text = "alias,domain,title,destination\n" + "".join(f"{row},https://example.com/\n" for row in rows)
    job = check(alice, text)
    assert counts(job) == (1, 2, 0, 0)
    apply(job)
    found = session.execute(sa.select(Link.url, Link.domain_id, Link.title).order_by(Link.id)).all()
    assert [tuple(row) for row in found] == [
        ("Spring", None, "here"), ("Spring", domain.id, "there"), ("autumn", None, "new"),
    ]  # fmt: skip


def test_a_domain_that_can_not_carry_the_link(
    session: Session, alice: User, full: Link, check: Check
) -> None:
    session.add(Domain(**access_of(alice).row_columns, host="new.example", token="t"))
    session.commit()
    text = edited(exported(alice), plain={"domain": "new.example"}, other={"domain": "unknown.example"})
    job = check(alice, text)
    assert [each for found in problems(session, job).values() for each in found] == [
        ("domain", "This domain is not verified, or is turned off."),
        ("domain", "You have no domain unknown.example."),
    ]


def test_the_later_of_two_rows_is_wrong(
    session: Session,
    settings: Settings,
    alice: User,
    full: Link,
    bring: Any,
    apply: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of one link, by alias or id, and of one alias; also where another process checks each row."""
    monkeypatch.setattr(importer, "BATCH_SIZE", 1)
    links = by_alias(session, alice)
    rows = [
        (links["plain"].id, "", "one"), ("", "PLAIN", "two"), ("", "plain", "three"),
        (links["other"].id, "fresh", "four"), ("", "fresh", "five"), ("", "new", "six"), ("", "NEW", "seven"),
    ]  # fmt: skip
    text = "id,url,title,location_url\n" + "".join(
        f"{id_},{url},{title},https://example.com/{title}\n" for id_, url, title in rows
    )
    job = bring(alice, text, "checking", is_update=True)
    while job.state == "checking":
        runs.go_on(job, settings, lambda: True)  # each process makes one step
        session.refresh(job)
    assert counts(job) == (1, 2, 0, 4)
    said = problems(session, job)
    assert said == {
        3: [("", TWICE_CHANGED)],
        4: [("", TWICE_CHANGED)],
        6: [("url", TWICE)],
        8: [("url", TWICE)],
    }
    assert counts(apply(job)) == (1, 2, 0, 4)
    assert problems(session, job) == said
    found = by_alias(session, alice)
    assert (found["plain"].title, found["fresh"].title, found["new"].title) == ("one", "four", "six")


def test_an_alias_that_is_another_link_s(session: Session, alice: User, full: Link, check: Check) -> None:
    job = check(alice, edited(exported(alice), plain={"url": "OTHER"}))
    assert counts(job) == (0, 0, 2, 1)
    assert list(problems(session, job).values()) == [[("url", "This short link is taken.")]]


MEANWHILE: dict[str, tuple[dict[str, Any] | None, tuple[int, int, int, int], str]] = {
    # what somebody changes of the link, the counts then, the problem
    "the same field": ({"title": "theirs"}, (0, 0, 1, 1), row_updates.MEANWHILE),
    "another field": ({"notes": "theirs"}, (0, 1, 1, 0), ""),
    "just what the file says": ({"title": "new"}, (0, 0, 2, 0), ""),
    "all of it: it is deleted": (None, (0, 0, 1, 1), GONE),
}


@pytest.mark.parametrize(("change", "expected", "said"), MEANWHILE.values(), ids=MEANWHILE)
def test_a_link_that_changes_after_the_preview(
    session: Session,
    alice: User,
    check: Check,
    apply: Any,
    change: dict[str, Any] | None,
    expected: tuple[int, int, int, int],
    said: str,
) -> None:
    link, same = (
        services.create(
            access_of(alice), {"url": url, "location_url": "https://example.com/", "title": "old"}
        )
        for url in ("one", "same")
    )
    session.commit()
    text = "url,location_url,title\none,https://example.com/,new\nsame,https://example.com/,old\n"
    job = check(alice, text)
    assert counts(job) == (0, 1, 1, 0)
    services.update(link, change) if change else services.delete(link)
    services.update(same, {"title": "theirs, too"})
    session.commit()
    assert counts(apply(job)) == expected
    assert [text for found in problems(session, job).values() for _, text in found] == [said] * bool(said)
    found = by_alias(session, alice)
    assert found["same"].title == "theirs, too", "the preview said: unchanged"
    if change:
        assert found["one"].title == change.get("title", "new")
    else:
        assert "one" not in found


def test_a_link_that_changes_while_it_is_written(
    session: Session, alice: User, check: Check, apply: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the reading of the row and the write."""
    link = services.create(
        access_of(alice), {"url": "one", "location_url": "https://example.com/", "title": "old"}
    )
    session.commit()
    job = check(alice, "alias,title\none,new\n")
    write = importer.RunningImport.store

    def store(self: importer.RunningImport, read: Any) -> None:
        session.execute(sa.update(Link).where(Link.id == link.id).values(title="theirs"))
        session.commit()
        write(self, read)

    monkeypatch.setattr(importer.RunningImport, "store", store)
    assert counts(apply(job)) == (0, 0, 0, 1)
    assert problems(session, job)[2] == [("title", row_updates.MEANWHILE)]
    assert by_alias(session, alice)["one"].title == "theirs"


def test_a_link_that_is_made_after_the_preview(
    session: Session, alice: User, check: Check, apply: Any
) -> None:
    job = check(alice, "url,location_url,title\none,https://example.com/,new\n")
    assert counts(job) == (1, 0, 0, 0)
    services.create(
        access_of(alice), {"url": "one", "location_url": "https://example.com/", "title": "theirs"}
    )
    session.commit()
    assert counts(apply(job)) == (0, 0, 0, 1)
    assert problems(session, job)[2] == [("url", preview.NOW_THERE)]
    assert by_alias(session, alice)["one"].title == "theirs"


def test_one_that_fails_in_the_write_leaves_the_others(
    session: Session, alice: User, check: Check, apply: Any
) -> None:
    """An alias that somebody takes after the preview: that link stays as it was, wholly."""
    for url in ("one", "two"):
        services.create(
            access_of(alice), {"url": url, "location_url": "https://example.com/", "title": "old"}
        )
    session.commit()
    links = by_alias(session, alice)
    job = check(alice, f"id,alias,title\n{links['one'].id},wanted,new\n{links['two'].id},,new\n")
    assert counts(job) == (0, 2, 0, 0)
    services.create(access_of(alice), {"url": "wanted", "location_url": "https://example.com/"})
    session.commit()
    assert counts(apply(job)) == (0, 1, 0, 1)
    found = by_alias(session, alice)
    assert (found["one"].title, found["two"].title) == ("old", "new")
    kinds = session.scalars(
        sa.select(PreviewRow.kind).filter_by(import_id=job.id).order_by(PreviewRow.number)
    )
    assert list(kinds) == ["wrong", "changed"], "the page says what became of each"


def test_it_goes_on_where_it_was_killed(
    session: Session, settings: Settings, alice: User, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each link is changed once: a process that was overtaken writes nothing more."""
    monkeypatch.setattr(importer, "BATCH_SIZE", 4)
    for number in range(10):
        services.create(access_of(alice), {"url": f"a{number}", "location_url": "https://example.com/"})
    session.commit()
    job = check(alice, "alias,title\n" + "".join(f"a{number},new {number}\n" for number in range(10)))
    importer.start(job, "taking")
    session.commit()
    begun = runs.begin(job, settings)
    assert begun and begun.step()
    session.rollback()
    other = runs.begin(session.get_one(LinkImport, job.id), settings)
    assert other and other.step()
    with pytest.raises(importer.ImportSuperseded):
        begun.step()
    session.rollback()
    runs.run(job.id, settings)
    session.refresh(job)
    assert counts(job) == (0, 10, 0, 0)
    for name, link in by_alias(session, alice).items():
        assert link.title == f"new {name[1:]}"
        assert [change.kind for change in history_of(link)] == ["changed", "created"]


def test_long_values_are_shown_where_they_differ(session: Session, alice: User, check: Check) -> None:
    address = "https://example.com/" + "a" * 1_000
    services.create(access_of(alice), {"url": "one", "location_url": address + "b"})
    session.commit()
    job = check(alice, f"url,location_url\none,{address}c\n")
    [[name, before, after]] = differences(session, job)["one"]
    assert (name, before[-1], after[-1]) == ("location_url", "b", "c")
    assert max(len(before), len(after)) <= preview.MAX_VALUE + 2


def test_a_new_check_forgets_the_one_before(
    session: Session, settings: Settings, alice: User, full: Link, check: Check
) -> None:
    job = check(alice, edited(exported(alice), plain={"title": "new"}))
    assert counts(job) == (0, 1, 2, 0)
    importer.start(job, "checking")
    job.is_update = False
    session.commit()
    runs.run(job.id, settings)
    session.refresh(job)
    assert counts(job) == (0, 0, 3, 0)
    assert preview.count_listed(job) == {"unchanged": 3}


@pytest.mark.full
def test_no_cell_stops_an_update(
    session: Session, settings: Settings, alice: User, full: Link, check: Check, apply: Any
) -> None:
    """Each hostile text in each column, for new links and for one that exists, by id and by alias."""
    texts = [*HOSTILE.values(), "\ud800", "\udfff\ud800", "http://\ud800/", "//[", "x" * 2_000]
    means: list[dict[str, object]] = [
        {"id": full.id},
        {"url": "plain"},
        {"location_url": "https://example.com/"},
    ]
    cells = [{field: text} for text in texts for field in columns.COLUMNS]
    rows = [{**means[number % len(means)], **cell} for number, cell in enumerate(cells)]
    before = session.query(Link).count()
    job = check(alice, as_json([*rows, {"url": "other", "title": "good"}]))
    assert (job.position, sum(counts(job))) == (len(rows) + 1,) * 2
    apply(job)
    assert sum(counts(job)) == len(rows) + 1
    assert by_alias(session, alice)["other"].title == "good"
    assert session.query(Link).count() == before + job.made
