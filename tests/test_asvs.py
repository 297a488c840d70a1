"""ASVS 5.0 level 1: the table of docs/security is complete and true; plus checks that no other test makes."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest
import time_machine
from flask.testing import FlaskClient
from itsdangerous import Signer

from app.accounts.models import User, UserSession
from app.accounts.passwords import MIN_LENGTH, find_weakness
from app.accounts.sessions import SEEN_EVERY
from app.core.clock import now
from app.core.folders import ROOT
from app.dashboard.auth.reauthentication import RECENT
from app.dashboard.auth.sessions import SchemeSessions
from tests.accounts.test_sign_in import is_signed_in
from tests.clients import Api
from tests.dashboard.conftest import Desk, desk
from tests.factories import PASSWORD

__all__ = ["desk"]

TABLE = (ROOT / "docs" / "security" / "asvs-5.0-level-1.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TABLE.splitlines()
    if re.match(r"\| V\d", line)
]
STATUSES = ("met", "not met", "not applicable")
# number of requirements of level 1 in each chapter of 5.0.0
CHAPTERS = {1: 8, 2: 4, 3: 8, 4: 2, 5: 4, 6: 13, 7: 6, 8: 4, 9: 4, 10: 5, 11: 3, 12: 3, 13: 1, 14: 2, 15: 3}
MODULES = [path for path in sorted(ROOT.glob("app/**/*.py")) if "versions" not in path.parts]


# ------------------------------------------------------------- the table


def test_every_requirement_is_in_it_once() -> None:
    numbers = [row[0] for row in ROWS]
    assert len(numbers) == len(set(numbers)) == 70
    chapters = [int(number[1:].split(".")[0]) for number in numbers]
    assert {chapter: chapters.count(chapter) for chapter in chapters} == CHAPTERS


def test_the_sum_is_right() -> None:
    met, not_met, other = ([row[2] for row in ROWS].count(status) for status in STATUSES)
    assert met + not_met + other == len(ROWS)
    said = f"**{met} of {met + not_met} met**, {not_met} not met, {other} not applicable"
    assert said in TABLE
    for row in ROWS:
        assert row[2] != "met" or (row[3] != "–" and row[4] != "–"), row


def test_what_is_named_is_there() -> None:
    named = [each for row in ROWS for each in re.findall(r"`([^`]+)`", " ".join(row[3:]))]
    assert len(named) > 150
    for each in named:
        path, _, test = each.partition("::")
        assert (ROOT / path).exists(), each
        assert not test or re.search(rf"def {test}\b", (ROOT / path).read_text()), each


# ------------------------------------------------------------- the code


DANGEROUS_CALLS = {"eval", "exec", "os.system", "os.popen", "hashlib.md5", "hashlib.sha1", "modes.ECB"}
DANGEROUS_MODULES = {"pickle", "marshal", "shelve", "xml", "lxml", "yaml", "Crypto"}
# the only modules where one is allowed, and why
SHA_1 = {"app/accounts/second_factor.py": "RFC 6238"}
XML = {
    "app/net/s3.py": "bounded answers of the operator's own bucket, none with a document type",
    "app/net/s3_uploads.py": "what is sent to it",
}


def test_no_dangerous_call_is_made() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            allowed = {"xml"} if path.relative_to(ROOT).as_posix() in XML else set()
            assert dangers(node) <= allowed, f"{path}:{getattr(node, 'lineno', 0)} {dangers(node)}"
            if isinstance(node, ast.ImportFrom) and {"SHA1", "MD5"} & {alias.name for alias in node.names}:
                assert path.relative_to(ROOT).as_posix() in SHA_1


def dangers(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Call):
        shell = {f"{word.arg}=True" for word in node.keywords if word.arg == "shell"}
        return shell | (DANGEROUS_CALLS & {ast.unparse(node.func)})
    if isinstance(node, ast.Import):
        return DANGEROUS_MODULES & {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return DANGEROUS_MODULES & {(node.module or "").partition(".")[0]}
    return set()


def test_own_scripts_write_text_as_text() -> None:
    """htmx swaps in markup that the server has escaped. No script of ours turns text into markup."""
    scripts = [*ROOT.glob("app/static/*.js"), *ROOT.glob("app/public/*.js")]
    assert len(scripts) > 5
    markup = re.compile(r"(innerHTML|outerHTML)\s*\+?=(?!=)|insertAdjacentHTML|document\.write|\beval\(")
    assert not [path for path in scripts if markup.search(path.read_text())]


def test_tokens_are_signed_with_sha_256() -> None:
    signed = {len(Signer("key", salt="x").get_signature("text")), len(Signer("key").get_signature(b""))}
    assert signed == {43}  # 32 bytes in base64
    assert SchemeSessions.digest_method(b"").digest_size == 32


def test_the_proxy_takes_no_old_tls() -> None:
    """Caddy takes TLS 1.2 and 1.3 by default, redirects from http, and fetches certificates."""
    nginx, caddy = ((ROOT / "deploy" / name).read_text() for name in ("nginx.conf", "Caddyfile"))
    assert re.findall(r"ssl_protocols ([^;]+);", nginx) == ["TLSv1.2 TLSv1.3"]
    assert "return 301 https://" in nginx
    assert not re.search(r"protocols|auto_https|^\s*http://", caddy, re.MULTILINE)


# ------------------------------------------------------------- answers

PATHS = [
    *("/login", "/dashboard/", "/api/links", "/api/openapi.json", "/api/nothing", "/robots.txt", "/healthz"),
    *("/nothing", "/favicon.ico", "/static/icon.svg", "/static/app.js", "/static/app.css", "/plain+"),
]
TEXTS = re.compile(r"text/|application/javascript|.*\+xml|application/xml")


@pytest.fixture
def answers(client: FlaskClient, api: Api, desk: Desk, alice: User, make_link: Any) -> dict[str, Any]:
    link = make_link(alice, "plain")
    headers = {"Origin": "https://evil.example"}
    api_paths = [f"/links/{link.id}", f"/links/{link.id}/qr?format=svg", "/statistics?format=csv"]
    own_paths = ["/", "/links/export.csv", "/audit/export.ndjson", "/audit/"]
    return {
        **{path: client.get(path, headers=headers) for path in PATHS},
        **{f"/api{path}": api.get(path, headers=headers) for path in api_paths},
        **{f"/dashboard{path}": desk.get(path, headers=headers) for path in own_paths},
    }


def test_every_body_names_its_type(answers: dict[str, Any]) -> None:
    for path, answer in answers.items():
        kind = answer.headers.get("Content-Type", "")
        assert kind or not answer.data, path
        assert not TEXTS.match(kind) or "charset=utf-8" in kind.lower(), (path, kind)


def test_no_other_origin_may_read_an_answer(answers: dict[str, Any], client: FlaskClient) -> None:
    asked = client.options("/api/links", headers={"Origin": "https://evil.example"})
    for path, answer in {**answers, "OPTIONS": asked}.items():
        assert not [name for name, _ in answer.headers if name.startswith("Access-Control-")], path


def test_nothing_of_a_checkout_is_served(client: FlaskClient) -> None:
    for path in ("/.git/config", "/.git/HEAD", "/.env", "/static/../.git/config", "/static/%2e%2e/.git/HEAD"):
        assert client.get(path).status_code == 404
    assert "`.git`" in (ROOT / "docs/install.md").read_text()


# ------------------------------------------------------------- passwords and sessions


def test_password_fields_hide_and_take_pasted_text(client: FlaskClient, desk: Desk) -> None:
    pages = client.application.test_client().get("/login").text + desk.get("/account/").text
    fields = re.findall(r"<input[^>]*name=\"[a-z_]*password\"[^>]*>", pages)
    assert len(fields) >= 3
    for field in fields:
        assert 'type="password"' in field
        assert re.search(r'autocomplete="(current|new)-password"', field)
        assert "onpaste" not in field
    scripts = "".join(path.read_text() for path in ROOT.glob("app/static/*.js"))
    for handler in re.findall(r'addEventListener\("paste".*?\n\}\);', scripts, re.DOTALL):
        assert "password" not in handler


def test_a_session_has_256_random_bits(desk: Desk, client: FlaskClient) -> None:
    with client.session_transaction() as session:
        assert len(session["_user_id"]) == 43  # 32 bytes in base64


def test_the_password_again_makes_a_new_token(
    desk: Desk, client: FlaskClient, session: Any, alice: User
) -> None:
    """A copy of the earlier cookie is void; the session itself goes on."""
    before = client.get_cookie("waypost")
    assert before is not None
    with time_machine.travel(now() + RECENT):
        answer = desk.post("/keys/new", {"name": "new", "scope": "read", "own_password": PASSWORD})
        assert answer.status_code in {200, 201}
        assert is_signed_in(client)
        after = client.get_cookie("waypost")
        assert after is not None and after.value != before.value
        thief = client.application.test_client()
        thief.set_cookie("waypost", before.value)
        assert not is_signed_in(thief)
        thief.set_cookie("waypost", after.value)
        assert is_signed_in(thief)
    assert session.query(UserSession).count() == 1


def test_an_answer_that_was_late_puts_no_old_cookie_back(desk: Desk, client: FlaskClient) -> None:
    """An answer of a kept session sets its cookie only if it changed something, or once in some minutes."""
    with client.session_transaction() as session:
        session.permanent = True
    desk.get("/links/")
    assert "Set-Cookie" not in desk.get("/links/").headers
    with time_machine.travel(now() + SEEN_EVERY):
        assert "Expires" in desk.get("/links/").headers["Set-Cookie"]


def test_the_shortest_password_has_eight_characters() -> None:
    assert MIN_LENGTH == 8
    assert find_weakness("q7Zk2mB") is not None
    assert find_weakness("q7Zk2mBx") is None


def test_no_account_has_a_hint() -> None:
    words = re.compile(r"hint|question|answer|maiden")
    assert not [column.name for column in User.__table__.columns if words.search(column.name)]
