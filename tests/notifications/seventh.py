"""Is one more file in the folder of transports known everywhere? Run as a program, on a copy that has one."""

from __future__ import annotations

import sys

from app import create_app
from app.accounts.keys import create_key
from app.accounts.services import create_user
from app.extensions import db
from tests.clients import ApartClient, Api


def is_(found: object, expected: object) -> None:
    if found != expected:
        sys.exit(f"{found!r} is not {expected!r}")


if __name__ == "__main__":
    address = sys.argv[1]
    app = create_app()
    app.testing, app.test_client_class = True, ApartClient
    with app.app_context():
        user = create_user("wall@example.com", "correct horse battery staple")
        db.session.flush()
        api = Api(app.test_client(), create_key(user, "test", "write")[1])
        db.session.commit()

    # validated
    bad = api.post("/notification-handlers", {"type": "wall", "name": "Ours", "wall_address": "nonsense"})
    is_((bad.status_code, bad.json["errors"][0]["field"]), (422, "wall_address"))
    # created by either name, shown, listed
    made = api.post("/notification-handlers", {"type": "mural", "name": "Ours", "wall_address": address})
    is_(made.status_code, 201)
    row = api.get("/notification-handlers?type=wall").json["data"][0]
    is_((row["type"], row["settings"]), ("wall", {"wall_address": address}))
    # delivered to, and written down
    told = api.post(f"/notification-handlers/{row['id']}/test").json["data"]
    is_((told["status"], told["detail"]), ("delivered", "Delivered."))
    is_(api.get(f"/notification-handlers/{row['id']}/deliveries").json["meta"]["total"], 1)
    # picked, filled in and read about in the dashboard
    browser = app.test_client()
    page = browser.get("/login").text
    token = page.split('name="csrf_token" value="')[1].split('"')[0]
    typed = {"email": "wall@example.com", "password": "correct horse battery staple", "csrf_token": token}
    is_(browser.post("/login", data=typed).status_code, 303)
    form = browser.get("/dashboard/handlers/new").text
    for words in (
        'value="wall"',
        ">Wall<",
        'name="wall_address"',
        "Stand before it and read its number.",
        "Find a wall.",
    ):
        is_(words in form, True)
    is_("Ours" in browser.get("/dashboard/handlers/").text, True)
