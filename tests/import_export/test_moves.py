"""Every setting of a link arrives in another instance: two real servers, compared through the API.

Which fields there are comes from the OpenAPI document: one that is added fails here until it moves, too.
"""

from __future__ import annotations

import html
import io
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import requests
from PIL import Image

from app.links.history import PICTURES
from tests.server import Server, wait_for

EMAIL, PASSWORD, SECONDS = "owner@example.com", "five small boats go upriver", 90
HOST, TO, LOCK = "brand.example", "https://example.com/ä?x=1,2", "open sesame"
# what can't be equal by nature: the new instance numbers its rows, and the account there has a number, too. Short
# links on the instance's own address begin with that (`link` compares the rest), and pictures have a new random
# name (`pixels_of` compares what they show). A domain must be verified by whoever moves, so it is there before
APART = {"id", "workspace_id", "user_id"}
# always the same, whatever is sent
CONSTANT = {"type", "order"}
KEYS = {
    "continent_code": "EU", "country_code": "DE", "city_name": "Berlin, DE", "device_type": "mobile",
    "browser_language": "pt-BR", "rotation": "50", "os_name": "iOS", "browser_name": "Firefox",
}  # fmt: skip
FULL: dict[str, Any] = {
    "url": "spring/Full", "location_url": TO, "title": '=HYPERLINK("x")', "notes": 'two\nlines, "quoted"',
    "tags[0]": "a, b", "tags[1]": "+c", "tags[2]": "d|e", "schedule": "1", "start_date": "2090-01-02 03:04:05",
    "end_date": "2091-01-02 03:04:05", "clicks_limit": "777", "clicks_limit_confirmation_is_enabled": "1", "expiration_url": "https://example.com/over",
    "sensitive_content": "1", "http_status_code": "301", "app_linking_is_enabled": "1",
    "cloaking_is_enabled": "1", "cloaking_title": "-t", "cloaking_meta_description": "\u200b＝1",
    "cloaking_custom_js": "alert('1')", "forward_query_parameters_is_enabled": "1", "utm_source": "'s",
    "utm_medium": "m", "utm_campaign": "@u", "password": LOCK,
}  # fmt: skip
HANDLERS = (
    {"type": "webhook", "name": "shop", "webhook": "https://hooks.example/a"},
    {"type": "email", "name": "me", "email": "me@example.com"},
    {"type": "webhook", "name": "shop", "webhook": "https://hooks.example/b"},  # another of the same name
    {"type": "chat_c", "name": "team", "chat_c": "123:abc", "chat_c_chat_id": "-100"},
    {
        "type": "ntfy",
        "name": "phone",
        "ntfy": "https://ntfy.example",
        "ntfy_topic": "t",
        "ntfy_token": "tk_1",
    },
    {
        "type": "webhook",
        "name": "own body",
        "webhook": "https://hooks.example/c",
        "webhook_template": '{\n  "text": "{{ event.title }}"\n}',
    },
)
TWINS = [{"type": "social_a", "pixel": "7701", "name": name} for name in ("One", "Two")]


def picture(color: tuple[int, int, int], size: tuple[int, int]) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, color).save(out, "PNG")
    return out.getvalue()


