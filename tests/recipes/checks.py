"""Looks for a new type in every part of the application: `python -m tests.recipes.checks NAME`.

Run in a copy of the tree in which a recipe was followed. Ends with a message where something is missing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from werkzeug.test import TestResponse

from app import create_app
from app.accounts.keys import create_key
from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.import_export.exporter import export
from app.web.application import redirect_context
from tests.clients import ApartClient, Api
from tests.users import create_user

EMAIL, PASSWORD = "recipes@example.com", "correct horse battery staple"
AGENT = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
)


class Instance:
    """The copy's application, with one user: the API, and the dashboard signed in."""

    def __init__(self) -> None:
        self.app = app = create_app()
        app.testing, app.test_client_class = True, ApartClient
        with app.app_context():
            user = create_user(EMAIL, PASSWORD)
            db.session.flush()
            self.api = Api(app.test_client(), create_key(access_of(user), "test", "write")[1])
            db.session.commit()
        self.visitors, self.browser = app.test_client(), app.test_client()
        is_(self.post("/login", email=EMAIL, password=PASSWORD).status_code, 303)

    def page(self, path: str) -> str:
        """A page of the dashboard."""
        answer = self.browser.get(path)
        is_(answer.status_code, 200)
        return answer.text

    def post(self, path: str, **typed: str) -> TestResponse:
        """Send a form of the dashboard, with the token of its page."""
        token = self.browser.get(path).text.split('name="csrf_token" value="')[1].split('"')[0]
        return self.browser.post(path, data={**typed, "csrf_token": token})

    def schema(self, name: str) -> dict[str, Any]:
        """A schema of the OpenAPI document."""
        found: dict[str, Any] = self.api.get("/openapi.json").json["components"]["schemas"][name]
        return found

    def visit(self, alias: str, **headers: str) -> TestResponse:
        return self.visitors.get(f"/{alias}", headers={"User-Agent": AGENT, **headers})


def is_(found: object, expected: object) -> None:
    if found != expected:
        sys.exit(f"{found!r} is not {expected!r}")


def holds(text: object, *parts: str) -> None:
    missing = [part for part in parts if part not in str(text)]
    if missing:
        sys.exit(f"{missing} is not in: {text}")


def check_provider(at: Instance) -> None:
    pixel = {"type": "viewers", "name": "Shop", "pixel": "VW-123456"}
    is_(at.api.post("/pixels", {**pixel, "type": "video_b"}).status_code, 422)
    is_(at.api.post("/pixels", pixel).status_code, 201)
    is_([row["type"] for row in at.api.get("/pixels?type=video_a").json["data"]], ["video_a"])
    holds(at.schema("PixelCreateForm")["properties"]["type"], "'video_a'")
    holds(
        at.page("/dashboard/pixels/new"),
        'value="video_a"',
        ">Viewers<",
        "VW- and six digits",
        "viewers.example/help",
    )
    holds(at.page("/dashboard/pixels/"), "Shop", "Viewers")
    link = {"url": "shop", "location_url": "https://example.com/", "pixels_ids[]": "1"}
    is_(at.api.post("/links", link).status_code, 201)
    page = at.visit("shop")
    holds(page.text, "https://count.viewers.example/view?id=VW-123456")


def check_resource(at: Instance) -> None:
    bad = at.api.post("/labels", {"name": ""})
    is_((bad.status_code, bad.json["errors"][0]["field"]), (422, "name"))
    is_(at.api.post("/labels", {"name": "Autumn"}).json["data"], {"id": 1})
    is_(at.api.post("/labels/1", {"name": "Winter"}).status_code, 200)
    is_([row["name"] for row in at.api.get("/labels?search=win").json["data"]], ["Winter"])
    holds(at.schema("LabelCreateForm")["properties"], "name")
    holds(at.api.get("/openapi.json").json["paths"], "/labels/{id}")
    holds(at.page("/dashboard/labels/"), "Winter", 'href="/dashboard/labels/"')
    holds(at.page("/dashboard/labels/new"), 'name="name"')
    is_(at.post("/dashboard/labels/new", name="Spring").status_code, 303)
    holds(at.page("/dashboard/labels/"), "Winter", "Spring")
    is_(at.api.delete("/labels/1").status_code, 204)
    is_(at.api.get("/labels/1").status_code, 404)


def check_handler_type(at: Instance, address: str) -> None:
    handler = {"type": "beeper", "name": "Ours", "pager_address": address}
    bad = at.api.post("/notification-handlers", {**handler, "pager_address": "nonsense"})
    is_((bad.status_code, bad.json["errors"][0]["field"]), (422, "pager_address"))
    is_(at.api.post("/notification-handlers", handler).status_code, 201)
    row = at.api.get("/notification-handlers?type=pager").json["data"][0]
    is_((row["type"], row["settings"]), ("pager", {"pager_address": address}))
    body = at.schema("NotificationHandlerCreateForm")["properties"]
    holds(body["type"], "'pager'")
    holds(body, "'pager_address'")
    sent = at.api.post(f"/notification-handlers/{row['id']}/test").json["data"]
    is_((sent["status"], sent["detail"]), ("delivered", "Delivered."))
    is_(at.api.get(f"/notification-handlers/{row['id']}/deliveries").json["meta"]["total"], 1)
    form = at.page("/dashboard/handlers/new")
    holds(
        form,
        'value="pager"',
        ">Pager<",
        'name="pager_address"',
        "Ask the pager&#39;s company for the address.",
    )
    holds(at.page("/dashboard/handlers/"), "Ours")


