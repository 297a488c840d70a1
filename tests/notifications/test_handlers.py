"""Notification handlers: the form, the services and the list."""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from app.accounts.workspaces import access_of
from app.core.clock import now
from app.core.errors import Invalid
from app.core.extensions import db
from app.input.data import JsonValue, Nested, RequestData
from app.input.listing import find_page
from app.notifications import services
from app.notifications.forms import SETTINGS, HandlerForm
from app.notifications.lists import LISTING
from app.notifications.models import NotificationHandler
from app.notifications.transport import all_transports, chosen_transports
from tests.writes import write

HOOK = "https://hooks.example.com/x"
FIELDS = {
    "email": {"email": "me@example.com"},
    "webhook": {"webhook": HOOK},
    "chat_a": {"chat_a": HOOK},
    "chat_b": {"chat_b": HOOK},
    "chat_c": {"chat_c": "123:ABC", "chat_c_chat_id": "-100123"},
    "chat_d": {"chat_d": HOOK},
    "google_chat": {"google_chat": HOOK},
    "gotify": {"gotify": "https://push.example.com/gotify", "gotify_token": "AbCdEf123456789"},
    "matrix": {
        "matrix": "https://example.org",
        "matrix_room_id": "!room:example.org",
        "matrix_token": "syt_x",
    },
    "mattermost": {"mattermost": HOOK},
    "ntfy": {"ntfy": "https://ntfy.sh", "ntfy_topic": "waypost-k3v9x2"},
    "pushover": {"pushover": "a" * 30, "pushover_user_key": "u" * 30},
}
OPTIONAL = {"ntfy": {"ntfy_token": "tk_x"}, "webhook": {"webhook_template": "{{ event.title }}"}}
WORDS = {
    "chat_a": ("slack", {"slack": HOOK}),
    "chat_b": ("discord", {"discord": HOOK}),
    "chat_c": ("telegram", {"telegram": "123:ABC", "telegram_chat_id": "-100123"}),
    "chat_d": ("microsoft_teams", {"microsoft_teams": HOOK}),
}


def read(stored=None, networks=(), **values):
    settings = SimpleNamespace(allow_private_networks=tuple(map(ipaddress.ip_network, networks)))
    form = HandlerForm(RequestData(values.items()), owner=None, stored=stored, settings=settings)
    form.validate()
    return form


def wrong(form):
    return [(problem.field, problem.code) for problem in form.problems]


def stored(type_):
    return NotificationHandler(type=type_, name="n", settings=dict(FIELDS[type_]), is_enabled=True)


# --- transports


def test_the_transports():
    assert {
        type_: [one.name for one in transport.settings if not one.is_optional]
        for type_, transport in chosen_transports().items()
    } == {type_: list(fields) for type_, fields in FIELDS.items()}
    assert {one.name for transport in chosen_transports().values() for one in transport.settings} == {
        *(name for fields in FIELDS.values() for name in fields),
        *(name for fields in OPTIONAL.values() for name in fields),
    }


@pytest.mark.parametrize("type_", FIELDS)
def test_one_transport(type_):
    """Holds for each file of `transports`, also for new ones."""
    examples = {one.name: one.example for one in all_transports()[type_].settings}
    form = read(type=type_, name="n", **examples)
    assert wrong(form) == []
    assert form.changes == {"type": type_, "name": "n", "settings": examples}


def test_what_a_read_only_key_does_not_see():
    secrets = {
        type_: set(transport.secrets) for type_, transport in all_transports().items() if transport.secrets
    }
    assert secrets == {
        "webhook": {"webhook", "webhook_template", "secret"},
        "subscription": {"target_url", "secret"},
        "google_chat": {"google_chat"},
        "gotify": {"gotify_token"},
        "matrix": {"matrix_token"},
        "mattermost": {"mattermost"},
        "ntfy": {"ntfy_topic", "ntfy_token"},
        "pushover": {"pushover", "pushover_user_key"},
    } | {type_: {type_} for type_ in WORDS}


# --- events