class Instance:
    """A server with one account, its API, and a signed-in browser."""

    def __init__(self, directory: Path) -> None:
        self.server = Server(directory)
        self.server.flask("users", "create", "--email", EMAIL, "--password-stdin", stdin=f"{PASSWORD}\n")
        self.key = self.server.flask("keys", "create", "--email", EMAIL, "--name", "test").strip()
        self.run(
            "INSERT INTO domain (workspace_id, user_id, host, scheme, is_enabled, is_verified, token, datetime)"
            " VALUES (1, 1, ?, 'https://', 1, 1, 't', '2026-01-01 00:00:00.000000')",
            HOST,
        )
        self.server.start()
        self.browser = requests.Session()
        self.browser.trust_env = False

    def run(self, sql: str, *values: object) -> list[Any]:
        with closing(sqlite3.connect(self.server.data_dir / "main.db")) as database, database:
            return database.execute(sql, values).fetchall()

    def call(self, method: str, path: str, **sent: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.key}"}
        answer = requests.request(
            method, f"{self.server.url}/api{path}", headers=headers, timeout=SECONDS, **sent
        )
        assert answer.status_code in {200, 201}, answer.text
        return answer.json()

    def make(self, path: str, fields: dict[str, Any], files: dict[str, bytes] | None = None) -> int:
        return int(self.call("POST", path, data=fields, files=files or None)["data"]["id"])

    def rows(self, path: str) -> dict[int, dict[str, Any]]:
        return {row["id"]: row for row in self.call("GET", f"{path}?results_per_page=1000")["data"]}

    def page(self, path: str, fields: dict[str, str] | None = None, **sent: Any) -> requests.Response:
        """A page of the dashboard; with fields or a file, a form that is sent from it."""
        url = f"{self.server.url}{path}"
        if fields is None and not sent:
            return self.browser.get(url, timeout=SECONDS)
        data = {"csrf_token": self.browser.headers.get("X-CSRFToken"), **(fields or {})}
        headers = {"Origin": self.server.url}
        return self.browser.post(url, data=data, headers=headers, timeout=SECONDS, **sent)

    def sign_in(self) -> None:
        for path, fields in (
            ("/login", {"email": EMAIL, "password": PASSWORD}),
            ("/dashboard/imports/", None),
        ):
            found = re.search(r'name="csrf_token" value="([^"]+)"', self.page(path).text)
            assert found, path
            self.browser.headers["X-CSRFToken"] = found[1]
            if fields:
                assert self.page(path, fields).ok

    # --- what leaves, and what comes

    def export(self, kind: str) -> bytes:
        if kind != "zip":
            return self.server.flask("export", "--email", EMAIL, "--format", kind).encode()
        self.sign_in()
        assert self.page("/dashboard/account/data", {}).ok

        def file() -> bytes:
            answer = self.page("/dashboard/account/data/file")
            return answer.content if answer.headers["Content-Type"] == "application/zip" else b""

        return wait_for(file, "the file of everything")

    def take_by_command(self, path: Path) -> None:
        self.server.flask("import", str(path), "--email", EMAIL)

    def take_by_dashboard(self, path: Path) -> None:
        """With the guessed columns, and a check of every row first."""
        self.sign_in()
        with path.open("rb") as file:
            answer = self.page("/dashboard/imports/", files={"file": (path.name, file)})
        address = answer.url.removeprefix(self.server.url)
        selects = re.findall(r'<select[^>]* name="(column:[^"]*)">(.*?)</select>', answer.text, re.DOTALL)
        chosen = {
            html.unescape(name): found[1]
            for name, options in selects
            if (found := re.search(r'<option value="(\w+)" selected', options))
        }
        assert self.page(f"{address}/check", chosen).ok
        wait_for(lambda: "Waits for you" in self.page(address).text, "a check of all rows")
        assert self.page(f"{address}/take", {}).ok
        wait_for(lambda: "Done" in self.page(address).text, "the links")
        assert "<span>Wrong</span> <b>0</b>" in self.page(address).text

    # --- what there is

    def described(self) -> dict[str, dict[str, Any]]:
        """Each link by its alias, with what its ids stand for."""
        beside = {
            path: self.rows(path) for path in ("/projects", "/domains", "/pixels", "/notification-handlers")
        }
        return {row["url"]: self.link(row, *beside.values()) for row in self.rows("/links").values()}

    def link(
        self, row: dict[str, Any], projects: Any, domains: Any, pixels: Any, handlers: Any
    ) -> dict[str, Any]:
        found = {name: value for name, value in row.items() if name not in APART}
        found["project_id"] = [projects[row["project_id"]][name] for name in ("name", "color")] if row["project_id"] else None  # fmt: skip
        found["domain_id"] = domains[row["domain_id"]]["host"] if row["domain_id"] else None
        found["pixels_ids"] = sorted(
            [pixels[id_][name] for name in ("type", "pixel", "name")] for id_ in row["pixels_ids"]
        )
        named = [handlers[id_] for id_ in row["email_reports"]]
        found["email_reports"] = sorted(
            (one["type"], one["name"], one["is_enabled"], sorted(one["settings"].items())) for one in named
        )
        found |= {name: self.pixels_of(row[name]) for name in PICTURES}
        if not row["domain_id"]:
            found["short_url"] = row["short_url"].removeprefix(self.server.url)
        stored = "SELECT password_hash, password_version FROM link WHERE id = ?"
        return {**found, "password": self.run(stored, row["id"])[0]}

    def pixels_of(self, url: str | None) -> tuple[tuple[int, int], bytes] | None:
        """Size and pixels of a picture as it is served."""
        if url is None:
            return None
        path = url[url.index("/media/") :]
        with Image.open(io.BytesIO(requests.get(self.server.url + path, timeout=SECONDS).content)) as found:
            return found.size, found.convert("RGB").tobytes()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    found = Instance(tmp_path_factory.mktemp("source") / "data")
    try:
        fill(found)
        yield found
    finally:
        found.server.stop()


