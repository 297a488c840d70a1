"""Imports that update links: what the preview says of each row, and that exactly this is written."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from typing import Any

import pytest
import sqlalchemy as sa

from app.accounts.workspaces import access_of
from app.domains.models import Domain
from app.import_export import columns, preview, results, runs
from app.import_export.models import FailedRow, LinkImport, PreviewRow
from app.import_export.results import TWICE, TWICE_CHANGED
from app.import_export.services import start
from app.links import services
from app.links.bulk_edit import GONE
from app.links.history import history_of
from app.links.models import Link
from app.projects.models import Project
from tests.import_export.conftest import exported
from tests.import_export.hostile import HOSTILE, as_json

TO = "https://example.com/"
BY_ID = {"id": "id", "title": "title"}  # columns that a person named


class Desk:
    """Alice at her imports that update links."""

    def __init__(self, session: Any, settings: Any, alice: Any, bring: Any) -> None:
        self.session, self.settings, self.alice, self.bring = session, settings, alice, bring

    def link(self, url: str, **values: Any) -> Link:
        found = services.create(access_of(self.alice), {"url": url, "location_url": TO, **values})
        self.session.commit()
        return found

    def check(self, text: str, **values: object) -> LinkImport:
        job: LinkImport = self.bring(self.alice, text, "checking", **{"is_update": True, **values})
        runs.run(job.id, self.settings)
        self.session.refresh(job)
        assert job.state == "checked", job.problem
        return job

    def apply(self, job: LinkImport) -> LinkImport:
        start(job, "taking")
        self.session.commit()
        runs.run(job.id, self.settings)
        self.session.refresh(job)
        assert job.state == "done", job.problem
        return job

    def rows(self) -> dict[str, dict[str, Any]]:
        return {row["url"]: row for row in json.loads(exported(self.alice, "json"))}

    def edited(self, **cells: dict[str, str]) -> str:
        """An export with other cells: alias → column → text."""
        rows = list(csv.DictReader(io.StringIO(exported(self.alice).removeprefix("\ufeff"))))
        for row in rows:
            row.update(cells.get(row["url"], {}))
        out = io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def links(self) -> dict[str, Link]:
        self.session.expire_all()
        mine = sa.select(Link).where(Link.workspace_id == access_of(self.alice).workspace_id)
        return {link.url: link for link in self.session.scalars(mine)}

    def differences(self, job: LinkImport) -> dict[str, list[list[Any]]]:
        rows = self.session.scalars(sa.select(PreviewRow).filter_by(import_id=job.id, kind="changed"))
        return {row.alias: row.differences for row in rows}

    def problems(self, job: LinkImport) -> dict[int, list[tuple[str, str]]]:
        rows = self.session.scalars(sa.select(FailedRow).filter_by(import_id=job.id, is_made=False))
        return {row.line: [(name, str(text)) for name, text in row.problems] for row in rows}


@pytest.fixture
def desk(session, settings, alice, bring) -> Desk:
    return Desk(session, settings, alice, bring)


def counts(job: LinkImport) -> tuple[int, int, int, int]:
    """New, changed, unchanged, wrong."""
    return job.made, job.changed, job.known, job.failed


@pytest.fixture
def full(session, alice, factory, desk) -> Link:
    """Links of alice's with every field that a table can contain, and two handlers of one name."""
    project = Project(**access_of(alice).row_columns, name="Spring")
    session.add(project)
    session.commit()
    domain = factory.domain(alice, "links.example")
    handlers = [factory.handler(alice, name="me") for _ in range(2)]
    moment = dt.datetime(2030, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    values = {
        "location_url": "https://example.com/ä?x=1,2", "domain_id": domain.id, "project_id": project.id,
        "title": '=HYPERLINK("x")', "notes": "two\r\nlines, \"quoted\"", "tags": ["a, b", "+c", "d|e"],
        "schedule": True, "start_date": moment, "end_date": moment + dt.timedelta(days=1), "clicks_limit": 7,
        "expiration_url": "https://example.com/over", "sensitive_content": True, "http_status_code": 301,
        "cloaking_title": "-t", "is_enabled": False, "utm_source": "'s", "utm_campaign": "@u",
        "targeting_type": "country_code", "targeting": [["DE", "https://example.com/de"]],
        "pixels_ids": [factory.pixel(alice).id], "email_reports": [handlers[1].id], "password_hash": "$argon2id$x",
    }  # fmt: skip
    link = desk.link("Full", **values)
    for name in ("plain", "other"):
        desk.link(name, location_url=f"https://example.com/{name}", title=name)
    return link


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_an_export_as_it_is_changes_nothing(desk, full, kind) -> None:
    before = exported(desk.alice, "json")
    job = desk.check(exported(desk.alice, kind))
    assert (counts(job), desk.problems(job)) == ((0, 0, 3, 0), {})
    assert counts(desk.apply(job)) == (0, 0, 3, 0)
    assert exported(desk.alice, "json") == before


@pytest.mark.databases
def test_two_edited_cells_are_what_changes(desk, full) -> None:
    before = desk.rows()
    job = desk.check(desk.edited(Full={"title": "Better"}, other={"url": "renamed"}))
    assert counts(job) == (0, 2, 1, 0)
    assert desk.differences(job) == {
        "Full": [["title", '=HYPERLINK("x")', "Better"]],
        "other": [["url", "other", "renamed"]],
    }
    assert desk.rows() == before, "nothing is written"
    assert counts(desk.apply(job)) == (0, 2, 1, 0)
    after = desk.rows()
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
    link = desk.links()["Full"]
    [newest, *_] = history_of(link)
    said = {"title": ['=HYPERLINK("x")', "Better"]}
    assert (newest.way, newest.who, newest.fields) == ("import", "links.csv", said)
    services.revert(link, history_of(link)[1].id)
    assert link.title == '=HYPERLINK("x")'


MOMENT = dt.datetime(2031, 2, 3, 4, 5, tzinfo=dt.UTC)
CELLS: dict[str, tuple[str, str, object]] = {
    "a destination": ("location_url", "https://example.com/new", "https://example.com/new"),
    "a state": ("is_enabled", "paused", False),
    "a number": ("clicks_limit", "9", 9),
    "a date, which makes a schedule": ("start_date", "2031-02-03 04:05", MOMENT),
    "a text as a formula": ("notes", "'=1+1", "=1+1"),
}


def test_each_cell_is_one_field(desk, full) -> None:
    cells = {column: text for column, text, _ in CELLS.values()}
    job = desk.check(desk.edited(plain=cells))
    assert (counts(job), desk.problems(job)) == ((0, 1, 2, 0), {})
    desk.apply(job)
    link = desk.links()["plain"]
    assert {column: getattr(link, column) for column in cells} == {
        column: value for column, _, value in CELLS.values()
    }
    assert link.schedule


@pytest.mark.databases
def test_relations_are_changed_by_name(desk, session, alice, full, factory) -> None:
    factory.domain(alice, "second.example")
    cells = {
        "tags": "one|two",
        "project": "Summer",
        "domain": "second.example",
        "pixels": json.dumps([["social_a", "123", "Own"]]),
        "targeting_type": "browser_language",
        "targeting": '[["de","https://example.com/de"]]',
    }
    job = desk.check(desk.edited(plain=cells))
    assert (counts(job), desk.problems(job)) == ((0, 1, 2, 0), {})
    found = {name: (before, after) for name, before, after in desk.differences(job)["plain"]}
    assert (found["project"], found["domain"]) == (("", "Summer"), ("", "second.example"))
    assert found["pixels"] == ([], [["social_a", "123", "Own"]])
    assert session.query(Project).count() == 1, "nothing is made by a check"
    desk.apply(job)
    link = desk.links()["plain"]
    assert [row.tag for row in link.tag_rows] == ["one", "two"]
    assert (link.project.name, link.domain.host) == ("Summer", "second.example")
    assert [one.name for one in link.pixels] == ["Own"]
    assert (link.targeting_type, link.targeting) == ("browser_language", [["de", "https://example.com/de"]])


def test_what_a_spreadsheet_rewrites_is_no_change(desk, full) -> None:
    """Times without seconds, states in capitals, and other ends of lines."""
    cells = {"start_date": "2030-01-02 03:04", "schedule": "TRUE", "is_enabled": "False", "notes": 'two\nlines, "quoted"'}  # fmt: skip
    assert counts(desk.check(desk.edited(Full=cells))) == (0, 0, 3, 0)


@pytest.mark.parametrize("clears", [False, True])
def test_an_empty_cell_keeps_the_value_or_clears_it_where_so_chosen(desk, full, *, clears) -> None:
    names = ("title", "tags", "project", "end_date", "targeting_type", "pixels", "handlers", "is_enabled", "domain")  # fmt: skip
    text = desk.edited(Full=dict.fromkeys(names, ""), plain={"location_url": ""})
    job = desk.check(text, clears_empty=clears)
    assert counts(job) == ((0, 1, 1, 1) if clears else (0, 0, 3, 0))
    wrong = [("location_url", "This can't be empty.")]
    assert list(desk.problems(job).values()) == [wrong] * clears
    desk.apply(job)
    link = desk.links()["Full"]
    cleared = (link.title, link.project, link.end_date, link.targeting_type)
    assert [one is None for one in cleared] == [clears] * 4
    assert (link.tag_rows == [], link.pixels == [], link.handlers == []) == (clears,) * 3
    one_of_each = (link.is_enabled, link.domain is not None, link.schedule)
    assert one_of_each == (False, True, True), "one of each stays"


@pytest.mark.databases
def test_whose_the_link_is(desk, session, bob) -> None:
    """Somebody else's id and one that nobody has are told in the same words."""
    mine = desk.link("mine", title="old")
    his = services.create(access_of(bob), {"url": "his", "location_url": TO, "title": "his"})
    session.commit()
    job = desk.check(f"id,title\n{mine.id},new\n{his.id},new\n{his.id + 1000},new\nx,new\n", columns=BY_ID)
    assert counts(job) == (0, 1, 0, 3)
    said = desk.problems(job)
    assert said[3] == [("id", f"You have none with the id {his.id}.")]
    assert said[4] == [("id", f"You have none with the id {his.id + 1000}.")]
    assert said[5][0][0] == "id"
    assert counts(desk.apply(job)) == (0, 1, 0, 3)
    assert desk.problems(job) == said, "they stay listed"
    session.expire_all()
    assert (mine.title, his.title) == ("new", "his")
    job = desk.check("url,location_url,title\nhis,https://example.com/,new\n")
    taken = {2: [("url", "This short link is taken.")]}
    assert (counts(job), desk.problems(job)) == ((0, 0, 0, 1), taken)


def test_numbers_of_another_sheet_are_no_links_of_ours(desk) -> None:
    desk.link("mine", title="old")
    job = desk.check("id,url,slug,name\n1,https://example.com/theirs,theirs,new\n")
    assert counts(desk.apply(job)) == (1, 0, 0, 0)
    assert {url: (link.location_url, link.title) for url, link in desk.links().items()} == {
        "mine": (TO, "old"),
        "theirs": ("https://example.com/theirs", "new"),
    }


@pytest.mark.databases
def test_an_alias_without_case_on_its_domain(desk, session, alice, factory) -> None:
    domain = factory.domain(alice, "links.example")
    for id_ in (None, domain.id):
        desk.link("Spring", domain_id=id_)
    rows = ["SPRING,,here", "sprinG,links.example,there", "autumn,,new"]
    job = desk.check("alias,domain,title,destination\n" + "".join(f"{row},{TO}\n" for row in rows))
    assert counts(job) == (1, 2, 0, 0)
    desk.apply(job)
    found = session.execute(sa.select(Link.url, Link.domain_id, Link.title).order_by(Link.id)).all()
    assert [tuple(row) for row in found] == [
        ("Spring", None, "here"), ("Spring", domain.id, "there"), ("autumn", None, "new"),
    ]  # fmt: skip


def test_a_domain_or_an_alias_that_the_link_can_not_have(desk, session, alice, full) -> None:
    session.add(Domain(**access_of(alice).row_columns, host="new.example", token="t"))
    session.commit()
    job = desk.check(desk.edited(plain={"domain": "new.example"}, other={"domain": "unknown.example"}))
    assert [each for found in desk.problems(job).values() for each in found] == [
        ("domain", "This domain is not verified, or is turned off."),
        ("domain", "You have no domain unknown.example."),
    ]
    job = desk.check(desk.edited(plain={"url": "OTHER"}))
    assert list(desk.problems(job).values()) == [[("url", "This short link is taken.")]]


@pytest.mark.databases
def test_the_later_of_two_rows_is_wrong(desk, session, full, monkeypatch) -> None:
    """Of one link, by alias or id, and of one alias; also where another process checks each row."""
    monkeypatch.setattr(runs, "BATCH_SIZE", 1)
    links = desk.links()
    rows = [
        (links["plain"].id, "", "one"), ("", "PLAIN", "two"), ("", "plain", "three"),
        (links["other"].id, "fresh", "four"), ("", "fresh", "five"), ("", "new", "six"), ("", "NEW", "seven"),
    ]  # fmt: skip
    text = "".join(f"{id_},{url},{title},https://example.com/{title}\n" for id_, url, title in rows)
    chosen = {name: name for name in ("id", "url", "title", "location_url")}
    heading = ",".join(chosen)
    job = desk.bring(desk.alice, f"{heading}\n{text}", "checking", is_update=True, columns=chosen)
    while job.state == "checking":
        runs.go_on(job, desk.settings, lambda: True)  # each process makes one step
        session.refresh(job)
    assert counts(job) == (1, 2, 0, 4)
    twice = [("", TWICE_CHANGED)], [("url", TWICE)]
    said = desk.problems(job)
    assert said == {3: twice[0], 4: twice[0], 6: twice[1], 8: twice[1]}
    assert counts(desk.apply(job)) == (1, 2, 0, 4)
    assert desk.problems(job) == said
    found = desk.links()
    assert (found["plain"].title, found["fresh"].title, found["new"].title) == ("one", "four", "six")


MEANWHILE: dict[str, tuple[dict[str, Any] | None, tuple[int, int, int, int], str]] = {
    # what somebody changes of the link, the counts then, the problem
    "the same field": ({"title": "theirs"}, (0, 0, 1, 1), results.MEANWHILE),
    "another field": ({"notes": "theirs"}, (0, 1, 1, 0), ""),
    "just what the file says": ({"title": "new"}, (0, 0, 2, 0), ""),
    "all of it: it is deleted": (None, (0, 0, 1, 1), GONE),
}


@pytest.mark.databases
@pytest.mark.parametrize(("change", "expected", "said"), MEANWHILE.values(), ids=MEANWHILE)
def test_a_link_that_changes_after_the_preview(desk, session, change, expected, said) -> None:
    link, same = (desk.link(url, title="old") for url in ("one", "same"))
    job = desk.check(f"url,location_url,title\none,{TO},new\nsame,{TO},old\n")
    assert counts(job) == (0, 1, 1, 0)
    services.update(link, change) if change else services.delete(link)
    services.update(same, {"title": "theirs, too"})
    session.commit()
    assert counts(desk.apply(job)) == expected
    assert [text for found in desk.problems(job).values() for _, text in found] == [said] * bool(said)
    found = desk.links()
    assert found["same"].title == "theirs, too", "the preview said: unchanged"
    assert found["one"].title == change.get("title", "new") if change else "one" not in found


@pytest.mark.databases
def test_a_link_that_changes_while_it_is_written(desk, session, monkeypatch) -> None:
    """Between the reading of the row and the write."""
    link = desk.link("one", title="old")
    job = desk.check("alias,title\none,new\n")
    write = runs.RunningImport.store

    def store(self: runs.RunningImport, read: Any) -> None:
        session.execute(sa.update(Link).where(Link.id == link.id).values(title="theirs"))
        session.commit()
        write(self, read)

    monkeypatch.setattr(runs.RunningImport, "store", store)
    assert counts(desk.apply(job)) == (0, 0, 0, 1)
    assert desk.problems(job)[2] == [("title", results.MEANWHILE)]
    assert desk.links()["one"].title == "theirs"


@pytest.mark.databases
def test_a_link_that_is_made_after_the_preview(desk) -> None:
    job = desk.check(f"url,location_url,title\none,{TO},new\n")
    assert counts(job) == (1, 0, 0, 0)
    desk.link("one", title="theirs")
    assert counts(desk.apply(job)) == (0, 0, 0, 1)
    assert desk.problems(job)[2] == [("url", preview.NOW_THERE)]
    assert desk.links()["one"].title == "theirs"


@pytest.mark.databases
def test_one_that_fails_in_the_write_leaves_the_others(desk, session) -> None:
    """An alias that somebody takes after the preview: that link stays as it was, wholly."""
    one, two = (desk.link(url, title="old") for url in ("one", "two"))
    job = desk.check(
        f"id,alias,title\n{one.id},wanted,new\n{two.id},,new\n", columns=BY_ID | {"url": "alias"}
    )
    assert counts(job) == (0, 2, 0, 0)
    desk.link("wanted")
    assert counts(desk.apply(job)) == (0, 1, 0, 1)
    found = desk.links()
    assert (found["one"].title, found["two"].title) == ("old", "new")
    kinds = sa.select(PreviewRow.kind).filter_by(import_id=job.id).order_by(PreviewRow.number)
    assert list(session.scalars(kinds)) == ["wrong", "changed"], "the page says what became of each"


def test_long_values_are_shown_where_they_differ(desk) -> None:
    address = "https://example.com/" + "a" * 1_000
    desk.link("one", location_url=address + "b")
    job = desk.check(f"url,location_url\none,{address}c\n")
    [[name, before, after]] = desk.differences(job)["one"]
    assert (name, before[-1], after[-1]) == ("location_url", "b", "c")
    assert max(len(before), len(after)) <= preview.MAX_VALUE + 2


def test_a_new_check_forgets_the_one_before(desk, session, full) -> None:
    job = desk.check(desk.edited(plain={"title": "new"}))
    assert counts(job) == (0, 1, 2, 0)
    start(job, "checking")
    job.is_update = False
    session.commit()
    runs.run(job.id, desk.settings)
    session.refresh(job)
    assert counts(job) == (0, 0, 3, 0)
    assert preview.count_listed(job) == {"unchanged": 3}


@pytest.mark.full
def test_no_cell_stops_an_update(desk, session, full) -> None:
    """Each hostile text in each column, for new links and for one that exists, by id and by alias."""
    texts = [*HOSTILE.values(), "\ud800", "\udfff\ud800", "http://\ud800/", "//[", "x" * 2_000]
    means: list[dict[str, object]] = [{"id": full.id}, {"url": "plain"}, {"location_url": TO}]
    cells = [{field: text} for text in texts for field in columns.COLUMNS]
    rows = [{**means[number % len(means)], **cell} for number, cell in enumerate(cells)]
    before = session.query(Link).count()
    job = desk.check(as_json([*rows, {"url": "other", "title": "good"}]))
    assert (job.position, sum(counts(job))) == (len(rows) + 1,) * 2
    desk.apply(job)
    assert sum(counts(job)) == len(rows) + 1
    assert desk.links()["other"].title == "good"
    assert session.query(Link).count() == before + job.made
