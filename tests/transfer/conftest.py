"""A table that somebody brings, in an import of hers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.accounts.models import User
from app.config import Settings
from app.transfer import columns, files, tables, taking
from app.transfer.models import LinkImport


@pytest.fixture
def bring(session, settings: Settings) -> Callable[..., LinkImport]:
    """`bring(user, text)`: her import of this table, its columns guessed, to be `taking`."""

    def make(user: User, text: str, state: str = "taking", **values: object) -> LinkImport:
        path = files.new_file(settings.data_dir)
        path.write_bytes(text.encode())
        found = columns.guess(tables.open_table(path).columns)
        job = LinkImport(user_id=user.id, name="links.csv", file=path.name, columns=found, **values)
        session.add(job)
        session.flush()
        taking.start(job, state)
        session.commit()
        return job

    return make
