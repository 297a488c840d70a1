"""Timed tokens: only their purpose reads them, for a limited time, also after the keys have changed."""

from __future__ import annotations

from contextlib import nullcontext

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


TOKENS = TimedTokens("waypost: a test", 600)
READ: dict[str, tuple[TimedTokens, tuple[str, ...], int, bool]] = {
    # who reads, with which keys, how many seconds later, and whether they can
    "what was signed": (TOKENS, (OLD,), 0, True),
    "of before, while the old key is known": (TOKENS, (NEW, OLD), 0, True),
    "of a key that is retired": (TOKENS, (NEW,), 0, False),
    "of another purpose": (TimedTokens("waypost: another", 600), (OLD,), 0, False),
    "at its last second": (TOKENS, (OLD,), 600, True),
    "a second later": (TOKENS, (OLD,), 601, False),
}


@pytest.mark.parametrize(("reader", "keys", "seconds", "is_read"), READ.values(), ids=READ)
def test_what_is_read(reader: TimedTokens, keys: tuple[str, ...], seconds: int, is_read: bool) -> None:
    with time_machine.travel(1_800_000_000, tick=False) as moment:
        token = TOKENS.sign(["a", 1])
        moment.shift(seconds)
        with secret_keys(*keys), nullcontext() if is_read else pytest.raises(BadSignature):
            assert reader.read(token) == ["a", 1]


def test_the_current_key_signs() -> None:
    with secret_keys(NEW, OLD):
        token = TOKENS.sign("a")
    with pytest.raises(BadSignature):
        TOKENS.read(token)
