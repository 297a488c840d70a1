"""Forms: every value is read as the contract says, and only fields that were sent are changed."""

from __future__ import annotations

import datetime as dt
import gc
import weakref
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.accounts.workspaces import access_of
from app.core.errors import Invalid, TooLarge
from app.input.data import Nested, RequestData, Upload
from app.input.forms import (
    ChoiceField,
    DateTimeField,
    FlagField,
    IdsField,
    ListField,
    OwnIdField,
    PatternField,
    Rejected,
    ResourceForm,
    TextField,
    UploadField,
    WholeField,
)
from app.input.parsers import parse_boolean, parse_datetime, parse_integer, plain_text
from app.pixels.models import Pixel

OWNER = SimpleNamespace(id=1)

# --- one value


@pytest.mark.parametrize("text", ["1", "true", "True", "TRUE", "on", "On", "yes", "YES"])
def test_true(text):
    assert parse_boolean(text) is True


@pytest.mark.parametrize("text", ["0", "false", "False", "FALSE", "off", "no", "No", ""])
def test_false(text):
    assert parse_boolean(text) is False


@pytest.mark.parametrize(
    "text", ["2", "-1", "t", "y", " 1", "1 ", "1.0", "null", "None", "１", "ＯＮ", "ja", "{}"]
)
def test_neither_true_nor_false(text):
    with pytest.raises(Rejected):
        parse_boolean(text)


WHOLES = {"0": 0, "7": 7, "+7": 7, "-7": -7, "007": 7, "-0": 0, "9223372036854775807": 2**63 - 1}


@pytest.mark.parametrize(("text", "number"), WHOLES.items())
def test_whole_number(text, number):
    assert parse_integer(text, -(2**63), 2**63 - 1) == number


@pytest.mark.parametrize(
    "text",
    ["", "1e3", "١٠", "１０", "9223372036854775808", "-9223372036854775809", "1.0", "1.", "1,000", "1_000",
     " 1", "1 ", "1\n", "--1", "+-1", "+", "-", "0x10", "²", "NaN", "true", "9" * 5000],
)  # fmt: skip
def test_no_whole_number(text):
    with pytest.raises(Rejected):
        parse_integer(text, -(2**63), 2**63 - 1)


MOMENTS = {
    "2026-01-31 18:30:59": "2026-01-31 18:30:59",
    "2026-01-31 18:30": "2026-01-31 18:30:00",
    "2026-01-31": "2026-01-31 00:00:00",
    "2026-01-31T18:30:59": "2026-01-31 18:30:59",
    "2026-01-31T18:30": "2026-01-31 18:30:00",
    "2026-01-31T18:30:00Z": "2026-01-31 18:30:00",
    "2026-01-31 18:30Z": "2026-01-31 18:30:00",
    "2026-01-31T18:30:00+02:00": "2026-01-31 16:30:00",
    "2026-01-31T18:30:00-0530": "2026-02-01 00:00:00",
    "2026-01-31T18:30:00+05:45": "2026-01-31 12:45:00",
    "2026-01-31T18:30:00.999Z": "2026-01-31 18:30:00",
    "2026-01-31 18:30:59.5+02:00": "2026-01-31 16:30:59",
    "2024-02-29": "2024-02-29 00:00:00",
    "9999-12-31 23:59:59": "9999-12-31 23:59:59",
    "0001-01-01": "0001-01-01 00:00:00",
}


@pytest.mark.parametrize(("text", "utc"), MOMENTS.items())
def test_moment(text, utc):
    assert parse_datetime(text).replace(tzinfo=None).isoformat(" ") == utc
    assert parse_datetime(text).utcoffset() == dt.timedelta(0)


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026", "2026-01", "2026-1-1", "26-01-01", "2026-02-29", "2026-02-30", "2026-13-01", "2026-00-10",
     "0000-01-01", "2026-01-31 24:00", "2026-01-31 18:60", "2026-01-31 18:30:60", "2026-01-31 18", "2026-01-31  18:30",
     " 2026-01-31", "2026-01-31 ", "2026-01-31\n", "2026-01-31t18:30", "2026-01-31T18:30z", "2026-01-31Z",
     "2026-01-31T18:30+25:00", "2026-01-31T18:30+2", "2026-01-31T18:30:00.", "2026-01-31T18:30.5", "20260131", "31.01.2026", "01/31/2026",
     "1767225600", "２０２６-01-31", "9999-12-31T23:59-01:00", "0001-01-01T00:00+01:00", "2026-W05-6", "12026-01-31"],
)  # fmt: skip
def test_no_moment(text):
    with pytest.raises(Rejected):
        parse_datetime(text)


def test_a_time_without_an_offset_is_in_the_zone_of_who_typed_it():
    berlin = ZoneInfo("Europe/Berlin")
    assert parse_datetime("2026-07-01 12:00", berlin) == dt.datetime(2026, 7, 1, 10, tzinfo=dt.UTC)
    assert parse_datetime("2026-07-01 12:00Z", berlin) == dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)


