"""The five operations of one kind of row. A subclass of `Resource` has what differs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

from flask import Response, request
from sqlalchemy.exc import IntegrityError
from werkzeug.routing import BaseConverter

from app.accounts.access import Access, get_owned, read_owned
from app.api import envelope
from app.api.auth import request_access
from app.api.blueprint import blueprint
from app.api.idempotency import Keep, answer_once
from app.api.preconditions import Conditions, entity_tag, read_conditions
from app.core.database import begin_write, reread
from app.core.errors import Conflict, FieldError
from app.core.extensions import db
from app.input.data import RequestData, Upload
from app.input.forms import ResourceForm
from app.input.listing import find_page, load_columns
from app.openapi.resources import RESOURCES, ResourceDescription
from app.web import application, urls
from app.web.body import read_list_query, read_sent


class IdConverter(BaseConverter):
    """An id in a path: ASCII digits without sign or leading zero (`int` accepts digits of any script)."""

    regex = "[1-9][0-9]{0,18}"

    def to_python(self, value: str) -> int:
        return int(value)


class Services(Protocol):
    """Changes rows of one kind: the module `services` of its package."""

    def create(self, access: Access, changes: dict[str, Any], /) -> Any: ...
    def update(self, row: Any, changes: dict[str, Any], /) -> Any: ...
    def delete(self, row: Any, /) -> object: ...


class Resource(ABC):
    """One kind of row, at the paths of `collection_route` and `row_route`."""

    path: ClassVar[str]
    services: Services

    @property
    def description(self) -> ResourceDescription:
        return RESOURCES[self.path]

    @abstractmethod
    def present(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        """Turns rows, or their columns alone, into objects, in order."""

    def present_new(self, row: Any) -> dict[str, Any]:
        """Turns a row that this transaction has created into the object that `present` makes of it."""
        return self.present([row])[0]

    def hidden_state(self, row: Any) -> object:  # noqa: ARG002  rows of most kinds have none
        """What an edit changes and no answer shows: the entity tag covers it, too."""
        return None

    def create(self, access: Access, changes: dict[str, Any]) -> Any:
        """Creates a row, or several at once."""
        return self.services.create(access, changes)

    def find(self) -> Response:
        params = dict(read_list_query())
        page = find_page(self.description.listing, request_access().workspace_id, params, load_columns)
        return envelope.listed(page, self.present(page.rows))

    def read(self, id: int) -> Response:
        conditions = read_conditions()
        row = read_owned(request_access(), self.description.model, id)
        shown = self.present([row])[0]
        tag = entity_tag(shown, self.hidden_state(row))
        conditions.require_match(tag)
        if conditions.is_known(tag):
            return Response(status=304, headers={"ETag": tag})
        return envelope.json_response({"data": shown}, headers={"ETag": tag})

    def post(self) -> Response:
        sent = self.request_data()
        return answer_once(request_access(), sent, lambda keep: retry_once(lambda: self.make(sent, keep)))

    def make(self, sent: RequestData, keep: Keep) -> Response:
        form = self.checked(sent)
        begin_write(db.session)
        made = self.create(request_access(), form.changes)
        is_many = isinstance(made, list)
        answer = answer_to_bulk(made) if is_many else self.answer_to_write(made, self.present_new(made), 201)
        first = made[0] if is_many else made
        answer.headers["Location"] = f"{urls.dashboard_site()}/api{self.path}/{first.id}"
        keep(answer)
        db.session.commit()
        return answer

    def update(self, id: int) -> Response:
        sent, conditions = self.request_data(), read_conditions()
        return retry_once(lambda: self.change(id, sent, conditions))

    def change(self, id: int, sent: RequestData, conditions: Conditions) -> Response:
        row = self.mine(id)
        self.require(conditions, row)
        form = self.checked(sent, row)
        begin_write(db.session)
        # read again, since it may have been deleted or changed before the write began
        row = self.services.update(self.mine_to_write(id, conditions), form.changes)
        answer = self.answer_to_write(row, self.present([row])[0], 200)
        db.session.commit()
        return answer

    def delete(self, id: int) -> Response:
        conditions = read_conditions()
        begin_write(db.session)
        self.services.delete(self.mine_to_write(id, conditions))
        db.session.commit()
        return Response(status=204)

    def request_data(self) -> RequestData:
        found = read_sent()
        if any(isinstance(value, Upload) for _, _, value in found.pairs()):
            self.description.form.refuse_large_files(found)
        return found

    def mine(self, id: int) -> Any:
        return get_owned(request_access(), self.description.model, id)

    def mine_to_write(self, id: int, conditions: Conditions) -> Any:
        """The row inside the write. One with conditions is locked, so that they hold until the commit."""
        row = self.mine(id)
        if not conditions.is_empty:
            reread(db.session, row)
            self.require(conditions, row)
        return row

    def require(self, conditions: Conditions, row: Any) -> None:
        """Raises PreconditionFailed where the row's state is not the one that the request wants."""
        if not conditions.is_empty:
            conditions.require(entity_tag(self.present([row])[0], self.hidden_state(row)))

    def checked(self, sent: RequestData, stored: Any = None) -> ResourceForm:
        form = self.description.form(
            sent,
            owner=request_access(),
            stored=stored,
            settings=application.settings(),
            host=request.host,
        )
        form.require_valid()
        return form

    def answer_to_write(self, row: Any, shown: dict[str, Any], status: int) -> Response:
        """The answer to a write, made before the commit, so that `shown` is exactly what was written."""
        is_whole = envelope.prefers_whole()
        answer = envelope.json_response({"data": shown if is_whole else {"id": row.id}}, status)
        answer.headers["ETag"] = entity_tag(shown, self.hidden_state(row))
        if is_whole:
            answer.headers["Preference-Applied"] = "return=representation"
        return answer


def answer_to_bulk(rows: Sequence[Any]) -> Response:
    ids = [row.id for row in rows]
    return envelope.json_response({"data": {"id": ids[0], "ids": ids}}, 201)


ResourceClass = TypeVar("ResourceClass", bound=type[Resource])


def collection_route(rule: str) -> Callable[[ResourceClass], ResourceClass]:
    """Class decorator: at this path GET lists the rows, and POST creates one."""

    def add(cls: ResourceClass) -> ResourceClass:
        cls.path = rule
        resource = cls()
        add_rule(rule, "GET", resource.find)
        add_rule(rule, "POST", resource.post)
        return cls

    return add


def row_route(rule: str) -> Callable[[ResourceClass], ResourceClass]:
    """Class decorator: at this path GET reads a row, POST updates it, and DELETE deletes it."""

    def add(cls: ResourceClass) -> ResourceClass:
        resource = cls()
        add_rule(rule, "GET", resource.read)
        add_rule(rule, "POST", resource.update)
        add_rule(rule, "DELETE", resource.delete)
        return cls

    return add


def add_rule(rule: str, method: str, view: Callable[..., Response]) -> None:
    name = name_of(rule)
    blueprint.add_url_rule(rule, f"{name}_{view.__name__}", view, methods=[method], strict_slashes=False)


def name_of(rule: str) -> str:
    """`workspace-members` for the path `/workspace/members/<row_id:id>`."""
    return rule.partition("/<")[0].strip("/").replace("/", "-")


def retry_once(write: Callable[[], Response]) -> Response:
    """Retries a write once if another request changed, between check and write, what it depends on.

    The second time its check finds and reports the conflict.
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
