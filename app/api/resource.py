"""How are the five verbs of one kind of row answered? The same for all; a `Resource` says what is its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from flask import Blueprint, Response, request
from sqlalchemy.exc import IntegrityError
from werkzeug.routing import BaseConverter

from app import own_addresses
from app.accounts.models import User
from app.api import envelope
from app.api.auth import caller
from app.api.idempotency import Keep, once
from app.bodies import read_list_query, read_sent
from app.database import begin_write
from app.errors import Conflict, FieldError
from app.extensions import db
from app.forms import ResourceForm
from app.lists import Listing, find_page
from app.ownership import get_owned
from app.sent import Sent, Upload


class IdConverter(BaseConverter):
    """An id as the API writes it: no sign, no leading zero, ASCII (`int` takes digits of any script)."""

    regex = "[1-9][0-9]{0,18}"

    def to_python(self, value: str) -> int:
        return int(value)


class Services(Protocol):
    """What happens to rows of a kind: the module `services` of its package."""

    def update(self, row: Any, changes: dict[str, Any], /) -> Any: ...
    def delete(self, row: Any, /) -> object: ...


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One kind of row. `create` may make several at once; `present` describes rows, in their order."""

    path: str
    model: type[Any]
    form: type[ResourceForm]
    create: Callable[[User, dict[str, Any]], Any]
    services: Services
    listing: Listing[Any]
    present: Callable[[Sequence[Any]], list[dict[str, Any]]]

    def register(self, blueprint: Blueprint) -> None:
        one = f"{self.path}/<row_id:id>"
        name = self.path.strip("/")
        verbs: list[tuple[str, str, Callable[..., Response]]] = [
            (self.path, "GET", self.find),
            (self.path, "POST", self.post),
            (one, "GET", self.read),
            (one, "POST", self.update),
            (one, "DELETE", self.delete),
        ]
        for rule, method, view in verbs:
            blueprint.add_url_rule(
                rule, f"{name}_{view.__name__}", view, methods=[method], strict_slashes=False
            )

    def find(self) -> Response:
        page = find_page(self.listing, caller().id, dict(read_list_query()))
        return envelope.listed(page, self.present(page.rows))

    def read(self, id: int) -> Response:
        return envelope.answer({"data": self.present([self.mine(id)])[0]})

    def post(self) -> Response:
        sent = self.sent()
        return once(caller().id, sent, lambda keep: again(lambda: self.make(sent, keep)))

    def make(self, sent: Sent, keep: Keep) -> Response:
        form = self.checked(sent)
        begin_write(db.session)
        made = self.create(caller(), form.changes)
        rows = made if isinstance(made, list) else [made]
        answer = self.written(rows, 201, is_many=isinstance(made, list))
        answer.headers["Location"] = f"{own_addresses.owners_site()}/api{self.path}/{rows[0].id}"
        keep(answer)
        db.session.commit()
        return answer

    def update(self, id: int) -> Response:
        sent = self.sent()
        return again(lambda: self.change(id, sent))

    def change(self, id: int, sent: Sent) -> Response:
        form = self.checked(sent, self.mine(id))
        begin_write(db.session)
        # once more, for it may be gone by now
        row = self.services.update(self.mine(id), form.changes)
        answer = self.written([row], 200)
        db.session.commit()
        return answer

    def delete(self, id: int) -> Response:
        begin_write(db.session)
        self.services.delete(self.mine(id))
        db.session.commit()
        return Response(status=204)

    def sent(self) -> Sent:
        found = read_sent()
        if any(isinstance(value, Upload) for _, _, value in found.pairs()):
            self.form.refuse_large_files(found)
        return found

    def mine(self, id: int) -> Any:
        return get_owned(caller(), self.model, id)

    def checked(self, sent: Sent, stored: Any = None) -> ResourceForm:
        form = self.form(
            sent, owner=caller(), stored=stored, settings=own_addresses.settings(), host=request.host
        )
        form.require_valid()
        return form

    def written(self, rows: Sequence[Any], status: int, *, is_many: bool = False) -> Response:
        """The answer to a write, made before the commit, so that it tells of exactly what is written."""
        if is_many:
            ids = [row.id for row in rows]
            return envelope.answer({"data": {"id": ids[0], "ids": ids}}, status)
        if not envelope.prefers_whole():
            return envelope.answer({"data": {"id": rows[0].id}}, status)
        answer = envelope.answer({"data": self.present(rows)[0]}, status)
        answer.headers["Preference-Applied"] = "return=representation"
        return answer


def again(write: Callable[[], Response]) -> Response:
    """Once more where another request changed, between check and write, what this one stands on.

    The second time its check finds what is wrong and says so.
    """
    try:
        return write()
    except IntegrityError:
        db.session.rollback()
    try:
        return write()
    except IntegrityError:
        text = "Another request is changing the same thing; try again."
        raise Conflict(FieldError(text, "conflict")) from None
