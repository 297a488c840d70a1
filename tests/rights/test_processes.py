"""A member's role on a real server: every web process asks for it at each request, for keys and for sessions."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
import requests

from tests.crowds import Owner
from tests.server import SECONDS, Server

EMAIL, PASSWORD = "bob@example.com", "six small boats go downriver"
OFTEN = 24  # new connections, which go to different processes


class Member:
    """An editor of the owner's workspace, who has a key there and is signed in."""

    def __init__(self, server: Server) -> None:
        self.url = server.url
        email = ("--email", EMAIL)
        server.flask("users", "create", *email, "--password-stdin", stdin=f"{PASSWORD}\n")
        self.key = server.flask("keys", "create", *email, "--name", "test", "--members").strip()
        with closing(sqlite3.connect(server.data_dir / "main.db", timeout=60)) as database, database:
            joins = (
                "INSERT INTO workspace_member (workspace_id, user_id, role, datetime)"
                " SELECT 1, id, 'editor', datetime FROM user WHERE email = ? RETURNING id"
            )
            (self.id,) = database.execute(joins, (EMAIL,)).fetchone()
            database.execute("UPDATE api_key SET workspace_id = 1 WHERE user_id != 1")
        self.cookies = self.sign_in()

    def sign_in(self) -> dict[str, str]:
        with requests.Session() as browser:
            browser.trust_env = False
            page = browser.get(f"{self.url}/login", timeout=SECONDS).text
            token = re.search(r'name="csrf_token" value="([^"]+)"', page)
            assert token
            sent = {"csrf_token": token[1], "email": EMAIL, "password": PASSWORD}
            assert browser.post(f"{self.url}/login", data=sent, timeout=SECONDS).status_code == 200
            return dict(browser.cookies)

    def statuses(self, method: str, path: str) -> set[int]:
        """What new connections get."""
        found = set()
        for _ in range(OFTEN):
            with requests.Session() as connection:
                connection.trust_env = False
                is_api = path.startswith("/api/")
                found.add(
                    connection.request(
                        method,
                        f"{self.url}{path}",
                        data={"name": "x", "color": "#000000"} if method == "POST" else None,
                        headers={"Connection": "close"}
                        | ({"Authorization": f"Bearer {self.key}"} if is_api else {}),
                        cookies=None if is_api else self.cookies,
                        allow_redirects=False,
                        timeout=SECONDS,
                    ).status_code
                )
        return found


@pytest.mark.full
def test_demotion_and_removal_bite_in_every_process(make_server: Callable[..., Server]) -> None:
    server = make_server(PROCESSES="2", API_RATE_LIMIT="0")
    owner = Owner(server)
    member = Member(server)
    membership = f"{owner.site}/workspace/members/{member.id}"
    assert member.statuses("GET", "/api/links") == {200}
    assert member.statuses("POST", "/api/projects") == {201}
    assert member.statuses("GET", "/dashboard/w/1/projects/new") == {200}

    answer = owner.session.post(membership, json={"role": "viewer"}, timeout=SECONDS)
    assert answer.status_code == 200, answer.text
    assert member.statuses("POST", "/api/projects") == {403}
    assert member.statuses("GET", "/api/links") == {200}
    assert member.statuses("GET", "/dashboard/w/1/projects/new") == {403}
    assert member.statuses("GET", "/dashboard/w/1/links/") == {200}

    assert owner.session.delete(membership, timeout=SECONDS).status_code == 204
    assert member.statuses("GET", "/api/links") == {401}
    assert member.statuses("GET", "/dashboard/w/1/links/") == {404}
