"""Error boundary of the worker's loops: what it catches, counts and backs off."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy.exc import DataError, OperationalError

from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary, flush_counts, read_counts
from tests.loops.conftest import ERRORS

AWAY = OperationalError("SELECT", {}, ValueError("no answer"))
ALL_ERRORS = [make() for make in ERRORS.values()] + [DataError("INSERT", {}, ValueError("too long")), AWAY]


@pytest.mark.parametrize("error", ALL_ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_ends_neither_the_loop_nor_a_batch(error: Exception) -> None:
    boundary, done = ErrorBoundary("a loop"), []

    def work(some: Any) -> None:
        if "bad" in some:
            raise error
        done.extend(some)

    for item in ("bad", "good"):
        boundary.run(item, work, [item])
    assert done == ["good"]
    assert boundary.each(["one", "bad", "two"], work) == [("bad", error)]
    assert done == ["good", "one", "two"]
    assert boundary.backed_off(str) == ["bad"]
    assert boundary.run("bad", done.append, "bad") is None, "it waits"
    assert done == ["good", "one", "two"]


def test_an_item_waits_twice_as_long_each_time_and_goes_on_when_it_works(
    caplog: pytest.LogCaptureFixture,
) -> None:
    boundary = ErrorBoundary("a loop", first_seconds=10.0, max_seconds=35.0)
    seconds = []
    for _ in range(4):
        with boundary.attempt("one") as made:
            raise ValueError("broken")
        seconds.append(made.seconds)
    assert seconds == [10.0, 20.0, 35.0, 35.0]
    assert boundary.is_backed_off("one")
    assert not boundary.is_backed_off("two")
    assert caplog.text.count("item one failed") == 1, "the same is said once a minute"
    with boundary.attempt("one"):
        pass
    assert not boundary.is_backed_off("one")


def test_where_the_database_is_away_no_item_is_to_blame() -> None:
    boundary = ErrorBoundary("a loop")
    for item in (1, 2):
        with boundary.attempt(item) as made:
            raise AWAY
        assert made.seconds == 1.0
    with pytest.raises(OperationalError), boundary.attempt(3):
        raise AWAY


@pytest.mark.settings(METRICS_TOKEN="token of the tests")
def test_errors_are_counted_for_metrics(client: FlaskClient, settings: Settings) -> None:
    boundary = ErrorBoundary("a loop in the metrics")
    for item in ("one", "two", "one"):
        with boundary.attempt(item):
            raise ValueError(item)
    flush_counts(settings.data_dir)
    flush_counts(settings.data_dir)
    with boundary.attempt("one"):
        raise ValueError
    flush_counts(settings.data_dir)
    text = client.get("/metrics", headers={"Authorization": "Bearer token of the tests"}).text
    assert "# TYPE waypost_worker_errors_total counter\n" in text
    assert 'waypost_worker_errors_total{loop="a loop in the metrics"} 4\n' in text
    (settings.data_dir / "worker-errors.json").write_text('{"a l')
    assert read_counts(settings.data_dir) == {}, "half a file, as after a power cut"
