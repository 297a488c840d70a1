"""Forms of links: which input is valid, and the changes that result from it."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace

import pytest

from app.accounts.passwords import check_password
from app.accounts.workspaces import access_of
from app.core.errors import TooLarge
from app.input.data import Nested, RequestData, Upload
from app.links.fields import MASK
from app.links.forms import LinkForm
from app.links.uploads import Picture
from tests.links.pictures import SVG, huge_png, picture

SETTINGS = SimpleNamespace(base_url="https://go.example", destination_schemes=frozenset({"http", "https"}))
TO = ("location_url", "https://example.com/")
T = "targeting_country_code"


@pytest.fixture
def read(session, alice):
    def read(*pairs, stored=None):
        form = LinkForm(
            RequestData(pairs),
            owner=access_of(alice),
            stored=stored,
            settings=SETTINGS,
            host="127.0.0.1:8000",
        )
        form.validate()
        return form

    return read


def wrong(form):
    return [(problem.field, problem.code) for problem in form.problems]


def utc(*parts):
    return dt.datetime(*parts, tzinfo=dt.UTC)


# --- create

CREATED = {
    "an empty alias": ([("url", "")], {"url": None}),
    "destination kept as sent": (
        [("location_url", "HTTPS://Example.com:443/a?b=%zz&c#d")],
        {"location_url": "HTTPS://Example.com:443/a?b=%zz&c#d"},
    ),
    "texts": (
        [("title", "t" * 160), ("notes", "n\n" * 1000), ("utm_source", "ä" * 256)],
        {"title": "t" * 160, "notes": "n\n" * 1000, "utm_source": "ä" * 256},
    ),
    "tags": ([("tags[]", "b"), ("tags[]", "a"), ("tags[]", "b")], {"tags": ["b", "a"]}),
    "a limit": ([("clicks_limit", "2147483647")], {"clicks_limit": 2147483647}),
    "a code": ([("http_status_code", "308")], {"http_status_code": 308}),
    "no code": ([("http_status_code", "")], {"http_status_code": 302}),
    "dates without a schedule": ([("start_date", "2026-01-01")], {}),
    "dates and schedule": (
        [("schedule", "1"), ("start_date", "2026-01-01"), ("end_date", "2026-01-02T00:00+02:00")],
        {"schedule": True, "start_date": utc(2026, 1, 1), "end_date": utc(2026, 1, 1, 22)},
    ),
    "no schedule": (
        [("schedule", "0"), ("end_date", "2026-01-01")],
        {"schedule": False, "start_date": None, "end_date": None},
    ),
    "pairs": (
        [("targeting_type", "country_code"), (f"{T}_key[0]", "de"), (f"{T}_value[0]", "https://de.example")],
        {"targeting_type": "country_code", "targeting": [["DE", "https://de.example"]]},
    ),
    "a type without pairs": (
        [("targeting_type", "rotation")],
        {"targeting_type": "rotation", "targeting": []},
    ),
    "pairs without a type": ([(f"{T}_key[0]", "nonsense"), (f"{T}_value[0]", "nonsense")], {}),
    "location_urls of one link": ([("location_urls", "nonsense")], {}),
    "what nobody sets": ([("id", "7"), ("clicks", "7"), ("order", "7"), ("datetime", "2020-01-01")], {}),
    "the mask of a password": ([("password", MASK)], {}),
    "an empty password": ([("password", "")], {"password_hash": None}),
}


def test_create(read):
    for name, (pairs, changes) in CREATED.items():
        form = read(TO, *pairs)
        assert wrong(form) == [], name
        assert form.changes == {"location_url": TO[1], **changes}, name


@pytest.mark.real_hashing
def test_a_password_is_only_ever_a_hash(read):
    form = read(TO, ("password", "söcret"))
    assert set(form.changes) == {"location_url", "password_hash"}
    assert form.changes["password_hash"].startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert check_password(form.changes["password_hash"], "söcret")
    assert "söcret" not in repr(form.changes)
    assert form.password.raw_text() == ""


BAD = {
    "url": [("url", "a b"), ("url", "api"), ("url", ".x"), ("url", "x" * 257), ("url", "a//b"), ("url", "login/x"), ("url", Nested())],
    "location_url": [
        ("location_url", text)
        for text in (
            "", "javascript:alert(1)", "JAVASCRIPT:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)",
            "\x00javascript:alert(1)", "data:text/html,x", "//example.com", "example.com", "https://exa mple.com",
            "https://go.example/foo", "http://127.0.0.1:8000/foo", "https://example.com/" + "x" * 8192,
            "https://example.com/\ud800", "https://example.com/\x00",
        )
    ],
    "expiration_url": [("expiration_url", "javascript:alert(1)"), ("expiration_url", "https://go.example/foo")],
    "domain_id": [("domain_id", "1"), ("domain_id", "-1"), ("domain_id", "x"), ("domain_id", "9" * 19)],
    "project_id": [("project_id", "1"), ("project_id", "1.0")],
    "pixels_ids": [("pixels_ids", "1"), ("pixels_ids[0]", "x"), ("pixels_ids", "1,2")],
    "email_reports": [("email_reports", "1"), ("email_reports", Nested())],
    "title": [("title", "x" * 161), ("title", "a\x00"), ("title", "\ud800")],
    "notes": [("notes", "x" * 2001), ("notes", "\x1b")],
    "tags": [("tags", "x" * 33), ("tags", "a\nb")],
    "start_date": [("start_date", "2026-02-30"), ("start_date", "tomorrow")],
    "end_date": [("end_date", "2026-01-01 25:00")],
    "clicks_limit": [("clicks_limit", text) for text in ("-1", "2147483648", "1e3", "١٠", "1.0", "9223372036854775808")],
    "http_status_code": [("http_status_code", "303"), ("http_status_code", "302.0"), ("http_status_code", "200")],
    "cloaking_favicon": [
        ("cloaking_favicon", Upload("f.svg", SVG)),
        ("cloaking_favicon", Upload("f.png", picture()[:-30])),
        ("cloaking_favicon", Upload("f.png", huge_png(50_000, 50_000))),
        ("cloaking_favicon", "https://go.example/media/other.png"),
    ],
    "cloaking_opengraph": [("cloaking_opengraph", Upload("f.ico", picture("ICO")))],
    "password": [("password", "x" * 129), ("password", "a\x00b")],
}  # fmt: skip
EACH = [(name, pair) for name, pairs in BAD.items() for pair in pairs]


def test_a_bad_field_is_named(read):
    for name, pair in EACH:
        assert [problem.field for problem in read(TO, pair).problems] == [name], pair


def test_every_bad_field_is_named_at_once(read):
    form = read(*(pairs[0] for pairs in BAD.values()))
    assert {problem.field for problem in form.problems} == set(BAD)


def test_a_destination_is_required(read):
    assert wrong(read()) == [("location_url", "required")]


def test_twenty_tags(read):
    assert wrong(read(TO, *[("tags", str(n)) for n in range(20)])) == []
    assert wrong(read(TO, *[("tags", str(n)) for n in range(21)])) == [("tags", "too_many")]


ORDERS = [
    ([("schedule", "1"), ("start_date", "2026-01-02"), ("end_date", "2026-01-01")], ["end_date"]),
    ([("schedule", "1"), ("start_date", "2026-01-01"), ("end_date", "2026-01-01")], ["end_date"]),
    ([("start_date", "2026-01-02"), ("end_date", "2026-01-01")], ["end_date"]),
    ([("schedule", "1"), ("start_date", "nonsense"), ("end_date", "2026-01-01")], ["start_date"]),
]


def test_the_end_is_after_the_start(read):
    for pairs, fields in ORDERS:
        assert [problem.field for problem in read(TO, *pairs).problems] == fields, pairs


def test_a_file_that_is_too_large(read):
    form = read(TO, ("url", "a b"), ("cloaking_favicon", Upload("f", b"x" * (512 * 1024 + 1))))
    with pytest.raises(TooLarge) as caught:
        form.require_valid()
    assert [(one.field, one.code) for one in caught.value.errors] == [("cloaking_favicon", "too_large")]
    with pytest.raises(TooLarge):
        LinkForm.refuse_large_files(
            RequestData([("cloaking_opengraph", Upload("f", b"x" * (5 * 1024 * 1024 + 1)))])
        )


def test_a_picture(read):
    form = read(TO, ("cloaking_favicon", Upload("../../f", picture("ICO"))))
    assert wrong(form) == []
    assert isinstance(form.changes["cloaking_favicon"], Picture)


# --- many at once

LINES = {
    "lines": [("location_urls", "https://a.example/\nhttps://b.example/")],
    "lines of another system": [("location_urls", "https://a.example/\r\nhttps://b.example/\r\n")],
    "blank lines": [("location_urls", "\n\nhttps://a.example/\n   \nhttps://b.example/\n\n")],
    "an array": [("location_urls[]", "https://a.example/"), ("location_urls[]", "https://b.example/")],
    "indices": [("location_urls[9]", "https://b.example/"), ("location_urls[2]", "https://a.example/")],
    "an array of lines": [("location_urls", "https://a.example/\n"), ("location_urls", "https://b.example/")],
}


def test_many(read):
    for name, pairs in LINES.items():
        form = read(("is_bulk", "1"), ("title", "t"), *pairs)
        assert wrong(form) == [], name
        assert form.changes == {
            "location_urls": ["https://a.example/", "https://b.example/"],
            "title": "t",
        }, name


def test_alias_and_destination_are_ignored_for_many(read):
    form = read(("is_bulk", "1"), ("url", "a b"), ("location_url", "nonsense"), *LINES["an array"])
    assert wrong(form) == []
    assert set(form.changes) == {"location_urls"}


def test_each_bad_line_is_named_as_counted_by_who_sent_it(read):
    text = "https://a.example/\n\njavascript:alert(1)\nhttps://b.example/\nhttps://go.example/foo\nx"
    form = read(("is_bulk", "true"), ("location_urls", text))
    assert sorted(wrong(form)) == [
        ("location_urls[3]", "scheme"),
        ("location_urls[5]", "circle"),
        ("location_urls[6]", "scheme"),
    ]
    form = read(("is_bulk", "1"), *[("location_urls", line) for line in ("https://a.example/", "", "x")])
    assert wrong(form) == [("location_urls[3]", "scheme")]


def test_many_need_destinations(read):
    for pairs in ([], [("location_urls", "")], [("location_urls", " \n\n")], [("location_urls[0]", "")]):
        assert wrong(read(("is_bulk", "1"), *pairs)) == [("location_urls", "required")], pairs


def test_a_thousand_at_most(read):
    lines = [f"https://example.com/{number}" for number in range(1000)]
    assert wrong(read(("is_bulk", "1"), ("location_urls", "\n".join(lines)))) == []
    assert wrong(read(("is_bulk", "1"), ("location_urls", "\n".join([*lines, "https://example.com/"])))) == [
        ("location_urls", "too_many")
    ]


def test_many_are_no_objects(read):
    assert wrong(read(("is_bulk", "1"), ("location_urls", Nested()))) == [("location_urls", "type")]


# --- pairs


def pairs_of(*members, type_="country_code"):
    names = ("key", "value")
    return [("targeting_type", type_)] + [
        (f"targeting_{type_}_{name}[{index}]", text)
        for index, *pair in members
        for name, text in zip(names, pair, strict=True)
        if text is not None
    ]


PAIRS = {
    "by index": (pairs_of((0, "DE", "https://a.example"), (1, "FR", "https://b.example")), ["DE", "FR"]),
    "in the order of indices": (pairs_of((7, "DE", "https://a.example"), (3, "FR", "https://b.example")), ["FR", "DE"]),
    "without index": (
        [("targeting_type", "country_code"), (f"{T}_key", "DE"), (f"{T}_key", "FR"),
         (f"{T}_value", "https://a.example"), (f"{T}_value", "https://b.example")], ["DE", "FR"]),
    "brackets": (
        [("targeting_type", "country_code"), (f"{T}_key[]", "DE"), (f"{T}_value[]", "https://a.example"),
         (f"{T}_key[]", "FR"), (f"{T}_value[]", "https://b.example")], ["DE", "FR"]),
    "an empty pair between": (
        pairs_of((0, "DE", "https://a.example"), (1, "", ""), (2, "FR", "https://b.example")), ["DE", "FR"]),
    "the largest index": (pairs_of((999, "DE", "https://a.example")), ["DE"]),
    "all empty": (pairs_of((0, "", "")), []),
    "the same key twice": (pairs_of((0, "DE", "https://a.example"), (1, "de", "https://b.example")), ["DE", "DE"]),
}  # fmt: skip


def test_pairs(read):
    for name, (pairs, keys) in PAIRS.items():
        form = read(TO, *pairs)
        assert wrong(form) == [], name
        assert [key for key, _ in form.changes["targeting"]] == keys, name


BAD_PAIRS = {
    "no value": (pairs_of((3, "DE", "")), [(f"{T}_value[3]", "required")]),
    "no value at all": (pairs_of((3, "DE", None)), [(f"{T}_value[3]", "required")]),
    "no key": (pairs_of((3, None, "https://a.example")), [(f"{T}_key[3]", "required")]),
    "a bad key": (pairs_of((0, "DE", "https://a.example"), (3, "XX", "https://b.example")), [(f"{T}_key[3]", "choice")]),
    "a bad value": (pairs_of((4, "DE", "javascript:alert(1)")), [(f"{T}_value[4]", "scheme")]),
    "a circle": (pairs_of((4, "DE", "https://go.example/foo")), [(f"{T}_value[4]", "circle")]),
    "both bad": (pairs_of((4, "XX", "x")), [(f"{T}_key[4]", "choice"), (f"{T}_value[4]", "scheme")]),
    "an index too large": (
        pairs_of((1000, "DE", "https://a.example")), [(f"{T}_key[1000]", "range"), (f"{T}_value[1000]", "range")]),
    "a weight": (
        pairs_of((0, "101", "https://a.example"), type_="rotation"), [("targeting_rotation_key[0]", "range")]),
    "101 pairs": (pairs_of(*[(n, "DE", "https://a.example") for n in range(101)]), [(f"{T}_key", "too_many")]),
}  # fmt: skip


def test_bad_pairs_are_named(read):
    for name, (pairs, problems) in BAD_PAIRS.items():
        assert wrong(read(TO, *pairs)) == problems, name


def test_a_hundred_pairs(read):
    form = read(TO, *pairs_of(*[(n, "DE", "https://a.example") for n in range(100)]))
    assert len(form.changes["targeting"]) == 100


# --- update


@pytest.fixture
def link(alice, make_link):
    return make_link(
        alice, "foo", schedule=True, start_date=utc(2026, 1, 1), end_date=utc(2026, 2, 1), title="old",
        targeting_type="country_code", targeting=[["DE", "https://de.example"]], password_hash="$hash",
        cloaking_favicon="0123456789abcdef.png",
    )  # fmt: skip


UPDATED = {
    "a title emptied": ([("title", "")], {"title": None}),
    "bulk is not looked at": ([("is_bulk", "maybe"), ("location_urls", "x")], {}),
    "the mask": ([("password", MASK)], {}),
    "the start taken away": ([("start_date", "")], {"start_date": None}),
    "the schedule ended": (
        [("schedule", "0"), ("start_date", "2027-01-01")],
        {"schedule": False, "start_date": None, "end_date": None},
    ),
    "the same type again": ([("targeting_type", "country_code")], {}),
    "another type": ([("targeting_type", "rotation")], {"targeting_type": "rotation", "targeting": []}),
    "another type and the old one's pairs": (
        [("targeting_type", "rotation"), (f"{T}_key[0]", "FR"), (f"{T}_value[0]", "https://fr.example")],
        {"targeting_type": "rotation", "targeting": []},
    ),
    "the stored type's pairs": (
        [(f"{T}_key[0]", "fr"), (f"{T}_value[0]", "https://fr.example")],
        {"targeting_type": "country_code", "targeting": [["FR", "https://fr.example"]]},
    ),
    "the stored type's pairs emptied": (
        [(f"{T}_key", "")],
        {"targeting_type": "country_code", "targeting": []},
    ),
    "no type any more": ([("targeting_type", "")], {"targeting_type": None, "targeting": []}),
    "the picture's own address": ([("cloaking_favicon", "https://go.example/media/0123456789abcdef.png")], {}),
    "lists emptied": (
        [("tags", ""), ("pixels_ids", ""), ("email_reports", "")],
        {"tags": [], "pixels_ids": [], "email_reports": []},
    ),
    "no domain, no project": ([("domain_id", "0"), ("project_id", "")], {"domain_id": None, "project_id": None}),
}  # fmt: skip


def test_update(read, link):
    for name, (pairs, changes) in UPDATED.items():
        form = read(*pairs, stored=link)
        assert wrong(form) == [], name
        assert form.changes == changes, name


BAD_UPDATES = {
    "a destination emptied": ([("location_url", "")], [("location_url", "required")]),
    "the start behind the stored end": ([("start_date", "2026-03-01")], [("start_date", "order")]),
    "the end before the stored start": ([("end_date", "2025-03-01")], [("end_date", "order")]),
    "an unknown type": (
        [("targeting_type", "planet"), (f"{T}_key[0]", "XX")],
        [("targeting_type", "choice")],
    ),
    "another picture's address": ([("cloaking_favicon", "/media/other.png")], [("cloaking_favicon", "type")]),
}


def test_bad_update(read, link):
    for name, (pairs, problems) in BAD_UPDATES.items():
        assert wrong(read(*pairs, stored=link)) == problems, name


def test_a_schedule_that_was_off_has_no_old_dates(read, make_link, alice):
    link = make_link(alice, schedule=False)
    form = read(("schedule", "1"), ("end_date", "2020-01-01"), stored=link)
    assert wrong(form) == []
    assert form.changes == {"schedule": True, "end_date": utc(2020, 1, 1)}


def test_controls_show_what_is_stored(read, link):
    form = read(stored=link)
    assert form.title.raw_text() == "old"
    assert form.password.raw_text() == MASK
    assert form.start_date.raw_text() == "2026-01-01 00:00:00"
    assert form[T].rows() == [(0, "DE", "https://de.example")]
    assert form.targeting_rotation.rows() == []


def test_controls_show_what_was_typed(read, link):
    form = read(("password", "new"), ("title", "x" * 161), *pairs_of((4, "XX", "y")), stored=link)
    assert form.title.raw_text() == "x" * 161
    assert form.password.raw_text() == MASK
    assert form[T].rows() == [(4, "XX", "y")]


# --- rows of the owner and of other users


@pytest.mark.databases
def test_ones_own_things(read, session, alice, make_pixel, make_handler, make_domain, make_project):
    pixel, handler = make_pixel(alice), make_handler(alice)
    project = make_project(alice)
    domain = make_domain(alice, "a.example")
    form = read(
        TO, ("pixels_ids", str(pixel.id)), ("email_reports[]", str(handler.id)),
        ("project_id", str(project.id)), ("domain_id", str(domain.id)),
    )  # fmt: skip
    assert wrong(form) == []
    assert form.changes == {
        "location_url": TO[1], "pixels_ids": [pixel.id], "email_reports": [handler.id],
        "project_id": project.id, "domain_id": domain.id,
    }  # fmt: skip


@pytest.mark.parametrize("state", [{"is_verified": False}, {"is_verified": True, "is_enabled": False}])
def test_a_domain_that_does_not_serve(read, session, alice, state, make_domain):
    domain = make_domain(alice, "a.example", **state)
    assert wrong(read(TO, ("domain_id", str(domain.id)))) == [("domain_id", "domain")]
