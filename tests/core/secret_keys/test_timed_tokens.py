"""Timed tokens: only their purpose reads them, for a limited time, also after the keys have changed."""

from __future__ import annotations

import pytest
import time_machine
from itsdangerous import BadSignature

from app.core.secret_keys.ring import SecretKeys, use_keys
from app.core.secret_keys.timed_tokens import TimedTokens
from tests.keys import secret_keys

OLD, NEW = "the key of before, long enough", "the key of now, also long enough"


@pytest.fixture(autouse=True)
def _known_keys() -> None:
    use_keys(SecretKeys(OLD))


@pytest.fixture
def tokens() -> TimedTokens:
    return TimedTokens("waypost: a test", 600)


def test_what_was_signed_is_read(tokens: TimedTokens) -> None:
    assert tokens.read(tokens.sign(["a", 1])) == ["a", 1]


def test_a_token_of_before_is_read_while_the_old_key_is_known(tokens: TimedTokens) -> None:
    token = tokens.sign("a")
    with secret_keys(NEW, OLD):
        assert tokens.read(token) == "a"
        later = tokens.sign("b")
    with pytest.raises(BadSignature):
        tokens.read(later)


def test_a_retired_key_signs_nothing_any_more(tokens: TimedTokens) -> None:
    token = tokens.sign("a")
    with secret_keys(NEW), pytest.raises(BadSignature):
        tokens.read(token)


def test_no_token_is_good_for_another_purpose(tokens: TimedTokens) -> None:
    with pytest.raises(BadSignature):
        TimedTokens("waypost: another", 600).read(tokens.sign("a"))


def test_it_expires(tokens: TimedTokens) -> None:
    with time_machine.travel(1_800_000_000, tick=False) as moment:
        token = tokens.sign("a")
        moment.shift(600)
        assert tokens.read(token) == "a"
        moment.shift(1)
        with pytest.raises(BadSignature):
            tokens.read(token)