def fill(found: Instance) -> None:
    """Links with everything set, one for each targeting type, and others with hardly anything."""
    ids = {
        "project_id": found.make("/projects", {"name": "Spring", "color": "#123456"}),
        "domain_id": 1,
        "pixels_ids": [found.make("/pixels", twin) for twin in TWINS],
        "email_reports": [found.make("/notification-handlers", handler) for handler in HANDLERS],
    }
    files = {
        "cloaking_favicon": ("i.png", picture((200, 10, 10), (32, 32))),
        "cloaking_opengraph": ("c.png", picture((10, 200, 10), (640, 360))),
    }
    for type_, key in KEYS.items():
        targeting = {
            "targeting_type": type_,
            f"targeting_{type_}_key[0]": key,
            f"targeting_{type_}_value[0]": "https://example.com/de",
        }
        fields = {**FULL, **ids, **targeting, "url": f"{FULL['url']}-{type_}"}
        link = found.make("/links", fields, files)
        found.call("POST", f"/links/{link}", data={"title": FULL["title"] + type_, "is_enabled": "0"})
        found.run("INSERT INTO limit_counter (link_id, clicks) VALUES (?, 41)", link)
    one_twin = {"url": "twin", "location_url": TO, "pixels_ids": ids["pixels_ids"][1]}
    found.make("/links", one_twin)
    found.make("/links", {"url": "second-shop", "location_url": TO, "email_reports": ids["email_reports"][2]})
    found.call("POST", f"/notification-handlers/{ids['email_reports'][3]}", data={"is_enabled": "0"})
    found.make("/links", {"url": "closed", "location_url": TO, "password": LOCK})
    found.make("/links", {"url": "plain", "location_url": TO})


def fields_of(instance: Instance) -> tuple[set[str], set[str]]:
    """The fields of a link, and those of its settings, as the API's own description has them."""
    schema = instance.call("GET", "/openapi.json")["components"]["schemas"]["Link"]["properties"]
    return set(schema), set(schema["settings"]["properties"])


def test_everything_is_set(source: Instance) -> None:
    """So that the test below compares something: a field that is added must be set above."""
    fields, settings = fields_of(source)
    full = [link for link in source.described().values() if link["url"].startswith(FULL["url"])]
    assert len(full) == len(KEYS)
    nothing = (None, "", [], 0)
    for name in fields - APART - CONSTANT - {"settings", "is_enabled"}:
        assert [link[name] for link in full if link[name] in nothing] == [], name
    assert {link["is_enabled"] for link in full} == {False}
    assert set().union(*(link["settings"] for link in full)) == settings
    for link in full:
        assert [name for name, value in link["settings"].items() if value in nothing] == []


WAYS: dict[str, tuple[str, Callable[[Instance, Path], None]]] = {
    "JSON": ("json", Instance.take_by_command),
    "JSON, by the dashboard": ("json", Instance.take_by_dashboard),
    "ZIP": ("zip", Instance.take_by_command),
    "ZIP, by the dashboard": ("zip", Instance.take_by_dashboard),
    "CSV": ("csv", Instance.take_by_command),
}


@pytest.mark.full
@pytest.mark.parametrize(("kind", "take"), WAYS.values(), ids=WAYS)
def test_every_setting_arrives_in_another_instance(
    source: Instance, tmp_path: Path, kind: str, take: Callable[[Instance, Path], None]
) -> None:
    path = tmp_path / f"links.{kind}"
    path.write_bytes(source.export(kind))
    target = Instance(tmp_path / "data")
    try:
        if kind == "csv":  # it can't hold the secrets of handlers
            for handler in HANDLERS:
                target.make("/notification-handlers", handler)
            target.make("/projects", {"name": "Spring", "color": "#123456"})
        take(target, path)
        before, after = source.described(), target.described()
        assert set(before) == set(after)
        different = {
            (url if not url.startswith(FULL["url"]) else "full", name)
            for url, link in before.items()
            for name in link
            if after[url][name] != link[name]
        }
        assert different == NOT_HELD[kind]
        assert len(target.rows("/pixels")) == len(TWINS)
        assert len(target.rows("/notification-handlers")) == len(HANDLERS)
    finally:
        target.server.stop()


# what CSV does not hold, and its import says of each link: pictures; the settings of handlers, of which those that
# are there are taken by type and name; and passwords, so links that had one come in switched off
NOT_HELD: dict[str, set[tuple[str, str]]] = {
    "zip": set(),
    "json": set(),
    "csv": {("full", name) for name in (*PICTURES, "email_reports")}
    | {("second-shop", "email_reports")}
    | {(link, name) for link in ("full", "closed") for name in ("settings", "password")}
    | {("closed", "is_enabled")},
}
