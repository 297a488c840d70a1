"""Aliases: which are valid, and which link gets one."""

from __future__ import annotations

import datetime as dt
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from app.accounts.workspaces import access_of
from app.core.clock import now
from app.core.errors import AliasTaken
from app.core.extensions import db
from app.input.parsers import Rejected
from app.links import aliases, services
from app.links.aliases import RANDOM_CHARACTERS, RANDOM_LENGTH, key_of, random_alias, read_alias
from app.links.models import Alias, Link
from app.web.paths import RESERVED, is_reserved
from tests.threads import at_once
from tests.writes import write

GOOD = {
    "letters": "foo",
    "signs first": "-_~",
    "a final dot": "foo.",
    "decomposed": unicodedata.normalize("NFD", "über"),
    "Cyrillic": "привет",
    "Hindi with marks": "हिन्दी",
    "Chinese": "短链接",
    "a heart with its selector": "❤️",
    "a skin tone": "👍🏽",
    "a kiss": "👩🏽‍❤️‍💋‍👨🏻",
    "a flag": "🇩🇪",
    "Wales": "🏴󠁧󠁢󠁷󠁬󠁳󠁿",
    "a keycap": "1️⃣",
    "256 characters": "x" * 256,
    "256 after NFC": "e\u0301" * 256,
    "reserved and more": "apis",
    "many segments": "a/b/c/d/e",
    "segments of emoji": "🚀/❤️/👩🏽‍❤️‍💋‍👨🏻",
    "a reserved word further on": "x/login/api",
    "256 with slashes": "x/" * 127 + "xx",
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_kept_as_typed(text):
    assert read_alias(text) == text


BAD = {
    "a dot first": ".foo",
    "only dots": "..",
    "a space": "foo bar",
    "a line end": "foo\n",
    "NUL": "foo\x00",
    "a slash first": "/foo",
    "a slash last": "foo/",
    "two slashes": "foo//bar",
    "a dot first further on": "foo/.bar",
    "two dots": "foo/..",
    "a mark without a letter before the slash": "foo/\u200d",
    "an emoji torn by a slash": "👩/\u200d🚀",
    "a fraction slash": "foo\u2044bar",
    "257 with slashes": "x/" * 128 + "x",
    "a backslash": "foo\\bar",
    "a question mark": "foo?",
    "a percent": "foo%20",
    "a plus": "foo+",
    "a quote": "fo'o",
    "a superscript": "x²",
    "a bare joiner": "a\u200db",
    "a joiner behind an emoji": "🚀\u200d",
    "a non-joiner": "می\u200cخواهم",
    "right-to-left override": "\u202eabc",
    "BOM": "\ufefffoo",
    "half a flag": "🇩",
    "tags without an emoji": "\U000e0067\U000e007f",
    "a keycap of a number sign": "#️⃣",
    "a selector behind a letter": "a\ufe0f",
    "a selector of ideographs": "短\U000e0100",
    "a zero-width space": "a\u200bb",
    "a Hangul filler": "a\u3164",
    "a Khmer inherent vowel": "ក\u17b4",
    "tags behind another emoji": "🚀\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "long tags": "🏴" + "\U000e0061" * 20 + "\U000e007f",
    "a lone surrogate": "a\ud800",
    "private use": "\ue000",
    "257 characters": "x" * 257,
    "257 after NFC": "e\u0301" * 257,
    "a megabyte": "e\u0301" * 500_000,
    "empty": "",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_refused(text):
    with pytest.raises(Rejected):
        read_alias(text)


@pytest.mark.parametrize(
    "word",
    [
        *(sorted(RESERVED)),
        ".well-known",
        ".well-known-x",
        "API",
        "Dashboard",
        "ſtatic",
        *(f"{word}/x" for word in sorted(RESERVED)),
        ".well-known/x",
        "Login/x",
        "login//x",
        "api/",
    ],
)
def test_reserved(word):
    with pytest.raises(Rejected) as caught:
        read_alias(word)
    assert caught.value.args[0].code == "reserved"


def test_a_random_alias():
    drawn = {random_alias() for _ in range(200)}
    assert len(drawn) == 200
    assert all(len(alias) == RANDOM_LENGTH == 7 and read_alias(alias) for alias in drawn)
    assert not set("".join(drawn)) - set(RANDOM_CHARACTERS)
    assert RANDOM_CHARACTERS.lower() == RANDOM_CHARACTERS
    assert not set("il1o0") & set(RANDOM_CHARACTERS)
    assert not any(set(word) <= set(RANDOM_CHARACTERS) for word in RESERVED if len(word) == RANDOM_LENGTH)


@given(st.text(max_size=30) | st.text(alphabet="a./é🚀", max_size=12))
def test_what_is_taken_can_be_found_again(text):
    try:
        alias = read_alias(text)
    except Rejected:
        return
    assert alias == text
    key = key_of(alias)
    assert key == key_of(unicodedata.normalize("NFD", alias))
    assert not is_reserved(key.partition("/")[0])
    assert all(segment and segment[0] != "." for segment in key.split("/"))
    assert len(key) <= 1024
    assert not set(key) & set("?#% \\")
    alias.encode()


@given(st.text(alphabet="❤\ufe0f\u200d🇩🏽1\u20e3a🏴\U000e0067\U000e007f./", max_size=256))
def test_no_text_takes_long_to_refuse(text):
    try:
        read_alias(text)
    except Rejected as rejected:
        assert rejected.args[0].code in {"alias", "invisible"}  # noqa: PT017


# --- claims


def make(user, url="", **changes):
    return write(
        services.create, access_of(user), {"location_url": "https://example.com/", "url": url, **changes}
    )


def change(link, **changes):
    write(services.update, link, changes)


def remove(link):
    write(services.delete, link)


def is_taken(user, url, **changes):
    try:
        make(user, url, **changes)
    except AliasTaken as taken:
        assert [(one.field, one.code) for one in taken.errors] == [("url", "taken")]  # noqa: PT017
        db.session.rollback()
        return True
    return False


@pytest.mark.parametrize(
    ("first", "second"), [("Foo", "foo"), ("straße", "STRASSE"), ("é", "e\u0301"), ("k", "\u212a")]
)
def test_spellings_of_one_alias(alice, first, second):
    make(alice, first)
    assert is_taken(alice, second)
    assert db.session.scalar(select(Link.url).order_by(Link.id.desc())) == first


def test_a_deleted_alias_is_free_at_once_for_its_owner_alone(alice, bob):
    remove(make(alice, "foo"))
    assert is_taken(bob, "foo")
    assert make(alice, "FOO").url == "FOO"
    assert is_taken(bob, "foo")


def test_a_deleted_alias_is_free_for_all_after_thirty_days(alice, bob):
    remove(make(alice, "foo"))
    row = db.session.get(Alias, (0, "foo"))
    assert dt.timedelta(days=29, hours=23) < row.held_until - now() <= dt.timedelta(days=30)
    row.held_until = now()
    db.session.commit()
    assert make(bob, "foo").url == "foo"
    assert is_taken(alice, "foo")


@pytest.mark.databases
def test_an_alias_given_up_is_held_too(alice, bob):
    link = make(alice, "foo")
    change(link, url="bar")
    assert is_taken(bob, "foo")
    assert is_taken(bob, "bar")
    change(link, url="foo")
    assert is_taken(bob, "bar")
    assert make(alice, "bar").url == "bar"


def test_a_change_of_case_is_no_new_claim(alice):
    link = make(alice, "foo")
    change(link, url="FOO")
    assert link.url == "FOO"
    assert db.session.get(Alias, (0, "foo")).link_id == link.id


@pytest.mark.databases
def test_a_failed_rename_changes_nothing(alice, bob):
    link = make(alice, "foo")
    make(bob, "bar")
    with pytest.raises(AliasTaken):
        change(link, url="bar", title="new")
    db.session.rollback()
    assert (link.url, link.title) == ("foo", None)
    assert db.session.get(Alias, (0, "foo")).link_id == link.id


def test_an_alias_whose_user_is_gone_for_good_is_free(alice, bob):
    make(alice, "foo")
    db.session.delete(alice)
    db.session.commit()
    assert make(bob, "foo").url == "foo"


def test_the_same_alias_on_two_domains(alice, bob, make_domain):
    domain = make_domain(alice, "a.example")
    make(bob, "foo")
    link = make(alice, "foo", domain_id=domain.id)
    with pytest.raises(AliasTaken):
        change(link, domain_id=None)
    db.session.rollback()
    change(link, domain_id=None, url="bar")
    assert make(alice, "foo", domain_id=domain.id).url == "foo"


def test_an_empty_alias_draws_one(alice, monkeypatch):
    make(alice, "taken77")
    drawn = iter(["taken77", "taken77", "taken77", "fresh88", "later99"])
    monkeypatch.setattr(aliases, "random_alias", lambda: next(drawn))
    monkeypatch.setattr(services, "random_alias", lambda: next(drawn))
    link = make(alice)
    assert link.url == "fresh88"
    assert db.session.get(Alias, (0, "fresh88")).link_id == link.id
    change(link, url="")
    assert link.url == "later99"


@pytest.mark.databases
def test_of_many_at_once_one_gets_it(app, alice):
    """Each in a thread and with a connection of its own, as concurrent requests have."""

    def ask(user_id):
        with app.app_context():
            try:
                return make(db.session.get(type(alice), user_id), "foo").id
            except AliasTaken:
                return 0

    user_id = alice.id
    db.session.commit()
    *taken, made = sorted(at_once(ask, [user_id] * 6))
    assert taken == [0] * 5
    assert db.session.scalars(select(Link.id)).all() == [made]
