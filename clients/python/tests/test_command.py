"""The command `way` against a started server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import click
import pytest
from click.testing import CliRunner, Result
from waypost_client import Client, encode
from waypost_client.cli import profiles
from waypost_client.cli.__main__ import MODULES
from waypost_client.cli.command import way
from waypost_client.cli.links import PAIRS
from waypost_client.cli.output import as_cell
from waypost_client.cli.transfer import csv_line, escaped, read_csv
from waypost_client.fields import LinkFields

from tests.instance import Waypost
from tests.test_client import picture

HERE = "https://example.com/here"
Run = Callable[..., Result]


@pytest.fixture
def run(waypost: Waypost, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `way` with the writing key in its environment."""
    monkeypatch.setenv("WAY_URL", waypost.url)
    monkeypatch.setenv("WAY_KEY", waypost.key)

    def invoke(*arguments: object, stdin: str | bytes = "", code: int = 0) -> Result:
        done = CliRunner().invoke(way, [str(one) for one in arguments], input=stdin, prog_name="way")
        assert done.exit_code == code, done.output
        return done

    return invoke


def read_json(done: Result) -> Any:
    return json.loads(done.stdout)


def test_a_link_from_its_creation_to_its_deletion(run: Run, waypost: Waypost) -> None:
    short_url = run(
        "create", HERE, "by-hand", "--title", "By hand", "--tags", "a", "--tags", "b"
    ).stdout.strip()
    assert short_url == f"{waypost.url}/by-hand"
    link = read_json(run("show", "by-hand", "--json"))
    assert (link["title"], link["tags"], link["location_url"]) == ("By hand", ["a", "b"], HERE)
    assert "By hand" in run("show", short_url).stdout
    assert "By hand" in run("list", "--search", "by-hand").stdout
    assert (
        read_json(run("update", "BY-HAND", "--title", "", "--clicks-limit", "5", "--json"))["title"] is None
    )
    assert read_json(run("show", link["id"], "--json"))["clicks_limit"] == 5
    run("delete", "by-hand", stdin="n\n", code=1)
    assert read_json(run("delete", "by-hand", "--yes", "--json")) == [link["id"]]
    assert "There is no link" in run("show", "by-hand", code=1).stderr
    trashed = read_json(run("trash", "list", "--type", "link", "--json"))[0]
    assert "by-hand" in run("trash", "list").stdout
    assert read_json(run("trash", "restore", trashed["id"], "--json")) == {"id": link["id"]}
    assert "By hand" not in run("show", "by-hand").stdout


def test_every_field_of_a_link_can_be_given() -> None:
    for name, left_out in (("create", {"location_url", "url"}), ("update", set())):
        command = way.commands[name]
        given = {one.name for one in command.params if isinstance(one, click.Option)}
        assert set(get_type_hints(LinkFields)) - set(PAIRS) - left_out <= given | {"targeting_type"}
        assert {"targeting_type", "targets"} <= given


def test_targeting_pictures_and_passwords(run: Run, tmp_path: Path) -> None:
    (tmp_path / "card.png").write_bytes(picture())
    options = (
        "--targeting-type",
        "country_code",
        "--target",
        f"DE={HERE}/de",
        "--target",
        f"FR={HERE}/fr?a=b",
    )
    made = read_json(
        run(
            "create",
            HERE,
            *options,
            "--cloaking-opengraph",
            tmp_path / "card.png",
            "--password",
            "-",
            "--json",
            stdin="open sesame\n",
        )
    )
    assert made["settings"]["targeting_country_code"] == [
        {"key": "DE", "value": f"{HERE}/de"},
        {"key": "FR", "value": f"{HERE}/fr?a=b"},
    ]
    assert made["settings"]["password"] == "********"
    assert made["cloaking_opengraph"]
    assert f"{HERE}/de" in run("explain", made["id"], "--country-code", "DE", "--unlocked", "password").stdout
    cleared = read_json(run("update", made["id"], "--cloaking-opengraph", "", "--password", "", "--json"))
    assert (cleared["cloaking_opengraph"], cleared["settings"]["password"]) == (None, None)