SOME = ["link.clicked", "link.started"]
EVENT_FIELDS = {
    "types in any order": ([("events[]", "link.started"), ("events[]", "link.clicked")], {"events": SOME}),
    "one type": ([("events", "link.clicked")], {"events": SOME[:1]}),
    "a scope": ([("scope", "workspace")], {"scope": "workspace"}),
    "no scope": ([("scope", "")], {"scope": "attached"}),
    "a filter in a form": (
        [
            ("events", "link.clicked"),
            ("click_filter[countries][]", "us"),
            ("click_filter[countries][]", "DE"),
        ],
        {
            "events": SOME[:1],
            "click_filter": {"countries": ["DE", "US"], "is_bot": False, "every": 1, "first": False},
        },
    ),
    "a filter by names with dots": (
        [("events", "link.clicked"), ("click_filter.every", "10"), ("click_filter.is_bot", "1")],
        {
            "events": SOME[:1],
            "click_filter": {"countries": None, "is_bot": True, "every": 10, "first": False},
        },
    ),
    "a filter in JSON": (
        [("events", "link.clicked"), ("click_filter", Nested(RequestData([("first", "1")])))],
        {
            "events": SOME[:1],
            "click_filter": {"countries": None, "is_bot": False, "every": 1, "first": True},
        },
    ),
    "a filter that lets everything pass": (
        [("events", "link.started"), ("click_filter.every", "1"), ("click_filter.countries", "")],
        {"events": ["link.started"]},
    ),
    "no filter": ([("click_filter", "")], {}),
    "an empty object": ([("click_filter", Nested(RequestData()))], {}),
}
EMPTY_LIST = JsonValue("")
EMPTY_LIST.is_member = True
BAD_EVENTS = {
    "unknown types": ([("events[]", "link.clicked"), ("events[]", "link.exploded")], [("events", "choice")]),
    "no type": ([("events", "")], [("events", "required")]),
    "an unknown scope": ([("scope", "all")], [("scope", "choice")]),
    "a filter that is a list": ([("click_filter", Nested())], [("click_filter", "type")]),
    "a filter without clicks": (
        [("events", "link.started"), ("click_filter.first", "1")],
        [("click_filter", "conflict")],
    ),
    "first and every": (
        [("events", "link.clicked"), ("click_filter.first", "1"), ("click_filter.every", "2")],
        [("click_filter.every", "conflict")],
    ),
    "no country": (
        [("events", "link.clicked"), ("click_filter", Nested(RequestData([("countries", EMPTY_LIST)])))],
        [("click_filter.countries", "required")],
    ),
    "all at once": (
        [
            ("events", "nope"),
            ("scope", "nope"),
            ("click_filter[countries][]", "ZZ"),
            ("click_filter[is_bot]", "perhaps"),
            ("click_filter[every]", "0"),
            ("click_filter[first]", "perhaps"),
        ],
        [
            ("events", "choice"),
            ("scope", "choice"),
            ("click_filter.countries", "choice"),
            ("click_filter.is_bot", "boolean"),
            ("click_filter.every", "range"),
            ("click_filter.first", "boolean"),
        ],
    ),
    "a million and one": (
        [("events", "link.clicked"), ("click_filter.every", "1000001")],
        [("click_filter.every", "range")],
    ),
    "a part that is an object": (
        [("events", "link.clicked"), ("click_filter", Nested(RequestData([("every", Nested())])))],
        [("click_filter.every", "type")],
    ),
}


def read_pairs(pairs, stored=None):
    form = HandlerForm(RequestData(pairs), owner=None, stored=stored)
    form.validate()
    return form


@pytest.mark.parametrize("name", EVENT_FIELDS)
def test_which_events(name):
    pairs, changes = EVENT_FIELDS[name]
    form = read_pairs(pairs, stored("email"))
    assert wrong(form) == []
    assert form.changes == changes


@pytest.mark.parametrize("name", BAD_EVENTS)
def test_events_that_are_refused(name):
    pairs, problems = BAD_EVENTS[name]
    assert wrong(read_pairs(pairs, stored("email"))) == problems


# --- form


@pytest.mark.parametrize("type_", WORDS)
def test_create_in_the_providers_words(type_):
    word, fields = WORDS[type_]
    form = read(type=word, name="n", **fields)
    assert wrong(form) == []
    assert form.changes == {"type": type_, "name": "n", "settings": FIELDS[type_]}


