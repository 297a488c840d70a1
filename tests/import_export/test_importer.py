"""Imports: rows become links, each once, and every problem is reported."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm.exc import ObjectDeletedError

from app.accounts.workspaces import access_of
from app.import_export import files, rows, runs
from app.import_export.models import FailedRow, LinkImport
from app.links import services
from app.links.clicks import clicks_of
from app.links.models import Link, LinkTag
from app.projects.models import Project

pytestmark = pytest.mark.databases


def counts(job):
    return job.state, job.rows, job.made, job.known, job.failed


def problems(session, job):
    rows = session.scalars(sa.select(FailedRow).filter_by(import_id=job.id).order_by(FailedRow.number))
    return [(row.line, row.problems) for row in rows]


def links(session, user):
    return session.scalars(
        sa.select(Link).where(Link.workspace_id == access_of(user).workspace_id).order_by(Link.id)
    ).all()


BITLY = (
    "Link,Custom Link,Date created,Title,Destination URL,Engagements,Status\n"
    'https://bit.ly/3AbCdE,https://go.example/spring,2023-05-06T07:08:09Z,Spring,https://example.com/a,"1,234",Active\n'
    "https://bit.ly/4FgHiJ,,2023-05-07T00:00:00Z,,https://example.com/b,0,Deleted\n"
)
YOURLS = "source,target,hits\r\n/spring/,https://example.com/a,1234\r\n/4FgHiJ/,https://example.com/b,0\r\n"


@pytest.mark.parametrize("text", [BITLY, YOURLS], ids=["Bitly", "YOURLS"])
def test_short_addresses_as_services_write_them(session, take, alice, factory, text):
    """Without a custom alias the service's own is kept. A domain that the owner has is found."""
    domain = factory.domain(alice, "go.example")
    assert counts(take(alice, text)) == ("done", 2, 2, 0, 0)
    first, second = links(session, alice)
    assert [(one.url, one.location_url) for one in (first, second)] == [
        ("spring", "https://example.com/a"),
        ("4FgHiJ", "https://example.com/b"),
    ]
    assert (first.domain_id, second.domain_id) == (domain.id if text is BITLY else None, None)
    assert clicks_of([first.id, second.id]) == {first.id: 1234, second.id: 0}
    assert (first.is_enabled, second.is_enabled) == (True, text is YOURLS)
    assert counts(take(alice, text)) == ("done", 2, 0, 2, 0), "a second time adds nothing"
    assert len(links(session, alice)) == 2


def test_what_was_off_stays_off(session, take, alice):
    """Archived is not off: such links still redirect at their service."""
    said = ("Active", "active ", "Archived", "Hidden", "Deleted", "INACTIVE", "disabled", "yes", "0", "", "perhaps")  # fmt: skip
    rows = [f"https://example.com/{n},a{n},{word}" for n, word in enumerate(said)]
    assert counts(take(alice, "\n".join(["destination,slashtag,status", *rows]))) == ("done", 11, 10, 0, 1)
    on = {said[int(one.url[1:])] for one in links(session, alice) if one.is_enabled}
    assert on == {"Active", "active ", "Archived", "Hidden", "yes", ""}


def test_whose_an_address_is(session, take, alice, bob):
    services.create(access_of(alice), {"url": "mine", "location_url": "https://example.com/mine"})
    services.create(access_of(bob), {"url": "his", "location_url": "https://example.com/his"})
    held = services.create(access_of(bob), {"url": "held", "location_url": "https://example.com/his"})
    mine = services.create(access_of(alice), {"url": "gone", "location_url": "https://example.com/mine"})
    for link in (held, mine):
        services.delete(link)
    session.commit()
    rows = ("MINE", "mine"), ("mine", "other"), ("his", "mine"), ("held", "x"), ("gone", "x"), ("gone", "y")
    text = "url,location_url\n" + "".join(f"{url},https://example.com/{to}\n" for url, to in rows)
    job = take(alice, text)
    assert counts(job) == ("done", 6, 1, 1, 4)
    assert [found[0][1] for _, found in problems(session, job)] == [
        "An earlier row has the same short link.",
        "This short link is taken.",
        "This short link is taken.",
        "An earlier row has the same short link.",
    ]