WRONG = {
    "no destination": ("create",),
    "an unknown option": ("list", "--nothing"),
    "a password that others could see": ("create", HERE, "--password", "secret"),
    "no password on standard input": ("create", HERE, "--password", "-"),
    "a target without its type": ("create", HERE, "--target", f"DE={HERE}"),
    "a target that is no pair": ("create", HERE, "--targeting-type", "country_code", "--target", "DE"),
    "a picture that is not there": ("create", HERE, "--cloaking-favicon", "/no/such"),
    "nothing to change": ("update", "1"),
    "an unknown format": ("export", "links.txt"),
    "a picture of another kind": ("qr", "1", "code.pdf"),
}


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG)
def test_wrong_usage_ends_with_2(run: Run, arguments: tuple[str, ...], client: Client) -> None:
    if arguments[0] == "qr":
        arguments = ("qr", str(client.links.create(HERE).id), "code.pdf")
    assert run(*arguments, code=2).stderr


def test_what_the_server_refuses_ends_with_1_and_names_every_field(run: Run) -> None:
    done = run("create", "nowhere", "--clicks-limit", "-1", code=1)
    assert "location_url: " in done.stderr
    assert "clicks_limit: " in done.stderr
    assert done.stdout == ""


def test_the_audit_log(run: Run) -> None:
    found = read_json(run("audit", "--group", "keys", "--action", "api_key.created", "--json"))
    assert {entry["action"] for entry in found} == {"api_key.created"}
    assert "api_key" in run("audit", "--group", "keys").stdout


def test_statistics_and_codes(run: Run, tmp_path: Path) -> None:
    run("create", HERE, "counted")
    days = read_json(
        run("stats", "counted", "--start-date", "2026-01-01", "--end-date", "2026-01-03", "--json")
    )
    assert days[0] == {"formatted_date": "2026-01-01", "pageviews": 0, "visitors": 0}
    assert "2026-01-02" in run("stats", "--start-date", "2026-01-01", "--end-date", "2026-01-03").stdout
    run("stats", "counted", "--by", "country_code")
    assert "\u2588" in run("qr", "counted").stdout
    for name, start in (("code.svg", b"<svg"), ("code.png", b"\x89PNG")):
        run("qr", "counted", tmp_path / name, "--size", "256")
        assert (tmp_path / name).read_bytes().startswith(start)


def test_a_browser_is_opened(run: Run, monkeypatch: pytest.MonkeyPatch, waypost: Waypost) -> None:
    opened: list[str] = []

    def launch(url: str) -> int:
        opened.append(url)
        return 0

    monkeypatch.setattr(click, "launch", launch)
    run("create", HERE, "opened")
    run("open", "opened")
    run("open", "opened", "--destination")
    assert opened == [f"{waypost.url}/opened", HERE]


def test_the_other_resources(run: Run) -> None:
    pixel = read_json(run("pixels", "create", "social_a", "Shop", "1234567890123456", "--json"))
    run("pixels", "update", pixel["id"], "--name", "Blog")
    assert "Blog" in run("pixels", "list").stdout
    project = read_json(run("projects", "create", "Launch", "--color", "#0b7285", "--json"))
    assert "Launch" in run("projects", "show", project["id"]).stdout
    handler = read_json(
        run("handlers", "create", "webhook", "Mine", "--webhook", "http://127.0.0.1:9/hook", "--json")
    )
    assert read_json(run("handlers", "test", handler["id"], "--json", code=1))["status"] == "failed"
    assert "handler.test" in run("handlers", "deliveries", handler["id"]).stdout
    run("handlers", "renew-secret", handler["id"])
    domain = read_json(run("domains", "create", "way.example", "--json"))
    run("domains", "verify", domain["id"], code=1)
    for name, row in (("pixels", pixel), ("projects", project), ("handlers", handler), ("domains", domain)):
        run(name, "delete", row["id"], "--yes")
        run(name, "show", row["id"], code=1)


def test_a_list_is_cut_and_says_so(run: Run) -> None:
    for _ in range(3):
        run("create", HERE, "--tags", "cut")
    done = run("list", "--tag", "cut", "--limit", "2", "--json")
    assert len(read_json(done)) == 2
    assert "more than 2" in done.stderr
    assert len(read_json(run("list", "--tag", "cut", "--limit", "0", "--json"))) == 3