@pytest.mark.parametrize("type_", FIELDS)
def test_a_types_own_fields_are_required(type_):
    form = read(type=type_, name="n")
    assert wrong(form) == [(name, "required") for name in FIELDS[type_]]
    form = read(type=type_, name="n", **dict.fromkeys(FIELDS[type_], ""))
    assert wrong(form) == [(name, "required") for name in FIELDS[type_]]


@pytest.mark.parametrize("type_", FIELDS)
def test_fields_of_other_types_are_not_looked_at(type_):
    others = dict.fromkeys(set(SETTINGS) - {*FIELDS[type_], *OPTIONAL.get(type_, ())}, "nonsense\x00")
    form = read(type=type_, name="n", **FIELDS[type_], **others)
    assert wrong(form) == []
    assert form.changes["settings"] == FIELDS[type_]


@pytest.mark.parametrize("type_", OPTIONAL)
def test_optional_fields(type_):
    (name, value) = next(iter(OPTIONAL[type_].items()))
    form = read(type=type_, name="n", **FIELDS[type_], **OPTIONAL[type_])
    assert wrong(form) == [] and form.changes["settings"] == {**FIELDS[type_], **OPTIONAL[type_]}
    handler = stored(type_)
    handler.settings = form.changes["settings"]
    cleared = read(handler, **{name: ""})
    assert wrong(cleared) == [] and cleared.changes["settings"] == {name: None}
    assert services.settings_with(handler, cleared.changes) == FIELDS[type_]
    assert read(handler, name="m").changes == {"name": "m"} and value


IDENTIFIERS = {
    "a topic with a slash": ("ntfy", "ntfy_topic", "a/b", False),
    "a topic of 65": ("ntfy", "ntfy_topic", "a" * 65, False),
    "a topic with letters of another script": ("ntfy", "ntfy_topic", "töpic", False),
    "a token with a line end": ("ntfy", "ntfy_token", "tk\r\nX: y", False),
    "a room's alias": ("matrix", "matrix_room_id", "#room:example.org", False),
    "a room without a server": (
        "matrix",
        "matrix_room_id",
        "!31hneApxJ_1o-63DmFrpeqnkFfWppnzWso1JvH3ogLM",
        True,
    ),
    "a longer token": ("matrix", "matrix_token", "m" * 1025, False),
    "a key of 29": ("pushover", "pushover_user_key", "u" * 29, False),
    "a key with a dash": ("pushover", "pushover", "a-" * 15, False),
    "a server with a query": ("gotify", "gotify", "https://example.com/?x=1", False),
    "a server in a path": ("gotify", "gotify", "https://example.com/gotify/", True),
    "a server at home": ("ntfy", "ntfy", "http://192.168.1.4:2586", False),
    "a webhook with a query": ("google_chat", "google_chat", HOOK + "?key=1&token=2", True),
}


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_what_an_identifier_may_be(name):
    type_, field, value, may = IDENTIFIERS[name]
    form = read(type=type_, name="n", **{**FIELDS[type_], field: value})
    assert [problem.field for problem in form.problems] == ([] if may else [field])


def test_a_server_in_an_allowed_network():
    fields = {**FIELDS["gotify"], "gotify": "http://192.168.1.4:8080"}
    assert wrong(read(type="gotify", name="n", **fields)) == [("gotify", "private_address")]
    assert wrong(read(networks=["192.168.1.0/24"], type="gotify", name="n", **fields)) == []


def test_what_is_required():
    assert wrong(read()) == [("type", "required"), ("name", "required")]
    assert wrong(read(type="pigeon", name="", email="x")) == [("type", "choice"), ("name", "required")]


EMAILS = {
    "me@example.com": True, "me+tag@sub.example.co.uk": True, "ME@EXAMPLE.COM": True, "me@münchen.example": True,
    "dörte@example.com": True, "me@server.local": True, "me@mail.test": True, "o'neil@example.com": True,
    "": False, "me": False, "me@": False, "@example.com": False, "me@example": False, "me@@example.com": False,
    "me @example.com": False, "me@exam ple.com": False, "Me <me@example.com>": False, "me@example.com,you@example.com": False,
    "me@example.com\nBcc: you@example.com": False, "me@example..com": False, "me@-example.com": False,
    "me\x00@example.com": False, "m" * 65 + "@example.com": False, "me@" + "a" * 250 + ".com": False, " me@example.com": False,
}  # fmt: skip


