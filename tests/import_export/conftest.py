"""Fixtures for imports of a table."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.config import Settings
from app.import_export import columns, files, runs, services, tables
from app.import_export.exporter import export
from app.import_export.models import LinkImport


@pytest.fixture
def bring(session, settings: Settings) -> Callable[..., LinkImport]:
    """`bring(user, text)`: the user's import of this table, with guessed columns, in the state `taking`."""

    def make(user: User, text: str | bytes, state: str = "taking", **values: object) -> LinkImport:
        path = files.new_file(settings.data_dir)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        found = columns.guess(tables.open_table(path).columns)
        chosen = {"columns": found, **values}
        job = LinkImport(**access_of(user).row_columns, name="links.csv", file=path.name, **chosen)
        session.add(job)
        session.flush()
        services.start(job, state)
        session.commit()
        return job

    return make


@pytest.fixture
def take(session: Session, settings: Settings, bring: Callable[..., LinkImport]) -> Callable[..., LinkImport]:
    """`take(user, text)`: the user's import of this table, run to its end."""

    def run(user: User, text: str | bytes, state: str = "taking", **values: object) -> LinkImport:
        job = bring(user, text, state, **values)
        runs.run(job.id, settings)
        found = session.get(LinkImport, job.id, populate_existing=True)
        assert found
        return found

    return run


@pytest.fixture
def upload(session: Session, settings: Settings) -> Callable[..., LinkImport]:
    """`upload(user, content)`: what the dashboard and the worker do with this file, whose columns are guessed."""

    def run(user: User, content: bytes, state: str = "taking") -> LinkImport:
        path = files.new_file(settings.data_dir)
        path.write_bytes(content)
        looked = services.look(path)
        job = services.bring(access_of(user), path, "links", looked)
        table = tables.open_table(path)
        fields = {column: field for field, column in looked.columns.items()}
        services.choose(job, table, fields, columns.date_orders(table, looked.columns))
        session.flush()
        services.start(job, state)
        session.commit()
        runs.run(job.id, settings)
        return session.get_one(LinkImport, job.id, populate_existing=True)

    return run


def exported(user: User, kind: str = "csv", **asked: object) -> str:
    """All links of a user, or those that are asked for, in a file of this kind."""
    return "".join(export(user.id, asked, kind, lambda url, site: f"{site or 'https://s.test'}/{url}"))
