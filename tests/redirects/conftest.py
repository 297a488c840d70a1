"""Fixtures for tests of visits: a redirect context, a front, and requests as a server makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.orm import Session, scoped_session
from werkzeug.test import EnvironBuilder, TestResponse, run_wsgi_app

from app.accounts.models import User
from app.journal.codec import Visit, decode
from app.links.models import PlanChange
from app.redirects.context import RedirectContext
from app.redirects.wsgi import Front
from tests.server import BROWSER

PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1"


@pytest.fixture
def redirect_context(app: Flask) -> Iterator[RedirectContext]:
    redirect_context: RedirectContext = app.extensions["redirects"]
    yield redirect_context
    redirect_context.close()


@pytest.fixture
def front(app: Flask, redirect_context: RedirectContext) -> Front:
    return Front(app.wsgi_app, redirect_context)


class Person:
    """A visitor with a browser. Sends requests to a front as a server would."""

    def __init__(self, front: Front) -> None:
        self.front = front

    def open(
        self,
        path: str,
        *,
        method: str = "GET",
        host: str = "localhost",
        agent: str | None = BROWSER,
        **more: Any,
    ) -> TestResponse:
        headers = {
            "Host": host,
            **({"User-Agent": agent} if agent is not None else {}),
            **more.pop("headers", {}),
        }
        environ = EnvironBuilder(path=path, method=method, headers=headers, **more).get_environ()
        return self.raw(environ)

    def raw(self, environ: dict[str, Any]) -> TestResponse:
        request_environ = dict(environ)
        body, status, headers = run_wsgi_app(self.front, environ, buffered=True)
        return TestResponse(body, status, headers, request_environ)  # type: ignore[arg-type]


@pytest.fixture
def person(front: Front) -> Person:
    return Person(front)


@pytest.fixture
def visits(redirect_context: RedirectContext) -> Callable[[], list[Visit]]:
    """Every visit that is in the journal now."""

    def read() -> list[Visit]:
        segments = sorted((redirect_context.settings.data_dir / "journal").glob("*.v1"))
        lines = [line for path in segments for line in path.read_bytes().split(b"\n") if line]
        found = [decode(line) for line in lines]
        assert None not in found
        return [visit for visit in found if visit]

    return read


@pytest.fixture
def change(session: scoped_session[Session]) -> Callable[..., None]:
    """Change a link as its service does: together with the row that invalidates its compiled link."""

    def change(link: Any, **columns: Any) -> None:
        for name, value in columns.items():
            setattr(link, name, value)
        session.add(PlanChange(domain_id=link.domain_id or 0, alias=link.url.casefold()))
        session.commit()

    return change


@pytest.fixture
def owner(alice: User) -> User:
    return alice
