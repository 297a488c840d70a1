"""`flask export` and `flask import`: links are exported to files and imported from them."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.passwords import HASHER
from app.accounts.workspaces import access_of
from app.links import services
from app.links.models import Link

TABLE = "keyword,url,title,timestamp,ip,clicks\nfoo,https://example.com/,Foo,2024-01-02 03:04:05,1.2.3.4,7\n"
MAPPING = "Destination: url\nAlias: keyword\nTitle: title\nCreated: timestamp\nClicks so far: clicks\nLeft out: ip\n"
BAD = "bar,javascript:alert(1),Bar,2024-01-02 03:04:05,1.2.3.4,7\n"
Run = Callable[..., Result]


@pytest.fixture
def run(app: Flask) -> Run:
    return lambda *arguments: app.test_cli_runner().invoke(args=[str(each) for each in arguments])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "yourls.csv"
    path.write_text(TABLE)
    return path


def test_in_and_out_and_in_again(run: Run, file: Path, tmp_path: Path, alice, bob, session) -> None:
    done = run("import", file, "--email", alice.email)
    assert (done.exit_code, done.output) == (0, f"{MAPPING}1 links made, 0 there already, 0 failed\n")
    done = run("import", file, "--email", alice.email)
    assert (done.exit_code, done.output) == (0, f"{MAPPING}0 links made, 1 there already, 0 failed\n")
    out = tmp_path / "out.csv"
    assert run("export", "--email", alice.email, "--output", out).exit_code == 0
    assert "https://example.com/" in out.read_text()
    assert run("export", "--email", alice.email, "--filter", "search=nothing").output.count("\n") == 1
    session.query(Link).delete()
    session.commit()
    done = run("import", out, "--email", alice.email, "--check")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (
        0,
        "1 links would be made, 0 there already, 0 failed",
    )
    assert session.query(Link).count() == 0


def test_an_export_is_its_owners_alone_and_links_without_passwords_are_told(
    run: Run, tmp_path: Path, alice, factory, session
) -> None:
    link = factory.link(alice, "closed", password_hash=HASHER.hash("x"))
    session.commit()
    out = tmp_path / "out"
    out.write_text("here before")
    out.chmod(0o644)
    assert run("export", "--email", alice.email, "--format", "json", "--output", out).exit_code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert link.password_hash in out.read_text()
    assert run("export", "--email", alice.email, "--output", out).exit_code == 0
    session.query(Link).delete()
    session.commit()
    done = run("import", out, "--email", alice.email)
    assert done.exit_code == 0
    assert "1 of the links need a check" in done.stdout
    assert "line 2: has_password: It had a password" in done.stderr


def test_a_bad_row_is_told_and_the_others_are_taken(run: Run, file: Path, alice, session) -> None:
    file.write_text(TABLE + BAD)
    done = run("import", file, "--email", alice.email)
    assert done.exit_code == 1
    assert done.stdout == f"{MAPPING}1 links made, 0 there already, 1 failed\n"
    assert "line 3: location_url:" in done.stderr
    assert [link.url for link in session.query(Link)] == ["foo"]


REFUSED = {
    "nothing given": ([], 2, "give FILE and --email"),
    "nobody": (["FILE", "--email", "nobody@example.com"], 1, "nobody@example.com"),
    "no such column": (["FILE", "--email", "ME", "--column", "title=Nope"], 1, "There is no column Nope"),
    "no such field": (["FILE", "--email", "ME", "--column", "nope=title"], 1, "There is no field nope"),
}


@pytest.mark.parametrize(("arguments", "code", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(run: Run, file: Path, alice, arguments: list[str], code: int, said: str) -> None:
    done = run("import", *[{"FILE": file, "ME": alice.email}.get(each, each) for each in arguments])
    assert (done.exit_code, said in done.stderr) == (code, True), done.stderr


def test_a_file_that_is_no_table(run: Run, file: Path, alice, settings) -> None:
    file.write_bytes(b"\x89PNG\0")
    done = run("import", file, "--email", alice.email)
    assert (done.exit_code, "not text" in done.stderr) == (1, True)
    assert list((settings.data_dir / "imports").iterdir()) == []


def test_columns_named_by_hand(run: Run, file: Path, alice, session) -> None:
    file.write_text("wohin;kurz\nhttps://example.com/by-hand;x\n")
    assert "Say which column is the destination" in run("import", file, "--email", alice.email).stderr
    named = ("--column", "location_url=wohin", "--column", "url=kurz")
    assert run("import", file, "--email", alice.email, *named).exit_code == 0
    assert [(link.url, link.location_url) for link in session.query(Link)] == [
        ("x", "https://example.com/by-hand")
    ]


def test_dates_are_asked_for_and_told(run: Run, file: Path, alice, session) -> None:
    file.write_text("url,created\nhttps://example.com/,01/02/2024\n")
    done = run("import", file, "--email", alice.email)
    assert (done.exit_code, "--dates day|month|year" in done.stderr) == (1, True)
    assert run("import", file, "--email", alice.email, "--dates", "never").exit_code == 2
    done = run("import", file, "--email", alice.email, "--dates", "month")
    assert (done.exit_code, "Dates: Month first: 01/31/2026" in done.stdout) == (0, True)
    assert [link.datetime.month for link in session.query(Link)] == [1]


def test_names_of_columns_command_no_terminal(run: Run, file: Path, alice) -> None:
    file.write_text("url,\x1b[2J\x07secret\nhttps://example.com/,x\n")
    done = run("import", file, "--email", alice.email)
    assert "Left out: \ufffd[2J\ufffdsecret\n" in done.stdout
    assert "\x1b" not in done.output


UPDATE = "alias,title\none,new\ntwo,old\nthree,x\n"


@pytest.fixture
def updated(tmp_path: Path, alice: User, session: scoped_session[Session]) -> str:
    """A file that changes one link, says of another what it is, and has a row that is wrong."""
    for alias in ("one", "two"):
        services.create(
            access_of(alice), {"url": alias, "location_url": "https://example.com/", "title": "old"}
        )
    session.commit()
    file = tmp_path / "edited.csv"
    file.write_text(UPDATE)
    return str(file)


def titles(session: scoped_session[Session]) -> dict[str, str | None]:
    session.rollback()
    return {link.url: link.title for link in session.query(Link)}


def test_an_update_prints_each_change_and_makes_it(
    run: Callable[..., Result], alice: User, session: scoped_session[Session], updated: str
) -> None:
    done = run("import", updated, "--email", alice.email, "--update", "--check")
    assert "line 2: one: Title: old → new" in done.stdout
    assert "0 links would be new, 1 would be changed, 1 unchanged, 1 failed" in done.stdout
    assert "line 4: location_url: This is required." in done.stderr
    assert (done.exit_code, titles(session)) == (1, {"one": "old", "two": "old"})
    done = run("import", updated, "--email", alice.email, "--update")
    assert "line 2: one: Title: old → new" in done.stdout
    assert "0 links new, 1 changed, 1 unchanged, 1 failed" in done.stdout
    assert (done.exit_code, titles(session)) == (1, {"one": "new", "two": "old"})
    assert run("import", updated, "--email", alice.email).exit_code == 1, "there is no destination to add"


def test_an_update_without_a_wrong_row(
    run: Callable[..., Result], alice: User, session: scoped_session[Session], updated: str
) -> None:
    Path(updated).write_text("alias,title\none,\ntwo,old\n")
    assert run("import", updated, "--email", alice.email, "--update").exit_code == 0
    assert titles(session)["one"] == "old"
    done = run("import", updated, "--email", alice.email, "--update", "--empty", "clear")
    assert ("line 2: one: Title: old → none" in done.stdout, done.exit_code) == (True, 0)
    assert titles(session)["one"] is None
    assert run("import", updated, "--email", alice.email, "--empty", "clear").exit_code == 2
    Path(updated).write_text("title\nnew\n")
    done = run("import", updated, "--email", alice.email, "--update")
    assert ("To update links, say which column" in done.stderr, done.exit_code) == (True, 1)
