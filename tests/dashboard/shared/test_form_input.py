"""Form input: how the dashboard's fields become the fields that the forms read."""

from __future__ import annotations

import pytest

from app.dashboard.shared.form_input import complete, link_fields
from app.input.data import RequestData, Upload


@pytest.mark.parametrize(
    ("typed", "read"),
    {
        "bare host": ("example.com", "https://example.com"),
        "bare host with the rest": ("example.com/a?b#c", "https://example.com/a?b#c"),
        "port": ("example.com:8080/a", "https://example.com:8080/a"),
        "around": ("  https://example.com/ \n", "https://example.com/"),
        "other letters": ("bücher.example", "https://bücher.example"),
        "as it is": ("http://example.com", "http://example.com"),
        "script": ("javascript:alert(1)", "javascript:alert(1)"),
        "script with a dot": ("javascript:a.b", "javascript:a.b"),
        "mail": ("mailto:a@example.com", "mailto:a@example.com"),
        "login": ("me@example.com", "me@example.com"),
        "a word": ("example", "example"),
        "two words": ("two words.com", "two words.com"),
        "empty": ("", ""),
    }.values(),
)
def test_addresses(typed: str, read: str) -> None:
    assert complete(typed) == read


def test_tags_stand_one_a_line() -> None:
    sent = link_fields(RequestData([("tags", "red\r\na, b\r\n")]))
    assert sent.getlist("tags") == ["red", "a, b"]


def test_no_tags_are_sent_as_none() -> None:
    sent = link_fields(RequestData([("tags", "")]))
    assert "tags" in sent
    assert sent.members("tags") == []


def test_lines_keep_their_numbers() -> None:
    sent = link_fields(RequestData([("location_urls", "a.example\r\n\r\n b.example")]))
    assert sent.last("location_urls") == "https://a.example\n\nhttps://b.example"


def test_a_ticked_removal_is_an_empty_picture() -> None:
    sent = link_fields(RequestData([("remove_cloaking_favicon", "1")]))
    assert sent.last("cloaking_favicon") == ""
    assert "remove_cloaking_favicon" not in sent


def test_a_new_picture_is_stronger_than_its_removal() -> None:
    picture = Upload("a.png", b"a")
    sent = link_fields(RequestData([("cloaking_favicon", picture), ("remove_cloaking_favicon", "1")]))
    assert sent.last("cloaking_favicon") == picture


def test_the_rest_goes_through_as_it_came() -> None:
    pairs = [("is_enabled", "0"), ("is_enabled", "1"), ("pixels_ids", ""), ("pixels_ids", "3")]
    sent = link_fields(
        RequestData([*pairs, ("targeting_rotation_key[]", "5"), ("targeting_rotation_key[]", "")])
    )
    assert sent.last("is_enabled") == "1"
    assert sent.members("pixels_ids") == [(1, "3")]
    assert sent.getlist("targeting_rotation_key") == ["5", ""]