@pytest.mark.parametrize(("text", "may"), EMAILS.items())
def test_email(text, may):
    form = read(type="email", name="n", email=text)
    assert [problem.field for problem in form.problems] == ([] if may else ["email"])
    if may:
        assert form.changes["settings"] == {"email": text}


ADDRESSES = {
    "https": ("https://example.com/hook?x=1#y", True),
    "a login": ("https://user:secret@example.com/", True),
    "2,048 characters": ("https://example.com/" + "a" * 2028, True),
    "2,049 characters": ("https://example.com/" + "a" * 2029, False),
    "script": ("javascript:alert(1)", False),
    "no scheme": ("example.com", False),
    "white space": ("https://example.com/ x", False),
    "a line end": ("https://example.com/\r\nX: y", False),
    # every spelling is in tests/core/test_urls.py, and every network in tests/net/test_networks.py
    "below localhost": ("http://a.localhost/", False),
    "loopback as one number": ("http://2130706433/", False),
    "loopback in full width": ("http://１２７.0.0.1/", False),
    "loopback, mapped": ("http://[::ffff:127.0.0.1]/", False),
    "private": ("http://10.0.0.1/", False),
}


@pytest.mark.parametrize(("text", "may"), ADDRESSES.values(), ids=ADDRESSES)
def test_addresses(text, may):
    for type_ in ("webhook", "chat_a", "chat_b", "chat_d"):
        form = read(type=type_, name="n", **{type_: text})
        assert [problem.field for problem in form.problems] == ([] if may else [type_])


CHATS = {"123": True, "-100123": True, "@name": True, "@Some_Channel1": True, "+5": False, "name": False, "@": False,
         "--1": False, "1.0": False, "١": False, "@na me": False, "-": False, "@x/../y": False, "1\n": False}  # fmt: skip


@pytest.mark.parametrize(("text", "may"), CHATS.items())
def test_chats(text, may):
    form = read(type="chat_c", name="n", chat_c="123:ABC", chat_c_chat_id=text)
    assert [problem.field for problem in form.problems] == ([] if may else ["chat_c_chat_id"])


def test_every_bad_field_is_named_at_once():
    form = read(type="chat_c", name="x" * 129, chat_c="x" * 129, chat_c_chat_id="x")
    assert [problem.field for problem in form.problems] == ["name", "chat_c", "chat_c_chat_id"]
    form = HandlerForm(RequestData([("name", Nested()), ("type", "email"), ("email", Nested())]), owner=None)
    form.validate()
    assert wrong(form) == [("name", "type"), ("email", "type")]


UPDATES = {
    "a name": ("email", {"name": "new"}, {"name": "new"}),
    "a setting": (
        "email",
        {"email": "you@example.com"},
        {"type": "email", "settings": {"email": "you@example.com"}},
    ),
    "one of two": ("chat_c", {"chat_c": "9:Z"}, {"type": "chat_c", "settings": {"chat_c": "9:Z"}}),
    "the same type": ("chat_c", {"type": "telegram"}, {"type": "chat_c"}),
    "another's setting": ("email", {"webhook": "nonsense"}, {}),
    "another type": (
        "email",
        {"type": "webhook", "webhook": HOOK, "email": "nonsense"},
        {"type": "webhook", "settings": {"webhook": HOOK}},
    ),
}


@pytest.mark.parametrize(("type_", "values", "changes"), UPDATES.values(), ids=UPDATES)
def test_update(type_, values, changes):
    form = read(stored(type_), **values)
    assert wrong(form) == []
    assert form.changes == changes


BAD_UPDATES = {
    "another type without its fields": ("email", {"type": "chat_c"}, ["chat_c", "chat_c_chat_id"]),
    "another type with one of its fields": ("email", {"type": "chat_c", "chat_c": "1:A"}, ["chat_c_chat_id"]),
    "a setting emptied": ("email", {"email": ""}, ["email"]),
    "a name emptied": ("email", {"name": ""}, ["name"]),
    "a type emptied": ("email", {"type": ""}, ["type"]),
}


@pytest.mark.parametrize(("type_", "values", "fields"), BAD_UPDATES.values(), ids=BAD_UPDATES)
def test_bad_update(type_, values, fields):
    form = read(stored(type_), **values)
    assert [(problem.field, problem.code) for problem in form.problems] == [
        (name, "required") for name in fields
    ]


