"""Fixtures for the worker's loops: thrown faults, counted errors, threads, and two owners' links."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, insert
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.core.config import Settings
from app.core.database import engine_options, prepare_engine
from app.core.error_boundary import flush_counts, read_counts
from app.jobs.worker import WorkerThreads
from app.links.models import link_notification_handler

ERRORS: dict[str, Callable[[], Exception]] = {
    "a mistake of ours": lambda: RecursionError("maximum recursion depth exceeded"),
    "memory": MemoryError,
    "the system": lambda: PermissionError(13, "Permission denied"),
}


def raiser(make_error: Callable[[], Exception]) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise make_error()

    return fail


def count_errors(settings: Settings) -> int:
    """How many errors the metrics have by now."""
    flush_counts(settings.data_dir)
    return sum(read_counts(settings.data_dir).values())


@pytest.fixture
def throw(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`throw(module, "name", is_bad)`: calls for whose arguments `is_bad` is true raise an error."""

    def patch(owner: Any, name: str, is_bad: Callable[..., bool]) -> None:
        real = getattr(owner, name)

        def call(*args: Any, **options: Any) -> Any:
            if is_bad(*args):
                raise RecursionError("maximum recursion depth exceeded")
            return real(*args, **options)

        monkeypatch.setattr(owner, name, call)

    return patch


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    engine = create_engine(settings.database_url, **engine_options(settings))
    prepare_engine(engine, settings)
    yield engine
    engine.dispose()


@pytest.fixture
def beside(settings: Settings, session: Session) -> Iterator[WorkerThreads]:
    """The threads of the worker, not started."""
    beside = WorkerThreads(settings)
    yield beside
    beside.rate_limiter.close()
    beside.engine.dispose()


@pytest.fixture
def two_links(
    session: Session, alice: User, bob: User, make_link: Callable[..., Any], make_handler: Callable[..., Any]
) -> tuple[int, int]:
    """A link of alice and one of bob, each with a handler."""
    links = [make_link(user, location_url=f"https://{user.id}.example/").id for user in (alice, bob)]
    for user, link in zip((alice, bob), links, strict=True):
        row = {"link_id": link, "notification_handler_id": make_handler(user).id}
        session.execute(insert(link_notification_handler).values(**row))
    session.commit()
    return links[0], links[1]
