"""Makes users, keys, links, pixels and handlers for tests, straight in the database."""

from __future__ import annotations

import itertools
import secrets
import unicodedata
from typing import Any, TypeVar

from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import ApiKey, User
from app.accounts.workspaces import access_of
from app.analytics.sharing.models import StatisticsShare
from app.domains.models import Domain
from app.links.models import Alias, Link, LinkTag
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project

PASSWORD = "correct horse battery staple"
Row = TypeVar("Row")


class Factory:
    """Makes rows and commits them. Fields that a test does not name get a unique or default value."""

    def __init__(self, session: scoped_session[Session]) -> None:
        self.session = session
        self.numbers = itertools.count(1)

    def add(self, row: Row) -> Row:
        self.session.add(row)
        self.session.commit()
        return row

    def user(self, email: str | None = None, password: str = PASSWORD, **columns: Any) -> User:
        from tests.users import create_user

        user = create_user(email or f"user{next(self.numbers)}@example.com", password)
        for name, value in columns.items():
            setattr(user, name, value)
        self.session.commit()
        return user

    def key(self, user: User, scope: str = "write", name: str = "test", **columns: Any) -> tuple[ApiKey, str]:
        """The row and the key's text, which is stored nowhere."""
        from app.accounts.keys import create_key

        key, text = create_key(access_of(user), name, scope)
        for column, value in columns.items():
            setattr(key, column, value)
        self.session.commit()
        return key, text

    def link(self, user: User, url: str | None = None, *, tags: tuple[str, ...] = (), **columns: Any) -> Link:
        url = url or f"link-{next(self.numbers)}-{secrets.token_hex(3)}"
        columns.setdefault("location_url", "https://example.com/somewhere")
        link = Link(**access_of(user).row_columns, url=url, **columns)
        link.tag_rows = [LinkTag(tag=tag, position=i) for i, tag in enumerate(tags)]
        self.session.add(link)
        self.session.flush()
        key = unicodedata.normalize("NFC", url).casefold()
        return self.own(
            link,
            Alias(
                domain_id=link.domain_id or 0,
                key=key,
                link_id=link.id,
                workspace_id=access_of(user).workspace_id,
            ),
        )

    def own(self, link: Link, alias: Alias) -> Link:
        self.add(alias)
        return link

    def pixel(self, user: User, type: str = "social_a", **columns: Any) -> Pixel:
        number = next(self.numbers)
        return self.add(Pixel(**access_of(user).row_columns, type=type, **{"name": f"Pixel {number}", "pixel": f"{number}", **columns}))  # fmt: skip

    def project(self, user: User, **columns: Any) -> Project:
        return self.add(
            Project(**access_of(user).row_columns, **{"name": f"Project {next(self.numbers)}", **columns})
        )

    def domain(self, user: User, host: str | None = None, **columns: Any) -> Domain:
        """A domain, verified unless the test says otherwise."""
        host = host or f"go{next(self.numbers)}.example"
        columns = {"is_verified": True, "token": secrets.token_hex(16), **columns}
        return self.add(Domain(**access_of(user).row_columns, host=host, **columns))

    def handler(self, user: User, type: str = "email", **columns: Any) -> NotificationHandler:
        settings = {"email": "owner@example.com"} if type == "email" else {}
        columns = {"name": f"Handler {next(self.numbers)}", "settings": settings, **columns}
        return self.add(NotificationHandler(**access_of(user).row_columns, type=type, **columns))

    def share(self, user: User, **columns: Any) -> tuple[StatisticsShare, str]:
        """A share address of all the user's links, unless the test says otherwise, and its token."""
        from app.analytics.sharing.services import create

        changes = {"name": f"Share {next(self.numbers)}", "parts": ["country_code"], **columns}
        share, token = create(access_of(user), changes)
        self.session.commit()
        return share, token
