"""Request data and query parameters: all spellings of a field mean the same, and all errors are said at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import Invalid
from app.input.data import RequestData, Upload
from app.input.params import MAX_CHARACTERS, ParamReader
from app.input.parsers import Rejected, parse_boolean

ARRAYS = {
    "one": ([("k", "a")], ["a"]),
    "repeated": ([("k", "a"), ("k", "b")], ["a", "b"]),
    "brackets": ([("k[]", "a"), ("k[]", "b")], ["a", "b"]),
    "indices": ([("k[0]", "a"), ("k[1]", "b")], ["a", "b"]),
    "indices out of order": ([("k[1]", "b"), ("k[0]", "a")], ["a", "b"]),
    "sparse": ([("k[7]", "b"), ("k[3]", "a")], ["a", "b"]),
    "leading zeros": ([("k[010]", "b"), ("k[9]", "a")], ["a", "b"]),
    "spellings mixed": ([("k[5]", "a"), ("k", "b"), ("k[]", "c")], ["a", "b", "c"]),
    "an index sent twice": ([("k[0]", "a"), ("k[0]", "b")], ["b"]),
    "empty members": ([("k", ""), ("k", "a"), ("k", "")], ["a"]),
    "sent empty": ([("k", "")], []),
    "commas": ([("k", "a,b")], ["a,b"]),
    "nothing trimmed": ([("k", " a ")], [" a "]),
    "an index of 4,000 digits": ([("k[" + "9" * 4000 + "]", "b"), ("k[1]", "a")], ["a", "b"]),
    "a file among texts": ([("k", Upload("f", b"x"))], [Upload("f", b"x")]),
}


@pytest.mark.parametrize(("pairs", "members"), ARRAYS.values(), ids=ARRAYS)
def test_members_of_an_array(pairs, members):
    assert [value for _, value in RequestData(pairs).members("k")] == members


NAMES = {
    "nothing inside": "[]",
    "two indices": "k[0][1]",
    "a word inside": "k[x]",
    "never closed": "k[0",
    "another script's digit": "k[١]",
    "a sign": "k[-1]",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_of_another_form_is_itself(name):
    sent = RequestData([(name, "a")])
    assert list(sent) == [name]
    assert "k" not in sent


def test_the_last_scalar_wins():
    assert RequestData([("k", "a"), ("k", "b")]).last("k") == "b"
    assert RequestData([("k[1]", "a"), ("k[0]", "b")]).last("k") == "b"


def test_index_and_value_stay_together():
    assert RequestData([("k[7]", "b"), ("k[3]", "a")]).members("k") == [(3, "a"), (7, "b")]


def test_renamed():
    sent = RequestData([("slack", "a"), ("name", "n")]).renamed({"slack": "chat_a"})
    assert sent.last("chat_a") == "a"
    assert sent.last("name") == "n"
    assert "slack" not in sent


def test_the_name_itself_wins_over_another_word_for_it():
    for pairs in ([("slack", "a"), ("chat_a", "b")], [("chat_a", "b"), ("slack", "a")]):
        assert RequestData(pairs).renamed({"slack": "chat_a"}).getlist("chat_a") == ["b"]


values = st.lists(st.text(max_size=5), max_size=20)


@given(values)
def test_every_spelling_of_a_list_reads_alike(members):
    repeated = RequestData(("k", value) for value in members)
    brackets = RequestData(("k[]", value) for value in members)
    indexed = RequestData((f"k[{i}]", value) for i, value in reversed(list(enumerate(members))))
    sparse = RequestData((f"k[{i * 37 + 5}]", value) for i, value in enumerate(members))
    lists = [sent.getlist("k") for sent in (repeated, brackets, indexed, sparse)]
    assert lists == [members] * 4
    assert [v for _, v in sparse.members("k")] == [v for v in members if v]


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=3)), max_size=20))
def test_nothing_that_was_sent_is_an_error(pairs):
    sent = RequestData(pairs)
    assert {name for name, _, _ in sent.pairs()} == set(sent)
    assert all(sent.last(name) == [value for key, value in pairs if key.partition("[")[0] == name][-1]
               for name in sent if "[" not in name and "]" not in name and name)  # fmt: skip


def test_ten_thousand_members_are_read_at_once():
    sent = RequestData(("k[]", str(number)) for number in range(10_000))
    assert len(sent.members("k")) == 10_000


READ = {
    "sent": ({"bots": "yes"}, False, True),
    "not sent": ({}, None, None),
    "sent empty": ({"bots": ""}, None, False),
    "sent empty where that counts as not sent": ({"bots": ""}, True, None),
    "another parameter": ({"bot": "yes"}, False, None),
}


@pytest.mark.parametrize(("params", "ignores_empty", "value"), READ.values(), ids=READ)
def test_a_parameter_is_read(params: dict[str, str], ignores_empty: Any, value: bool | None) -> None:
    reader = ParamReader(params, ignores_empty=bool(ignores_empty))
    assert reader.read("bots", None, parse_boolean) is value
    reader.require_valid()


def test_all_that_is_wrong_is_said_at_once() -> None:
    reader = ParamReader({"a": "maybe", "b": "x" * (MAX_CHARACTERS + 1), "c": "yes", "d": ""})
    assert [reader.read(name, None, parse_boolean) for name in "abcd"] == [None, None, True, False]
    assert reader.parse("e", "x", "default", parse_boolean) == "default"
    reader.add_problem("f", Rejected("This is too much.", "too_many"))
    with pytest.raises(Invalid) as caught:
        reader.require_valid()
    assert [(error.field, error.code) for error in caught.value.errors] == [
        ("a", "boolean"),
        ("b", "too_long"),
        ("e", "boolean"),
        ("f", "too_many"),
    ]


def test_a_parameter_may_have_a_bound_of_its_own() -> None:
    reader = ParamReader({"a": "x" * 9})
    assert reader.read("a", "", str, 9) == "x" * 9
    assert reader.read("a", "", str, 8) == ""
    assert [error.code for error in reader.problems] == ["too_long"]
