"""What turns a method that builds a call into a typed method of both clients.

`Links[Sync].read(1)` returns a `Link`, and `Links[Async].read(1)` an awaitable of one; both are the same
function below, and the type checker knows which is which by the client's mode.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from waypost_client.calls import Call, Endpoint
from waypost_client.drivers import PAGE_SIZE
from waypost_client.objects import Page


class Sync:
    """Mode of the client for threads."""


class Async:
    """Mode of the client for asyncio."""


P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", Sync, Async)


class Resource(Generic[M]):
    """A group of operations; `driver` sends their calls."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver


class Operation(Generic[P, T]):
    """A method of a resource: builds a call, and has the driver send it."""

    def __init__(self, endpoint: Endpoint, build: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self.endpoint, self.build = endpoint, build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, resource: Resource[Sync], owner: object = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, resource: Resource[Async], owner: object = None) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, resource: None, owner: object = None) -> Operation[P, T]: ...
    def __get__(self, resource: Any, owner: object = None) -> Any:
        if resource is None:
            return self

        def send(*args: P.args, **kwargs: P.kwargs) -> Any:
            return resource.driver.send(self.endpoint, self.build(resource, *args, **kwargs))

        return update_wrapper(send, self.build)


class Listing(Generic[P, T]):
    """A method of a resource that iterates over all rows of a list, page by page."""

    def __init__(self, page: Operation[P, Page[T]]) -> None:
        self.page = page
        self.__doc__ = page.__doc__

    @overload
    def __get__(self, resource: Resource[Sync], owner: object = None) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, resource: Resource[Async], owner: object = None) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, resource: None, owner: object = None) -> Listing[P, T]: ...
    def __get__(self, resource: Any, owner: object = None) -> Any:
        if resource is None:
            return self

        def iterate(*args: P.args, **kwargs: P.kwargs) -> Any:
            call = self.page.build(resource, *args, **kwargs)
            first = int(call.query.get("page", 1))
            query = {"results_per_page": PAGE_SIZE, **call.query}
            return resource.driver.pages(
                self.page.endpoint,
                lambda number: replace(call, query={**query, "page": number}),
                first,
            )

        return update_wrapper(iterate, self.page.build)


def operation(
    name: str,
    method: str,
    path: str,
    *,
    is_create: bool = False,
    needs_key: bool = True,
    sends: tuple[str, ...] = (),
) -> Callable[[Callable[Concatenate[Any, P], Call[T]]], Operation[P, T]]:
    """Decorator: the method is this operation of the API.

    `name`: its id in the OpenAPI document. `sends`: fields that it sends by itself, beside its arguments.
    """
    endpoint = Endpoint(name, method, path, is_create, needs_key, sends)

    def decorate(build: Callable[Concatenate[Any, P], Call[T]]) -> Operation[P, T]:
        return Operation(endpoint, build)

    return decorate