# --- services and list


def make(user, type_="email", **changes):
    return write(
        services.create, access_of(user), {"type": type_, "name": "n", "settings": FIELDS[type_], **changes}
    )


@pytest.mark.databases
def test_the_life_of_a_handler(alice):
    handler = make(alice)
    assert (handler.user_id, handler.is_enabled, handler.last_datetime) == (alice.id, True, None)
    write(services.update, handler, {"is_enabled": False})
    assert (handler.is_enabled, handler.settings) == (False, FIELDS["email"])
    assert now() - handler.last_datetime < dt.timedelta(minutes=1)
    write(services.delete, handler)
    assert db.session.scalar(sa.select(sa.func.count()).select_from(NotificationHandler)) == 0


@pytest.mark.databases
def test_settings_are_stored_sealed(alice):
    make(alice, "chat_c")
    raw = db.session.scalar(sa.text("SELECT settings FROM notification_handler"))
    assert "123:ABC" not in raw
    assert db.session.scalar(sa.select(NotificationHandler)).settings == FIELDS["chat_c"]


def test_a_webhooks_secret_is_made_once(alice):
    handler, other = make(alice, "webhook"), make(alice, "webhook")
    secret = handler.settings["secret"]
    assert secret.startswith("whsec_")
    assert 24 <= len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) <= 32
    assert other.settings["secret"] != secret
    address = {"type": "webhook", "settings": {"webhook": HOOK + "2"}}
    write(services.update, handler, address)
    write(services.update, handler, {"name": "new"})
    db.session.expire_all()
    assert handler.settings == {"webhook": HOOK + "2", "secret": secret}
    write(services.update, handler, {"type": "email", "settings": FIELDS["email"]})
    assert handler.settings == FIELDS["email"]
    write(services.update, handler, address)
    assert handler.settings["secret"] != secret


@pytest.mark.databases
def test_a_type_changed_meanwhile(alice):
    """One of two settings was right for the type that it was checked for."""
    handler = make(alice, "chat_c")
    changes = read(handler, chat_c="9:Z").changes
    write(services.update, handler, {"type": "email", "settings": FIELDS["email"]})
    with pytest.raises(Invalid) as caught:
        write(services.update, handler, changes)
    assert [(one.field, one.code) for one in caught.value.errors] == [("chat_c_chat_id", "required")]
    db.session.rollback()
    assert (handler.type, handler.settings) == ("email", FIELDS["email"])


QUESTIONS = [
    ({}, "abc"),
    ({"search": "OFF"}, "a"),
    ({"search": "%"}, "a"),
    ({"search": "example.com"}, ""),
    ({"type": "chat_a"}, "b"),
    ({"type": "slack"}, "b"),
    ({"is_enabled": "no"}, "c"),
    ({"is_enabled": "1"}, "ab"),
    ({"order_by": "name", "order_type": "DESC"}, "cba"),
    ({"order_by": "notification_handler_id", "order_type": "DESC"}, "cba"),
    ({"order_by": "datetime"}, "cba"),
    ({"order_by": "last_datetime", "order_type": "DESC"}, "cba"),
]


@pytest.mark.databases
def test_list(alice, bob, make_handler):
    names = {
        make_handler(alice, name="100% off", datetime=now()).id: "a",
        make_handler(alice, "chat_a", name="Tell us", datetime=now() - dt.timedelta(1)).id: "b",
        make_handler(
            alice, name="Zet", datetime=now() - dt.timedelta(2), last_datetime=now(), is_enabled=False
        ).id: "c",
    }
    make_handler(bob)
    found = [
        (
            asked,
            "".join(names[row.id] for row in find_page(LISTING, access_of(alice).workspace_id, asked).rows),
        )
        for asked, _ in QUESTIONS
    ]
    assert found == QUESTIONS


@pytest.mark.parametrize(
    ("name", "value"), [("type", "pigeon"), ("is_enabled", "2"), ("order_by", "settings")]
)
def test_what_cannot_be_asked(alice, name, value):
    with pytest.raises(Invalid) as caught:
        find_page(LISTING, access_of(alice).workspace_id, {name: value})
    assert [problem.field for problem in caught.value.errors] == [name]
