"""Import and export pages: upload, preview, run, failed rows, and refusing what is no table."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.config import Settings
from app.dashboard.imports import upload as imports_upload
from app.import_export import cells, files, preview, runs
from app.import_export.models import FailedRow, LinkImport
from app.links import services
from app.links.models import Link
from tests.import_export.conftest import bring

__all__ = ["bring"]

TABLE = "keyword,url,title\nfoo,https://example.com/,Foo\nbar,javascript:alert(1),=1+1\n"


def raw(fields: list[tuple[str, str, str | bytes]]) -> dict[str, Any]:
    """A multipart body with its parts in exactly this order."""
    body = b""
    for name, more, text in fields:
        head = f'--b\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'
        body += head.encode() + (text if isinstance(text, bytes) else text.encode()) + b"\r\n"
    return {"data": body + b"--b--\r\n", "content_type": "multipart/form-data; boundary=b"}


@pytest.fixture
def brought(desk, session) -> Callable[[bytes], LinkImport]:
    def bring(content: bytes) -> LinkImport:
        fields = [("csrf_token", "", desk.token()), ("file", '; filename="yourls.csv"', content)]
        answer = desk.client.post("/dashboard/imports/", **raw(fields))
        assert answer.status_code == 303, answer.text
        return session.get(LinkImport, int(answer.location.rpartition("/")[2]))

    return bring


@pytest.fixture
def work(session, settings) -> Callable[[LinkImport], str]:
    """Run the import as the worker does. Returns the state that it ends in."""

    def run(job: LinkImport) -> str:
        runs.run(job.id, settings)
        session.refresh(job)
        return job.state

    return run


def test_from_the_file_to_the_links(desk, session, brought, work, alice) -> None:
    job = brought(TABLE.encode())
    page = desk.get(f"/imports/{job.id}").text
    assert "2 rows, as YOURLS writes them" in page
    named = {
        "column:keyword": "url",
        "column:url": "location_url",
        "column:title": "title",
        "project": "Spring",
    }
    assert desk.post(f"/imports/{job.id}/check", named).status_code == 303
    assert 'hx-trigger="load delay:1s"' in desk.get(f"/imports/{job.id}").text
    assert work(job) == "checked"
    page = desk.get(f"/imports/{job.id}").text
    assert "Import 1 link" in page
    assert "<b>Destination:</b>" in page
    assert session.query(Link).count() == 0
    desk.post(f"/imports/{job.id}/take", {})
    desk.post(f"/imports/{job.id}/take", {})  # a second click changes nothing
    assert work(job) == "done"
    assert [(link.url, link.project.name) for link in session.query(Link)] == [("foo", "Spring")]
    failed = desk.get(f"/imports/{job.id}/failed.csv")
    assert failed.text.splitlines()[0] == "\ufeffkeyword,url,title,line,problem"
    assert failed.text.splitlines()[1].startswith("bar,javascript:alert(1),'=1+1,3,location_url: ")
    assert "yourls.csv" in desk.get("/imports/").text


def test_links_without_their_passwords_are_listed_and_failed_rows_apart(desk, session, brought, work) -> None:
    rows = '[{"url":"a","location_url":"https://example.com/","has_password":true},{"url":"b","location_url":"x:y","password_hash":"$x"}]'
    job = brought(rows.encode())
    desk.post(f"/imports/{job.id}/check", {f"column:{name}": name for name in job.columns})
    work(job)
    page = desk.get(f"/imports/{job.id}").text
    assert (job.made, job.failed) == (1, 1)
    assert "Links that need a look" in page
    assert str(cells.SWITCHED_OFF) in html.unescape(page)
    assert "a · https://example.com/" in page
    assert "Rows that are wrong" in page
    file = f"/imports/{job.id}/failed.csv"
    [_, failed] = csv.reader(io.StringIO(desk.get(file).text))
    assert failed[0] == "b"
    assert "$x" not in ",".join(failed)
    assert session.query(FailedRow).filter_by(is_made=False).one().cells == [
        "b", "x:y", "", cells.HIDDEN,
    ]  # fmt: skip


BAD = {
    "no file": ({}, "Choose a file first."),
    "a text": ({"file": "x"}, "Choose a file first."),
    "a picture": ({"file": (io.BytesIO(b"\x89PNG\0"), "x.png")}, "This is not text."),
    "headings alone": ({"file": (io.BytesIO(b"url,location_url\n"), "x.csv")}, "headings only"),
    "300 columns": ({"file": (io.BytesIO(b"x," * 300), "x.csv")}, "columns; at most"),
}


@pytest.mark.parametrize(("data", "said"), BAD.values(), ids=BAD.keys())
def test_what_is_no_table(desk, session, settings, data, said) -> None:
    answer = desk.post("/imports/", data)
    assert (answer.status_code, said in answer.text) == (422, True)
    assert session.query(LinkImport).count() == 0
    assert list((settings.data_dir / "imports").glob("*")) == []


def test_columns_that_do_not_go_together(desk, session, brought) -> None:
    job = brought(TABLE.encode())
    named = {"column:keyword": "title", "column:url": "title", "column:title": "nope", "project": ""}
    answer = desk.post(f"/imports/{job.id}/check", named)
    assert answer.status_code == 422
    for said in ("Two columns are Title.", "There is no field nope.", "Say which column is the destination."):
        assert said in answer.text
    session.refresh(job)
    assert (job.state, job.columns) == ("new", {"location_url": "url", "url": "keyword", "title": "title"})


def test_export(desk, session, alice) -> None:
    services.create(access_of(alice), {"url": "one", "location_url": "https://example.com/1", "title": "=x"})
    services.create(access_of(alice), {"url": "two", "location_url": "https://example.com/2"})
    session.commit()
    answer = desk.get("/links/export.csv?search=one")
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="links-')
    assert (answer.text.count("\n"), ",'=x," in answer.text) == (2, True)
    assert [link["url"] for link in desk.get("/links/export.json").json] == ["one", "two"]
    assert desk.get("/links/export.csv?type=perhaps").status_code == 422
    assert 'href="/dashboard/links/export.csv?search=two"' in desk.get("/links/?search=two").text


# --- files larger than memory should be


def left(settings) -> list[str]:
    return [path.name for path in (settings.data_dir / "imports").glob("*")]


def test_the_token_comes_before_the_file(desk, session, settings) -> None:
    file, token = ("file", '; filename="a.csv"', TABLE), ("csrf_token", "", desk.token())
    wrong = (*token[:2], "x")
    for fields, status in (((file,), 403), ((file, token), 403), ((token, file), 303), ((wrong, file), 403)):
        answer = desk.client.post("/dashboard/imports/", **raw(list(fields)))
        assert answer.status_code == status, fields
    assert len(left(settings)) == session.query(LinkImport).count() == 1
    by_header = desk.client.post("/dashboard/imports/", headers={"X-CSRFToken": token[2]}, **raw([file]))
    assert by_header.status_code == 303
    elsewhere = desk.client.post(
        "/dashboard/imports/", headers={"Sec-Fetch-Site": "cross-site"}, **raw([token, file])
    )
    assert elsewhere.status_code == 403


def test_nothing_stays_of_what_does_not_come_whole(desk, session, settings, monkeypatch) -> None:
    token = ("csrf_token", "", desk.token())
    good = raw([token, ("file", '; filename="a.csv"', TABLE)])
    cut = {**good, "data": good["data"][:-20]}
    assert desk.client.post("/dashboard/imports/", **cut).status_code == 400
    monkeypatch.setattr(imports_upload, "MAX_BYTES", 50)
    assert desk.client.post("/dashboard/imports/", **good).status_code == 413
    assert desk.client.post("/dashboard/imports/", **raw([token, ("x", "", "y" * 10_001)])).status_code == 413
    monkeypatch.setattr(files, "SPARE_BYTES", 1 << 60)
    answer = desk.client.post("/dashboard/imports/", **good)
    assert (answer.status_code, "no space for this file" in answer.text) == (422, True)
    assert left(settings) == []
    assert session.query(LinkImport).count() == 0


def test_ten_at_once_are_enough(desk, session, brought, settings) -> None:
    jobs = [brought(TABLE.encode()) for _ in range(10)]
    answer = desk.post("/imports/", {"file": (io.BytesIO(TABLE.encode()), "a.csv")})
    assert (answer.status_code, "Finish or discard one" in answer.text) == (422, True)
    assert len(left(settings)) == 10
    desk.post(f"/imports/{jobs[0].id}/end", {})
    brought(TABLE.encode())


def test_the_order_of_dates_is_asked_for_where_they_do_not_tell(desk, session, brought, work) -> None:
    job = brought(b"url,created\nhttps://example.com/,01/02/2024\n")
    page = desk.get(f"/imports/{job.id}").text
    assert "can be read in several ways" in page
    named = {"column:url": "location_url", "column:created": "datetime"}
    answer = desk.post(f"/imports/{job.id}/check", named)
    assert (answer.status_code, "Choose the order" in answer.text) == (422, True)
    answer = desk.post(f"/imports/{job.id}/check", {**named, "date_order": "x" * 1000})
    assert (answer.status_code, "start with the day, month or year" in answer.text) == (422, True)
    assert desk.post(f"/imports/{job.id}/check", {**named, "date_order": "day"}).status_code == 303
    assert work(job) == "checked"
    assert "Day first: 31/01/2026" in desk.get(f"/imports/{job.id}").text
    desk.post(f"/imports/{job.id}/take", {})
    assert work(job) == "done"
    assert [link.datetime.month for link in session.query(Link)] == [2]


Preview = Callable[..., LinkImport]
PREVIEWED = (
    "alias,destination,title\n"
    "one,https://example.com/,new\n"
    "two,https://example.com/,old\n"
    "three,https://example.com/,\n"
    "four,javascript:alert(1),\n"
)


@pytest.fixture
def checked(desk: Any, session: Any, settings: Settings, alice: User, bring: Any) -> Preview:
    """`checked(text, **choices)`: an import of alice's as the worker has checked it, with these choices."""
    for url in ("one", "two"):
        services.create(
            access_of(alice), {"url": url, "location_url": "https://example.com/", "title": "old"}
        )
    session.commit()

    def make(text: str = PREVIEWED, **choices: str) -> LinkImport:
        job = bring(alice, text, "new")
        named = {f"column:{column}": field for field, column in job.columns.items()}
        answer = desk.post(f"/imports/{job.id}/check", {**named, "existing": "update", **choices})
        assert answer.status_code == 303, answer.text
        runs.run(job.id, settings)
        session.refresh(job)
        return job

    return make