@given(st.datetimes(timezones=st.just(dt.UTC)))
def test_a_time_read_back_is_the_same(when):
    when = when.replace(microsecond=0)
    assert parse_datetime(when.replace(tzinfo=None).isoformat(" ")) == when


@given(st.text())
def test_any_text_is_read_or_rejected(text):
    for read in (
        parse_boolean,
        parse_datetime,
        lambda t: parse_integer(t, 0, 9),
        lambda t: plain_text(t, 10),
    ):
        try:
            read(text)
        except Rejected as rejected:
            assert rejected.args[0].code  # noqa: PT017


@pytest.mark.parametrize("text", ["\x00", "a\x00", "\x1b[31m", "a\nb", "\x7f", "\x85", "\ud800", "a\udfff"])
def test_control_characters_and_lone_surrogates_are_no_text(text):
    with pytest.raises(Rejected):
        plain_text(text, 100)


def test_length_is_counted_in_characters():
    assert plain_text("😀" * 10, 10)
    with pytest.raises(Rejected):
        plain_text("a" * 11, 10)


# --- a form


class Sample(ResourceForm):
    create_only = frozenset({"once"})
    update_only = frozenset({"later"})

    name = TextField("Name", required=True, most=10)
    note = TextField("Note", most=10, lines=True)
    code = PatternField("Code", pattern="[a-z]+", problem="This must be small letters.")
    on = FlagField("On")
    number = WholeField("Number", least=1, most=5)
    kind = ChoiceField("Kind", choices={301: "a", 302: "b"}, also={"found": 302}, clears_to=302)
    only = ChoiceField("Only", choices={"link": "Link"}, can_be_empty=False)
    when = DateTimeField("When", column="when_date")
    words = ListField("Words", most_members=3)
    file = UploadField("File", most_bytes=10)
    once = TextField("Once", most=10)
    later = TextField("Later", most=10)

    def is_own_address(self, name, text):
        return text == "/media/mine"


def read(*pairs, stored=None, **options):
    form = Sample(RequestData(pairs), owner=OWNER, stored=stored, **options)
    form.validate()
    return form


def wrong(form):
    return [(problem.field, problem.code) for problem in form.problems]


STORED = SimpleNamespace(name="old", note="old", number=4, words=["w"], file="mine")

CHANGES = {
    "a scalar sent twice: the last": ([("name", "a"), ("name", "b")], {"name": "b"}),
    "nothing trimmed": ([("name", " a ")], {"name": " a "}),
    "text emptied": ([("note", "")], {"note": None}),
    "lines": ([("note", "a\r\nb\tc")], {"note": "a\r\nb\tc"}),
    "a flag": ([("on", "yes")], {"on": True}),
    "an unticked box with its companion": ([("on", "0")], {"on": False}),
    "a ticked box with its companion": ([("on", "0"), ("on", "1")], {"on": True}),
    "a flag emptied": ([("on", "")], {"on": False}),
    "a number": ([("number", "5")], {"number": 5}),
    "a number emptied": ([("number", "")], {"number": None}),
    "a choice": ([("kind", "301")], {"kind": 301}),
    "a choice in another word": ([("kind", "found")], {"kind": 302}),
    "a choice emptied": ([("kind", "")], {"kind": 302}),
    "another column": ([("when", "2026-01-31")], {"when_date": dt.datetime(2026, 1, 31, tzinfo=dt.UTC)}),
    "a list": ([("words", "a"), ("words", "b"), ("words", "a")], {"words": ["a", "b"]}),
    "a list emptied": ([("words", "")], {"words": []}),
    "a file": ([("file", Upload("f", b"x"))], {"file": Upload("f", b"x")}),
    "a file emptied": ([("file", "")], {"file": None}),
    "a file's own address": ([("file", "/media/mine")], {}),
    "unknown fields": ([("nonsense", "1"), ("id", "5"), ("user_id", "5")], {}),
    "not looked at on update": ([("once", "x" * 99)], {}),
    "nothing": ([], {}),
}


@pytest.mark.parametrize(("pairs", "changes"), CHANGES.values(), ids=CHANGES)
def test_an_update_changes_what_was_sent(pairs, changes):
    form = read(*pairs, stored=STORED)
    assert wrong(form) == []
    assert form.changes == changes


PROBLEMS = {
    "too long": ([("name", "x" * 11)], [("name", "too_long")]),
    "a required one emptied": ([("name", "")], [("name", "required")]),
    "one that can't be empty": ([("only", "")], [("only", "required")]),
    "a control character": ([("name", "a\nb")], [("name", "control_characters")]),
    "another form": ([("code", "A1")], [("code", "format")]),
    "no flag": ([("on", "maybe")], [("on", "boolean")]),
    "no number": ([("number", "1.0")], [("number", "integer")]),
    "out of range": ([("number", "6")], [("number", "range")]),
    "no choice": ([("kind", "303")], [("kind", "choice")]),
    "no time": ([("when", "2026-02-30")], [("when", "datetime")]),
    "too many": ([("words", w) for w in "abcd"], [("words", "too_many")]),
    "an object for a text": ([("name", Nested())], [("name", "type")]),
    "an object in a list": ([("words", Nested())], [("words", "type")]),
    "a file for a text": ([("name", Upload("f", b""))], [("name", "type")]),
    "a text for a file": ([("file", "x")], [("file", "type")]),
    "a file that is too large": ([("file", Upload("f", b"x" * 11))], [("file", "too_large")]),
    "all at once": (
        [("number", "x"), ("name", ""), ("on", "?"), ("when", "?")],
        [("name", "required"), ("on", "boolean"), ("number", "integer"), ("when", "datetime")],
    ),
}