def check_setting(at: Instance) -> None:
    name, summary, there = "referrer_is_hidden", "Hides the referrer", "https://example.com/there"
    for alias, value in (("quiet", "1"), ("shown", "0")):
        sent = {"url": alias, "location_url": there, name: value}
        is_(at.api.post("/links", sent).status_code, 201)
    wrong = at.api.post("/links", {"location_url": there, name: "perhaps"})
    is_((wrong.status_code, wrong.json["errors"][0]["field"]), (422, name))
    rows = at.api.get("/links?order_by=link_id").json["data"]
    is_([(list(row)[-1], row[name]) for row in rows], [(name, True), (name, False)])
    is_(at.schema("Link")["properties"][name], {"type": "boolean"})
    for body in ("LinkCreate", "LinkCreateForm", "LinkUpdate", "LinkUpdateForm"):
        holds(at.schema(body)["properties"], name)
    holds(at.page("/dashboard/links/new"), f'name="{name}"')
    on, off = (at.page(f"/dashboard/links/{id_}").count(summary) for id_ in (1, 2))
    is_(on, off + 1)
    page = at.page("/dashboard/links/?rule=referrer")
    holds(page, "/quiet")
    is_("/shown" in page, False)
    check_tables(at, name)
    with at.app.app_context():
        compiled = [redirect_context().compiled_links.load(0, alias) for alias in ("quiet", "shown")]
    is_([getattr(one, name) for one in compiled], [True, False])
    hides = (b"Referrer-Policy", b"no-referrer")
    is_([hides in one.start["headers"] for one in compiled], [True, False])
    is_(at.post("/dashboard/links/2", location_url=there, **{name: "1"}).status_code, 303)
    is_(at.api.get("/links/2").json["data"][name], True)
    holds(at.page("/dashboard/links/2/history"), "Hide the referrer")


def check_tables(at: Instance, name: str) -> None:
    """The setting is in exports, and imports read it by its name and by its other headings."""
    with at.app.app_context():
        csv, json = ("".join(export(1, {}, kind, lambda alias, site: alias)) for kind in ("csv", "json"))
    holds(csv.splitlines()[0].split(","), name)
    holds(json, f'"{name}": true', f'"{name}": false')
    there = "https://example.com/there"
    tables = (f"url,location_url,{name}\na,{there},1\n", f"url,location_url,No Referrer\nb,{there},yes\n")
    for number, table in enumerate((csv.replace("quiet,", "again,", 1), *tables)):
        file = at.app.config["WAYPOST"].data_dir / f"{number}.csv"
        file.write_text(table)
        done = at.app.test_cli_runner().invoke(args=["import", str(file), "--email", EMAIL])
        is_((done.exit_code, done.output if done.exit_code else ""), (0, ""))
    rows = at.api.get("/links?order_by=link_id").json["data"]
    is_([row[name] for row in rows], [True, False, True, True, True])
    for row in rows[2:]:
        is_(at.api.delete(f"/links/{row['id']}").status_code, 204)


def check_targeting_type(at: Instance) -> None:
    name = "primary_language"
    link = {"url": "words", "location_url": "https://example.com/", "targeting_type": name}
    pairs = {f"targeting_{name}_key[]": "PT", f"targeting_{name}_value[]": "https://example.com/pt"}
    wrong = at.api.post("/links", {**link, **pairs, f"targeting_{name}_key[]": "1"})
    is_((wrong.status_code, wrong.json["errors"][0]["field"]), (422, f"targeting_{name}_key[0]"))
    is_(at.api.post("/links", {**link, **pairs}).status_code, 201)
    row = at.api.get("/links/1").json["data"]
    is_(row["settings"][f"targeting_{name}"], [{"key": "pt", "value": "https://example.com/pt"}])
    holds(at.schema("Link")["properties"]["settings"]["properties"], f"targeting_{name}")
    holds(at.schema("LinkCreateForm")["properties"], f"targeting_{name}_key")
    page = at.page("/dashboard/links/1")
    holds(page, f'data-for="targeting_type {name}"', "First language", 'placeholder="pt"', "ranks first")
    for spoken, there in (("pt-BR, de", "https://example.com/pt"), ("de, pt", "https://example.com/")):
        seen = at.api.get(f"/links/1/explain?accept_language={spoken.replace(' ', '')}").json["data"]
        is_(seen["location"], there)


def check_language(at: Instance) -> None:
    page = at.visitors.get("/nothing-here", headers={"Accept-Language": "nl-BE,en;q=0.5"})
    is_(page.status_code, 404)
    holds(page.text, 'lang="nl"', "Deze link bestaat niet")
    # for visitors only: owners can't choose it
    assert 'value="nl"' not in at.page("/dashboard/account/")


CHECKS: dict[str, Callable[..., None]] = {
    "language": check_language,
    "provider": check_provider,
    "resource": check_resource,
    "handler type": check_handler_type,
    "setting": check_setting,
    "targeting type": check_targeting_type,
}

if __name__ == "__main__":
    _, name, *arguments = sys.argv
    CHECKS[name](Instance(), *arguments)