TABLE = f"""location_url,url,title,tags,targeting_type,targeting
{HERE}/1,row-one,One,"a, b",country_code,"[{{""key"": ""DE"", ""value"": ""{HERE}/de""}}]"
nowhere,row-two,Two,,,
{HERE}/3,row-three,'=three,,,
"""


def test_a_table_is_imported_row_by_row(run: Run, tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text(TABLE)
    done = run("import", tmp_path / "links.csv", "--json", code=1)
    found = read_json(done)
    assert [link["url"] for link in found["created"]] == ["row-one", "row-three"]
    assert (found["created"][0]["tags"], found["created"][1]["title"]) == (["a", "b"], "=three")
    assert found["created"][0]["settings"]["targeting_country_code"][0]["key"] == "DE"
    assert [(one["row"], one["errors"][0]["field"]) for one in found["failed"]] == [(2, "location_url")]
    again = run("import", tmp_path / "links.csv", code=1)
    assert "2 created, 1 failed." in again.stdout  # the same two, not two more
    assert "Row 2: location_url: " in again.stderr
    assert len(read_json(run("list", "--search", "row-", "--search-by", "url", "--json"))) == 2
    assert "3 failed" in run("import", tmp_path / "links.csv", "--again", code=1).stdout


@pytest.mark.parametrize("kind", ["csv", "json", "ndjson"])
def test_what_is_exported_is_imported_as_it_was(kind: str, run: Run, tmp_path: Path, client: Client) -> None:
    tag = f"moved-{kind}"
    pairs = ("--targeting-type", "device_type", "--target", f"mobile={HERE}/m")
    first = ("--title", '=1+1, "quoted"', "--tags", "a, b", "--sensitive-content", "--utm-source", "'s")
    run("create", HERE, f"{tag}-1", "--tags", tag, *first, *pairs)
    run("create", HERE, f"{tag}-2", "--tags", tag, "--no-is-enabled", "--http-status-code", "307",
        "--schedule", "--start-date", "2031-01-01 10:00:00")  # fmt: skip
    path = tmp_path / f"links.{kind}"
    run("export", path, "--tag", tag)
    before = [encode(link) for link in client.links.find(tag=tag)]
    run("delete", "--yes", f"{tag}-1", f"{tag}-2")
    run("import", path)
    after = [encode(link) for link in client.links.find(tag=tag)]
    for link in (*before, *after):
        for name in ("id", "datetime", "last_datetime"):
            del link[name]
    assert (len(after), after) == (2, before)


def test_an_export_to_standard_output(run: Run) -> None:
    run("create", HERE, "--tags", "piped")
    assert run("export", "--tag", "piped").stdout.startswith("id,short_url,")
    assert len(read_json(run("export", "--tag", "piped", "--json"))) == 1
    assert read_json(run("export", "--tag", "nothing has this", "--format", "json")) == []
    lines = run("export", "--tag", "piped", "--format", "ndjson").stdout.splitlines()
    assert json.loads(lines[0])["tags"] == ["piped"]


UNREADABLE = {
    "no CSV of links": (b"a,b\n1,2\n", "csv"),
    "more cells than headings": (b"location_url\na,b\n", "csv"),
    "no UTF-8": (b"location_url\n\xff\n", "csv"),
    "no JSON": (b"{", "json"),
    "no list": (b"{}", "json"),
    "deep": (b"[" * 100_000, "json"),
    "a line that is none": (b"{}\nx\n", "ndjson"),
}


@pytest.mark.parametrize(("content", "kind"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_is_none_ends_with_1(content: bytes, kind: str, run: Run) -> None:
    assert run("import", "-", "--format", kind, stdin=content, code=1).stderr.startswith("Error: ")


def test_rows_that_are_none_fail_alone(run: Run) -> None:
    rows = [1, {"location_url": HERE, "targeting_type": "rotation", "targeting": [1]}, {"location_url": HERE}]
    found = read_json(run("import", "-", "--format", "json", "--json", stdin=json.dumps(rows), code=1))
    assert ([one["row"] for one in found["failed"]], len(found["created"])) == ([1, 2], 1)


TEXTS = ("=1", "+1", "-1", "@a", "\t=1", "\u00a0=1", "\uff1d1", "\u22121", "'quoted", "\n=", "plain", "")


@pytest.mark.parametrize("text", TEXTS)
def test_a_cell_is_no_formula_and_comes_back(text: str) -> None:
    line = csv_line(("location_url",)) + csv_line((escaped(text) or "''",))
    assert next(iter(read_csv(line)))["location_url"] == (text or "'")
    assert escaped(text)[:1] not in set("=+-@\t\n")


def test_no_text_reaches_the_terminal_as_a_command(run: Run) -> None:
    assert as_cell("a\x1b[31mb\x9b1m\u202ec\r") == "a?[31mb?1m?c?"
    run("create", HERE, "marked", "--title", "[red]not red[/red]")
    assert "[red]not red[/red]" in run("show", "marked").stdout


def test_a_key_is_stored_for_its_owner_alone(
    waypost: Waypost, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.delenv("WAY_URL")
    monkeypatch.delenv("WAY_KEY")
    monkeypatch.setattr(profiles, "usable_keyring", lambda: None)
    assert "way login" in run("whoami", code=1).stderr
    assert "one@example.com" in run("login", f"{waypost.url}/", stdin=f"{waypost.key}\n").stdout
    run("login", waypost.url, "--profile", "reader", stdin=f"{waypost.reading_key}\n")
    path = profiles.profiles_file()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert read_json(run("whoami", "--json"))["email"] == "one@example.com"
    assert "read" in run("projects", "create", "None", "--profile", "reader", code=1).stderr
    assert [one["profile"] for one in read_json(run("profiles", "--json"))] == ["default", "reader"]
    run("logout", "--profile", "reader")
    run("logout", "--profile", "reader", code=1)
    assert waypost.reading_key not in path.read_text()
    path.chmod(0o644)
    assert "chmod 600" in run("whoami", code=1).stderr


def test_a_key_that_only_creates(waypost: Waypost, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.delenv("WAY_URL")
    monkeypatch.delenv("WAY_KEY")
    monkeypatch.setattr(profiles, "usable_keyring", lambda: None)
    assert "can only create" in run("login", waypost.url, stdin=f"{waypost.creating_key}\n").stdout
    assert run("create", HERE, "captured").stdout.strip() == f"{waypost.url}/captured"
    for refused in (("show", "captured"), ("whoami",), ("mcp",)):
        assert "can only create links" in run(*refused, code=1).stderr


def test_a_wrong_key_is_not_stored(waypost: Waypost, run: Run) -> None:
    run("login", waypost.url, stdin="wp_wrong\n", code=1)
    run("login", "go.example", stdin="wp_wrong\n", code=2)
    run("login", waypost.url, code=2)
    assert not profiles.profiles_file().exists()


def test_the_program_itself(waypost: Waypost) -> None:
    environ = {**os.environ, "WAY_URL": waypost.url, "WAY_KEY": waypost.key}
    command = [sys.executable, "-m", "waypost_client.cli", "whoami", "--json"]
    folder = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["email"] == "one@example.com"
    wrong = subprocess.run(
        command,
        env={**environ, "WAY_KEY": "wp_no"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "Traceback" not in wrong.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_for_a_shell(shell: str, run: Run) -> None:
    assert "_WAY_COMPLETE" in run("completion", shell).stdout


def test_the_program_has_all_commands() -> None:
    assert {module.__name__.rpartition(".")[2] for module in MODULES} == {
        "account",
        "events",
        "links",
        "mcp",
        "resources",
        "transfer",
        "workspace",
    }
    assert {"create", "import", "login", "pixels"} <= set(way.commands)


def test_completion_knows_commands_and_options() -> None:
    environ = {**os.environ, "_WAY_COMPLETE": "bash_complete", "COMP_WORDS": "way cre", "COMP_CWORD": "1"}
    program = "from waypost_client.cli.__main__ import main; main()"
    folder = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, cwd=folder, capture_output=True, text=True, check=False
    )
    assert "plain,create" in done.stdout