@pytest.mark.parametrize(("pairs", "problems"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_is_wrong(pairs, problems):
    assert wrong(read(*pairs, stored=STORED)) == problems


def test_what_is_required_must_come_on_create():
    form = read(("once", "x"), ("later", "x" * 99))
    assert wrong(form) == [("name", "required")]
    assert form.changes == {"once": "x"}


def test_a_stored_value_is_not_checked_again():
    form = read(("on", "1"), stored=SimpleNamespace(name="x" * 99))
    assert wrong(form) == []
    assert form.name.raw_text() == "x" * 99


def test_a_control_shows_what_was_typed_else_what_is_stored():
    form = read(("number", "abc"), stored=STORED)
    assert form.number.raw_text() == "abc"
    assert form.name.raw_text() == "old"


def test_require_valid_raises_everything():
    with pytest.raises(Invalid) as caught:
        read(("number", "x"), stored=STORED).require_valid()
    assert [(one.field, one.code) for one in caught.value.errors] == [("number", "integer")]


def test_a_file_that_is_too_large_comes_before_other_problems():
    form = read(("number", "x"), ("file", Upload("f", b"x" * 11)), stored=STORED)
    with pytest.raises(TooLarge) as caught:
        form.require_valid()
    assert [one.field for one in caught.value.errors] == ["file"]


def test_large_files_are_refused_before_anything_is_looked_up():
    with pytest.raises(TooLarge) as caught:
        Sample.refuse_large_files(RequestData([("file", Upload("f", b"x" * 11))]))
    assert caught.value.errors[0].field == "file"
    Sample.refuse_large_files(RequestData([("file", Upload("f", b"x" * 10)), ("name", "")]))


def test_forms_share_nothing_that_one_of_them_changes():
    first = read(("words", ""), ("number", "x"), ("name", "a"))
    first.words.data.append("w")
    first.once.ignore()
    first.reject("name", "No.", "no")
    second = read(("words", ""), ("name", "a"))
    assert second.changes == {"words": [], "name": "a"}
    assert (wrong(first), wrong(second)) == ([("name", "no"), ("number", "integer")], [])
    assert second.number.raw_text() == ""


def test_what_was_sent_is_not_kept_for_later_forms():
    class Once(ResourceForm):
        name = TextField("Name", most=10)

    sent = weakref.ref(Once(RequestData([("name", "a")]), owner=OWNER))
    gc.collect()
    assert sent() is None


# --- ids


class WithIds(ResourceForm):
    many = IdsField("Many", model=Pixel)
    one = OwnIdField("One", model=Pixel)


@pytest.fixture
def ids(session, alice, bob, make_pixel):
    return {"mine": make_pixel(alice).id, "also": make_pixel(alice).id, "his": make_pixel(bob).id}


def form_of(alice, *pairs):
    form = WithIds(RequestData(pairs), owner=access_of(alice))
    form.validate()
    return form


@pytest.mark.databases
def test_ids_are_a_set_of_ones_own(alice, ids):
    pairs = [("many", str(ids["also"])), ("many", str(ids["mine"])), ("many", str(ids["also"]))]
    form = form_of(alice, *pairs, ("one", str(ids["mine"])))
    assert form.changes == {"many": sorted([ids["mine"], ids["also"]]), "one": ids["mine"]}


def test_no_id(alice, ids):
    for text in ("", "0"):
        assert form_of(alice, ("one", text)).changes == {"one": None}, text


BAD_IDS = {
    "another user's": "his",
    "one that never was": "999999",
    "the largest": str(2**63 - 1),
    "one too large": str(2**63),
    "zero": "0",
    "negative": "-1",
    "a list in a text": "1,2",
    "no number": "x",
}


def test_ids_that_are_refused(alice, ids):
    for name, said in BAD_IDS.items():
        text = str(ids.get(said, said))
        assert [problem.field for problem in form_of(alice, ("many", text)).problems] == ["many"], name
        if text != "0":
            assert [problem.field for problem in form_of(alice, ("one", text)).problems] == ["one"], name


def test_a_million_ids_are_refused_before_they_reach_the_database(alice):
    sent = RequestData([("many", str(number)) for number in range(1, 20_000)])
    form = WithIds(sent, owner=access_of(alice))
    form.validate()
    assert [problem.code for problem in form.problems] == ["too_many"]