def page_of(desk: Any, job: LinkImport, query: str = "") -> str:
    answer = desk.get(f"/imports/{job.id}{query}")
    assert answer.status_code == 200
    return html.unescape(answer.text)


def test_each_kind_has_its_rows(desk: Any, checked: Preview) -> None:
    job = checked()
    page = page_of(desk, job)
    for word in ("New", "Changed", "Unchanged", "Wrong"):
        assert f"<span>{word}</span> <b>1</b>" in page
    assert "Links that change" in page, "what is to be looked at comes first"
    assert "<del><bdi>old</bdi></del> <ins><bdi>new</bdi></ins>" in page
    assert "Import 1 link, update 1" in page
    assert "three" in page_of(desk, job, "?kind=new")
    assert "Links that stay as they are" in page_of(desk, job, "?kind=unchanged")
    wrong = page_of(desk, job, "?kind=wrong")
    assert "Line 5" in wrong
    assert "<b>Destination:</b> This must be an address" in wrong
    assert f"/imports/{job.id}/failed.csv" in wrong


def test_many_rows_come_in_pages(desk: Any, checked: Preview, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "PAGE_SIZE", 2)
    job = checked("alias,destination\n" + "".join(f"a{n},https://example.com/\n" for n in range(5)))
    first, last = page_of(desk, job), page_of(desk, job, "?kind=new&page=3")
    assert (">a0<" in first, ">a4<" in first, "Page 1 of 3" in first, 'rel="prev"' in first) == (
        True,
        False,
        True,
        False,
    )
    assert (">a0<" in last, ">a4<" in last, "Page 3 of 3" in last, 'rel="next"' in last) == (
        False,
        True,
        True,
        False,
    )


WRONG = {
    "an unknown choice": {"existing": "delete"},
    "an unknown choice for empty cells": {"existing": "update", "empty": "drop"},
    "no column that says which link": {"existing": "update", "column:alias": ""},
}


@pytest.mark.parametrize("choices", WRONG.values(), ids=WRONG)
def test_a_wrong_choice_is_said_and_kept(
    desk: Any, session: Any, alice: User, bring: Any, choices: dict[str, str]
) -> None:
    job = bring(alice, PREVIEWED, "new")
    named = {f"column:{column}": field for field, column in job.columns.items()}
    answer = desk.post(f"/imports/{job.id}/check", {**named, **choices})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert ('value="update" checked' in answer.text) == (choices["existing"] == "update")
    session.refresh(job)
    assert (job.state, job.is_update) == ("new", False)
