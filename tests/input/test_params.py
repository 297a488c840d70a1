"""The reader of query parameters: values, defaults, and all errors at once."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import Invalid
from app.input.params import MAX_CHARACTERS, ParamReader
from app.input.parsers import Rejected, parse_boolean

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
