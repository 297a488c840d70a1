"""What is pushed of a hundred thousand clicks: no address, no user agent and no hash of a visitor."""

# ruff: noqa: F811  imported fixtures are named as arguments
from __future__ import annotations

import html
import json
import re
import sqlite3
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote_plus

import pytest
from flask.testing import FlaskClient
from sqlalchemy import update
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.core.config import Settings
from app.events.push import handlers
from app.journal.codec import Visit
from app.notifications.models import NotificationHandler
from app.notifications.sender import Sender
from app.redirects.wsgi import Front
from tests.clients import Api
from tests.dashboard.conftest import Desk
from tests.events.conftest import Feed
from tests.events.push.conftest import Push
from tests.notifications.conftest import mail, mail_receiver, web, web_receiver  # noqa: F401  fixtures
from tests.notifications.sending import send_all
from tests.notifications.test_transports import TYPES, filled, sink  # noqa: F401  fixtures
from tests.redirects.conftest import front, person, redirect_context, visits  # noqa: F401  fixtures

pytestmark = pytest.mark.settings(BASE_URL="https://go.example", ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")

MARK = "Xyzzy4711"  # in every agent, and no part of a browser's or a bot's name
AGENTS = (
    f"Mozilla/5.0 (X11; Linux x86_64) {MARK}/1.0 Chrome/130.0.0.0 Safari/537.36",
    f"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) {MARK} Mobile Safari/604.1",
    f"Mozilla/5.0 (compatible; Googlebot/2.1; {MARK})",
)
NETWORKS = "100.64.", "2001:db8:"  # every visitor has an address of its own in one of them
# each visitor's hash is a word of 11 such characters
WORD = re.compile(r"(?<![\w-])[\w-]{11}(?![\w-])")
TEMPLATE = '{"data": {{ event.data }}, "message": "{{ event.message }}"}'
PROGRAMS = frozenset({"/webhook", "/subscription", "/bots/webhook"})
EVERY = {"countries": None, "is_bot": False, "every": 1, "first": False}


def come(front: Front, number: int, paths: Collection[str]) -> None:
    """Opens links from so many addresses, as a server hands requests to the front."""
    usual = {
        "REQUEST_METHOD": "GET",
        "wsgi.url_scheme": "https",
        "QUERY_STRING": "utm_source=letter",
        "HTTP_HOST": "go.example",
        "HTTP_REFERER": "https://news.example/story?secret=1",
    }
    for one in range(number):
        address = IPv6Address((0x20010DB8 << 96) + one) if one % 2 else IPv4Address(0x64400000 + one)
        told = {"REMOTE_ADDR": str(address), "HTTP_USER_AGENT": AGENTS[one % 20 % len(AGENTS)]}
        for path in paths:
            assert front.answer_from_memory({**usual, **told, "PATH_INFO": path}), path


def readable(sink: SimpleNamespace) -> str:
    """All that has arrived, in each way in which it could be encoded; JSON for programs as it is."""
    mails = [str(part.get_content()) for _, mail in sink.mail.mails for part in mail.walk() if is_text(part)]
    raw = "\n".join([*(body for path, body in bodies(sink) if path not in PROGRAMS), *mails])
    plain = re.sub("[\u2060\\\\]", "", raw)
    said = [body for path, body in bodies(sink) if path in PROGRAMS]
    return "\n".join([*said, raw, plain, unquote_plus(raw), html.unescape(plain)])


def bodies(sink: SimpleNamespace) -> list[tuple[str, str]]:
    return [(heard.path, heard.body.decode()) for heard in sink.web.heard]


def is_text(part: Any) -> bool:
    return bool(part.get_content_maintype() == "text")


def secrets_in(text: str, hashes: Collection[str]) -> list[str]:
    found = [secret for secret in (MARK, *NETWORKS, "secret=1") if secret in text]
    return [*found, *(set(hashes) & set(WORD.findall(text)))]


def stored_in(settings: Settings) -> str:
    """All that the main database holds, the log of deliveries among it."""
    with closing(sqlite3.connect(settings.data_dir / "main.db")) as connection:
        return "\n".join(connection.iterdump())


def make_handlers(
    session: scoped_session[Session], follower: Callable[..., Any], url: str
) -> dict[str, NotificationHandler]:
    """A handler of each type that is told of everything; of webhooks also one with a template."""
    events = ["link.clicked", "link.created"]
    made = {
        type_: follower(type=type_, name=type_, settings=settings_of(type_, url), events=events)
        for type_ in TYPES
    }
    tenth = {**EVERY, "every": 10}
    handlers.update(made["subscription"], {"click_filter": tenth})
    settings = {**settings_of("webhook", f"{url}/bots"), "webhook_template": TEMPLATE}
    bots = {**EVERY, "is_bot": True}
    made["template"] = follower(name="template", settings=settings, events=events, click_filter=bots)
    session.execute(update(NotificationHandler).values(is_confirmed=True))
    session.commit()
    return made


def settings_of(type_: str, url: str) -> dict[str, Any]:
    """Those of the tests of all transports, without a template."""
    return {name: value for name, value in filled(type_, url).items() if not name.endswith("_template")}


def clicks_in(body: str) -> list[str]:
    said = json.loads(body)
    return [click["id"] for click in said["data"].get("clicks", ())]


def push_all(
    push: Push, settings: Settings, sink: SimpleNamespace, hashes: Collection[str]
) -> dict[str, list[str]]:
    """Pushes and sends until nothing is left, and looks at all that arrives; returns clicks by path."""
    mailing = replace(settings, smtp_url=f"smtp://127.0.0.1:{sink.mail.port}", mail_from="way@go.example")
    sender = Sender(push.engine, mailing)
    arrived: dict[str, list[str]] = {}
    while True:
        push()
        send_all(sender)
        if not sink.count():
            return arrived
        text = readable(sink)
        assert "go.example/spring" in text  # so that the rest would be found
        assert secrets_in(text, hashes) == []
        for path, body in bodies(sink):
            arrived.setdefault(path, []).extend(clicks_in(body) if path in PROGRAMS else ())
        arrived.setdefault("mails", []).extend("" for _ in sink.mail.mails)
        sink.web.clear()
        sink.mail.clear()


@pytest.mark.parametrize("number", [100, pytest.param(50_000, marks=pytest.mark.full)])
def test_nothing_of_a_visitor_is_pushed_shown_or_logged(
    number: int,
    feed: Feed,
    make: Callable[..., Any],
    push: Push,
    follower: Callable[..., Any],
    front: Front,
    visits: Callable[[], list[Visit]],
    sink: SimpleNamespace,
    settings: Settings,
    session: scoped_session[Session],
    api: Api,
    client: FlaskClient,
    alice: User,
) -> None:
    made = make_handlers(session, follower, sink.web.url)
    for url in ("spring", "autumn"):
        make(url)
    feed.sequence()
    for path in ("/spring", "/autumn"):
        front.compiled_links.find("go.example", path)
    come(front, number, ["/spring", "/autumn"])
    hashes = {visit.visitor for visit in visits()}
    assert len(hashes) == number
    assert secrets_in("\n".join(map(str, visits()[:9])), hashes)  # the journal has them
    feed.take_in()
    arrived = push_all(push, settings, sink, hashes)

    every = {event["id"]: event["data"] for event in feed.all(types=frozenset({"link.clicked"}))}
    people, bots = ({id_ for id_, data in every.items() if data["is_bot"] is told} for told in (False, True))
    assert len(every) == number * 2
    assert len(bots) > number * 0.4
    for path, expected in (("/webhook", people), ("/bots/webhook", bots)):
        assert len(arrived[path]) == len(set(arrived[path])) and set(arrived[path]) == expected
    assert set(arrived["/subscription"]) < people
    assert len(arrived) == len(made), "each type of handler was told of something"

    assert secrets_in(json.dumps(feed.all(), ensure_ascii=False), hashes) == []
    stored = stored_in(settings)
    assert "news.example" in stored and secrets_in(stored, hashes) == []
    shown = [api.get("/subscriptions/samples?event=link.clicked").text]
    dashboard = Desk(client, alice.email)
    dashboard.sign_in()
    for handler in made.values():
        shown.append(api.get(f"/notification-handlers/{handler.id}/deliveries").text)
        form = {"type": handler.type, "name": "n", **handler.settings}
        told = {"events": "link.clicked", "scope": "workspace"}
        shown.append(dashboard.post("/handlers/preview", {**form, **told}).text)
        shown.append(dashboard.get(f"/handlers/{handler.id}/deliveries").text)
    text = "\n".join(shown)
    assert "news.example" in text and "go.example/spring" in text
    assert secrets_in(html.unescape(text), hashes) == []
