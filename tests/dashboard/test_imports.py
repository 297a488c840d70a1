"""Can an owner bring her links from elsewhere, see first what would happen, and take all of them away?"""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from app.links import services
from app.links.models import Link
from app.transfer import taking
from app.transfer.models import LinkImport

TABLE = "keyword,url,title\nfoo,https://example.com/,Foo\nbar,javascript:alert(1),=1+1\n"


@pytest.fixture
def brought(desk, session) -> Callable[[bytes], LinkImport]:
    def bring(content: bytes) -> LinkImport:
        answer = desk.post("/imports/", {"file": (io.BytesIO(content), "yourls.csv")})
        assert answer.status_code == 303, answer.text
        return session.get(LinkImport, int(answer.location.rpartition("/")[2]))

    return bring


@pytest.fixture
def work(session, settings) -> Callable[[LinkImport], str]:
    """What the worker does; the state that this comes to."""

    def run(job: LinkImport) -> str:
        taking.run(job.id, settings)
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
    assert "Make 1 link" in page
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


BAD = {
    "no file": ({}, "Choose a file first."),
    "a text": ({"file": "x"}, "Choose a file first."),
    "a picture": ({"file": (io.BytesIO(b"\x89PNG\0"), "x.png")}, "This is no text."),
    "headings alone": ({"file": (io.BytesIO(b"url,location_url\n"), "x.csv")}, "and nothing else"),
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


def test_changed_ones_mind(desk, session, brought, work) -> None:
    job = brought(TABLE.encode())
    desk.post(f"/imports/{job.id}/check", {"column:url": "location_url"})
    work(job)
    desk.post(f"/imports/{job.id}/columns", {})
    session.refresh(job)
    assert job.state == "new"
    desk.post(f"/imports/{job.id}/end", {})
    desk.post(f"/imports/{job.id}/take", {})
    assert work(job) == "ended"
    assert session.query(Link).count() == 0


def test_another_ones_is_not_there(desk, session, bob, settings) -> None:
    job = LinkImport(user_id=bob.id, name="his", file="0" * 32 + ".csv")
    session.add(job)
    session.commit()
    for path in ("", "/failed.csv"):
        assert desk.get(f"/imports/{job.id}{path}").status_code == 404
    for path in ("check", "take", "columns", "end"):
        assert desk.post(f"/imports/{job.id}/{path}", {}).status_code == 404


def test_export(desk, session, alice) -> None:
    services.create(alice, {"url": "one", "location_url": "https://example.com/1", "title": "=x"})
    services.create(alice, {"url": "two", "location_url": "https://example.com/2"})
    session.commit()
    answer = desk.get("/links/export.csv?search=one")
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="links-')
    assert (answer.text.count("\n"), ",'=x," in answer.text) == (2, True)
    assert [link["url"] for link in desk.get("/links/export.json").json] == ["one", "two"]
    assert desk.get("/links/export.csv?type=perhaps").status_code == 422
    assert 'href="/dashboard/links/export.csv?search=two"' in desk.get("/links/?search=two").text