OWN = '[{"url": "away", "location_url": "https://example.com/", "targeting_type": null, "domain": "%s"}]'
DOMAINS = {
    "of another site": (OWN % "elsewhere.example", False, 1),
    "of one's own": (OWN % "links.example", False, 0),
    "none": (OWN % "", False, 0),
    "of another site, with another chosen for it": (OWN % "elsewhere.example", True, 0),
    "of another service, which all its links have": ("address,target,domain\naway,https://a.b/,kutt.it\n", False, 0),
}  # fmt: skip


@pytest.mark.parametrize(("text", "is_chosen", "listed"), DOMAINS.values(), ids=DOMAINS)
def test_a_domain_that_is_not_here_is_said(session, take, alice, factory, text, is_chosen, listed):
    domain = factory.domain(alice, "links.example")
    session.commit()
    job = take(alice, text, **({"domain_id": domain.id} if is_chosen else {}))
    assert job.made == 1
    found = session.scalars(sa.select(FailedRow)).all()
    assert [row.problems[0] for row in found] == [["domain", rows.OTHER_DOMAIN]] * listed
    assert all(row.is_made for row in found)


def test_projects_are_found_or_made(session, take, alice, bob, factory):
    factory.project(alice, name="Spring")
    factory.project(bob, name="Summer")
    rows = ["https://a.example/,Spring", "https://b.example/,Summer", "https://c.example/,"]
    take(alice, "\n".join(["location_url,project", *rows]))
    names = [link.project and link.project.name for link in links(session, alice)]
    assert names == ["Spring", "Summer", None]
    assert session.query(Project).filter_by(user_id=alice.id).count() == 2


def test_to_an_address_of_this_instance(session, take, alice):
    job = take(alice, "location_url\nhttp://go.example/foo\n", host="go.example")
    assert problems(session, job)[0][1] == [["location_url", "This is a short link of this instance."]]


def test_it_goes_on_where_it_was(session, settings, bring, alice, monkeypatch):
    text = "location_url\n" + "".join(f"https://example.com/{n}\n" for n in range(450))
    job = bring(alice, text)
    begun = runs.begin(job, settings)
    assert begun.step()
    session.rollback()
    assert session.get(LinkImport, job.id).position == 200
    other = runs.begin(session.get(LinkImport, job.id), settings)
    assert other.step()
    with pytest.raises(runs.ImportSuperseded):
        begun.step()
    session.rollback()
    runs.run(job.id, settings)
    session.refresh(job)
    assert counts(job) == ("done", 450, 450, 0, 0)
    assert {link.location_url for link in links(session, alice)} == {
        f"https://example.com/{n}" for n in range(450)
    }


def test_one_at_a_time_goes_on_with_it(session, settings, bring, alice):
    job = bring(alice, "location_url\nhttps://example.com/\n")
    with files.lock_table(settings.data_dir, job.file) as is_ours:
        assert is_ours
        assert runs.unfinished_imports(session, settings.data_dir) == []
        runs.run(job.id, settings)
        assert session.get(LinkImport, job.id).position == 0
    assert [one.id for one in runs.unfinished_imports(session, settings.data_dir)] == [job.id]
    runs.run(job.id, settings)
    assert counts(session.get(LinkImport, job.id)) == ("done", 1, 1, 0, 0)


def test_its_owner_goes_meanwhile(session, settings, bring, alice):
    job = bring(alice, "location_url\n" + "https://example.com/\n" * 300)
    begun = runs.begin(job, settings)
    begun.step()
    number = job.id
    session.delete(alice)
    session.commit()
    with pytest.raises((NoResultFound, ObjectDeletedError)):
        begun.step()
    session.rollback()
    runs.run(number, settings)
    assert session.query(LinkImport).count() == session.query(Link).count() == 0


def test_a_file_that_is_gone(session, settings, bring, alice):
    job = bring(alice, "location_url\nhttps://example.com/\n")
    (settings.data_dir / "imports" / job.file).unlink()
    runs.run(job.id, settings)
    session.refresh(job)
    assert (job.state, job.problem) == ("failed", "The file is not there any more.")
    assert session.query(LinkTag).count() == 0
