"""Every operation of the API, once for both clients. A new one is a method here.

Its signature is what it accepts (fields and filters are in `fields`), its result an object of `objects`.
`tests/test_openapi.py` compares all three with the OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from waypost_client.calls import Call, feed_page, file, many, nothing, one, page, plain
from waypost_client.fields import (
    AuditFilters,
    DeliveryFilters,
    DomainFields,
    DomainFilters,
    DomainOptions,
    HandlerFields,
    HandlerFilters,
    HandlerSettings,
    LinkFields,
    LinkFilters,
    LinkOptions,
    MemberFilters,
    PixelFields,
    PixelFilters,
    ProjectFields,
    ProjectFilters,
    QrLook,
    StatisticsFilters,
    SubscriptionFilters,
    SubscriptionOptions,
    TrashFilters,
    VisitorProfile,
)
from waypost_client.objects import (
    AuditEntry,
    Created,
    Delivery,
    Domain,
    Explanation,
    FeedPage,
    File,
    Invitation,
    Link,
    Member,
    NotificationHandler,
    Page,
    Pixel,
    Project,
    PushedBody,
    StatisticsRow,
    Subscription,
    Trashed,
    Trial,
    User,
    Verification,
    Workspace,
)
from waypost_client.operation import Listing, M, Resource, operation


class Links(Resource[M]):
    """Short links."""

    @operation("links_find", "GET", "/links")
    def page(self, **filters: Unpack[LinkFilters]) -> Call[Page[Link]]:
        """One page of the links."""
        return Call(page(Link), query=filters)

    find = Listing(page)

    @operation("links_post", "POST", "/links", is_create=True)
    def create(
        self,
        location_url: str,
        url: str | None = None,
        *,
        idempotency_key: str | None = None,
        **options: Unpack[LinkOptions],
    ) -> Call[Link]:
        """Creates a link to `location_url`; without `url` its alias is random."""
        body = given(url=url) | {"location_url": location_url, **options}
        return Call(one(Link), body=body, idempotency_key=idempotency_key, wants_whole=True)

    @operation("links_post", "POST", "/links", is_create=True, sends=("is_bulk",))
    def create_bulk(
        self,
        location_urls: Sequence[str],
        *,
        idempotency_key: str | None = None,
        **options: Unpack[LinkOptions],
    ) -> Call[Created]:
        """Creates a link for each of up to 1,000 destinations with the same options: all, or none."""
        body = {"is_bulk": True, "location_urls": list(location_urls), **options}
        return Call(one(Created), body=body, idempotency_key=idempotency_key)

    @operation("links_read", "GET", "/links/{id}")
    def read(self, id: int, *, if_match: str | None = None, if_none_match: str | None = None) -> Call[Link]:
        """Reads one. Raises NotModified where it is still as `if_none_match` says."""
        return Call(one(Link), {"id": id}, if_match=if_match, if_none_match=if_none_match)

    @operation("links_update", "POST", "/links/{id}")
    def update(
        self,
        id: int,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        **fields: Unpack[LinkFields],
    ) -> Call[Link]:
        """Changes what is given; `None` clears a field. `if_match`: only if its `etag` is still this one."""
        return Call(
            one(Link),
            {"id": id},
            body=fields,
            wants_whole=True,
            if_match=if_match,
            if_none_match=if_none_match,
        )

    @operation("links_delete", "DELETE", "/links/{id}")
    def delete(self, id: int, *, if_match: str | None = None, if_none_match: str | None = None) -> Call[None]:
        """Moves a link to the trash."""
        return Call(nothing, {"id": id}, if_match=if_match, if_none_match=if_none_match)

    @operation("links_explain", "GET", "/links/{id}/explain")
    def explain(self, id: int, **visitor: Unpack[VisitorProfile]) -> Call[Explanation]:
        """What such a visitor would get, and why. Counts nothing."""
        return Call(one(Explanation), {"id": id}, query=visitor)

    @operation("links_qr", "GET", "/links/{id}/qr")
    def qr(self, id: int, format: str = "svg", **look: Unpack[QrLook]) -> Call[File]:
        """The QR code of a link, as `svg` or `png`."""
        return Call(file, {"id": id}, query={"format": format, **look})


class Pixels(Resource[M]):
    """Tracking pixels."""

    @operation("pixels_find", "GET", "/pixels")
    def page(self, **filters: Unpack[PixelFilters]) -> Call[Page[Pixel]]:
        """One page of the pixels."""
        return Call(page(Pixel), query=filters)

    find = Listing(page)

    @operation("pixels_post", "POST", "/pixels", is_create=True)
    def create(self, type: str, name: str, pixel: str, *, idempotency_key: str | None = None) -> Call[Pixel]:
        body = {"type": type, "name": name, "pixel": pixel}
        return Call(one(Pixel), body=body, idempotency_key=idempotency_key, wants_whole=True)

    @operation("pixels_read", "GET", "/pixels/{id}")
    def read(self, id: int, *, if_match: str | None = None, if_none_match: str | None = None) -> Call[Pixel]:
        """Reads one. Raises NotModified where it is still as `if_none_match` says."""
        return Call(one(Pixel), {"id": id}, if_match=if_match, if_none_match=if_none_match)

    @operation("pixels_update", "POST", "/pixels/{id}")
    def update(
        self,
        id: int,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        **fields: Unpack[PixelFields],
    ) -> Call[Pixel]:
        return Call(
            one(Pixel),
            {"id": id},
            body=fields,
            wants_whole=True,
            if_match=if_match,
            if_none_match=if_none_match,
        )

    @operation("pixels_delete", "DELETE", "/pixels/{id}")
    def delete(self, id: int, *, if_match: str | None = None, if_none_match: str | None = None) -> Call[None]:
        return Call(nothing, {"id": id}, if_match=if_match, if_none_match=if_none_match)


class NotificationHandlers(Resource[M]):
    """Who is notified of what happens to links."""

    @operation("notification-handlers_find", "GET", "/notification-handlers")
    def page(self, **filters: Unpack[HandlerFilters]) -> Call[Page[NotificationHandler]]:
        """One page of the handlers."""
        return Call(page(NotificationHandler), query=filters)

    find = Listing(page)

    @operation("notification-handlers_post", "POST", "/notification-handlers", is_create=True)
    def create(
        self, type: str, name: str, *, idempotency_key: str | None = None, **settings: Unpack[HandlerSettings]
    ) -> Call[NotificationHandler]:
        """Creates a handler. A webhook's signing secret is in its `settings`."""
        body = {"type": type, "name": name, **settings}
        return Call(one(NotificationHandler), body=body, idempotency_key=idempotency_key, wants_whole=True)

    @operation("notification-handlers_read", "GET", "/notification-handlers/{id}")
    def read(
        self, id: int, *, if_match: str | None = None, if_none_match: str | None = None
    ) -> Call[NotificationHandler]:
        """Reads one. Raises NotModified where it is still as `if_none_match` says."""
        return Call(one(NotificationHandler), {"id": id}, if_match=if_match, if_none_match=if_none_match)

    @operation("notification-handlers_update", "POST", "/notification-handlers/{id}")
    def update(
        self,
        id: int,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        **fields: Unpack[HandlerFields],
    ) -> Call[NotificationHandler]:
        return Call(
            one(NotificationHandler),
            {"id": id},
            body=fields,
            wants_whole=True,
            if_match=if_match,
            if_none_match=if_none_match,
        )

    @operation("notification-handlers_delete", "DELETE", "/notification-handlers/{id}")
    def delete(self, id: int, *, if_match: str | None = None, if_none_match: str | None = None) -> Call[None]:
        return Call(nothing, {"id": id}, if_match=if_match, if_none_match=if_none_match)

    @operation("notification-handlers_deliveries", "GET", "/notification-handlers/{id}/deliveries")
    def deliveries_page(self, id: int, **filters: Unpack[DeliveryFilters]) -> Call[Page[Delivery]]:
        """One page of a handler's deliveries, newest first."""
        return Call(page(Delivery), {"id": id}, query=filters)

    deliveries = Listing(deliveries_page)

    @operation("notification-handlers_test", "POST", "/notification-handlers/{id}/test")
    def test(self, id: int) -> Call[Trial]:
        """Sends a test message now, once."""
        return Call(one(Trial), {"id": id})

    @operation("notification-handlers_secret", "POST", "/notification-handlers/{id}/secret")
    def renew_secret(self, id: int) -> Call[NotificationHandler]:
        """Replaces a webhook's signing secret; for a day both sign."""
        return Call(one(NotificationHandler), {"id": id})

    @operation("notification-handlers_confirmation", "POST", "/notification-handlers/{id}/confirmation")
    def ask_confirmation(self, id: int) -> Call[NotificationHandler]:
        """Asks again for the confirmation of a handler's e-mail address."""
        return Call(one(NotificationHandler), {"id": id})


class Projects(Resource[M]):
    """Groups of links."""

    @operation("projects_find", "GET", "/projects")
    def page(self, **filters: Unpack[ProjectFilters]) -> Call[Page[Project]]:
        """One page of the projects."""
        return Call(page(Project), query=filters)

    find = Listing(page)

    @operation("projects_post", "POST", "/projects", is_create=True)
    def create(
        self, name: str, color: str | None = None, *, idempotency_key: str | None = None
    ) -> Call[Project]:
        body = {"name": name} | given(color=color)
        return Call(one(Project), body=body, idempotency_key=idempotency_key, wants_whole=True)

    @operation("projects_read", "GET", "/projects/{id}")
    def read(
        self, id: int, *, if_match: str | None = None, if_none_match: str | None = None
    ) -> Call[Project]:
        """Reads one. Raises NotModified where it is still as `if_none_match` says."""
        return Call(one(Project), {"id": id}, if_match=if_match, if_none_match=if_none_match)

    @operation("projects_update", "POST", "/projects/{id}")
    def update(
        self,
        id: int,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        **fields: Unpack[ProjectFields],
    ) -> Call[Project]:
        return Call(
            one(Project),
            {"id": id},
            body=fields,
            wants_whole=True,
            if_match=if_match,
            if_none_match=if_none_match,
        )

    @operation("projects_delete", "DELETE", "/projects/{id}")
    def delete(self, id: int, *, if_match: str | None = None, if_none_match: str | None = None) -> Call[None]:
        """Deletes a project; its links stay."""
        return Call(nothing, {"id": id}, if_match=if_match, if_none_match=if_none_match)


class Domains(Resource[M]):
    """Domains of one's own."""

    @operation("domains_find", "GET", "/domains")
    def page(self, **filters: Unpack[DomainFilters]) -> Call[Page[Domain]]:
        """One page of the domains."""
        return Call(page(Domain), query=filters)

    find = Listing(page)

    @operation("domains_post", "POST", "/domains", is_create=True)
    def create(
        self, host: str, *, idempotency_key: str | None = None, **options: Unpack[DomainOptions]
    ) -> Call[Domain]:
        """Adds a domain. Its `verification` says what proves that it is one's own."""
        body = {"host": host, **options}
        return Call(one(Domain), body=body, idempotency_key=idempotency_key, wants_whole=True)

    @operation("domains_read", "GET", "/domains/{id}")
    def read(self, id: int, *, if_match: str | None = None, if_none_match: str | None = None) -> Call[Domain]:
        """Reads one. Raises NotModified where it is still as `if_none_match` says."""
        return Call(one(Domain), {"id": id}, if_match=if_match, if_none_match=if_none_match)

    @operation("domains_update", "POST", "/domains/{id}")
    def update(
        self,
        id: int,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        **fields: Unpack[DomainFields],
    ) -> Call[Domain]:
        return Call(
            one(Domain),
            {"id": id},
            body=fields,
            wants_whole=True,
            if_match=if_match,
            if_none_match=if_none_match,
        )

    @operation("domains_delete", "DELETE", "/domains/{id}")
    def delete(self, id: int, *, if_match: str | None = None, if_none_match: str | None = None) -> Call[None]:
        """Deletes a domain that has no links; with links it is a Conflict."""
        return Call(nothing, {"id": id}, if_match=if_match, if_none_match=if_none_match)

    @operation("domains_verify", "POST", "/domains/{id}/verify")
    def verify(self, id: int) -> Call[Verification]:
        """Looks for the proof now. A missing one is no error: the checks say what was found."""
        return Call(one(Verification), {"id": id})


class Subscriptions(Resource[M]):
    """Addresses that are sent events as they happen, until they unsubscribe."""

    @operation("subscriptions_find", "GET", "/subscriptions")
    def page(self, **filters: Unpack[SubscriptionFilters]) -> Call[Page[Subscription]]:
        """One page of the subscriptions."""
        return Call(page(Subscription), query=filters)

    find = Listing(page)

    @operation("subscriptions_post", "POST", "/subscriptions", is_create=True)
    def create(
        self,
        target_url: str,
        events: Sequence[str],
        *,
        idempotency_key: str | None = None,
        **options: Unpack[SubscriptionOptions],
    ) -> Call[Subscription]:
        """Subscribes an address to events. What it gets is signed by the subscription's `secret`."""
        body = {"target_url": target_url, "events": list(events), **options}
        return Call(one(Subscription), body=body, idempotency_key=idempotency_key, wants_whole=True)

    @operation("subscriptions_read", "GET", "/subscriptions/{id}")
    def read(self, id: int) -> Call[Subscription]:
        return Call(one(Subscription), {"id": id})

    @operation("subscriptions_delete", "DELETE", "/subscriptions/{id}")
    def delete(self, id: int) -> Call[None]:
        """Unsubscribes."""
        return Call(nothing, {"id": id})

    @operation("subscriptions_samples", "GET", "/subscriptions/samples")
    def samples(self, event: str) -> Call[list[PushedBody]]:
        """Bodies as a subscribed address gets them: of real events, where there were any."""
        return Call(many(PushedBody), query={"event": event})


class Events(Resource[M]):
    """The feed of clicks and changes, read by cursors that skip nothing."""

    @operation("events", "GET", "/events")
    def page(
        self,
        after: str | None = None,
        *,
        type: Sequence[str] = (),
        link_id: int | None = None,
        limit: int | None = None,
    ) -> Call[FeedPage]:
        """The events after a cursor, without one the oldest. `meta.next` is the cursor to go on with."""
        query = {"after": after, "type": list(type), "link_id": link_id, "limit": limit}
        return Call(feed_page, query=query)


class Statistics(Resource[M]):
    """Clicks and visitors, of one link or of all. `type`: what a report is by, `overview` for days."""

    @operation("statistics", "GET", "/statistics")
    def of_all(
        self, type: str = "overview", **filters: Unpack[StatisticsFilters]
    ) -> Call[list[StatisticsRow]]:
        return Call(many(StatisticsRow), query={"type": type, **filters})

    @operation("statistics", "GET", "/statistics", sends=("format",))
    def of_all_as_csv(self, type: str = "overview", **filters: Unpack[StatisticsFilters]) -> Call[File]:
        """All rows of a report as CSV, where JSON has the first 100."""
        return Call(file, query={"type": type, "format": "csv", **filters})

    @operation("statistics_link", "GET", "/statistics/{id}")
    def of_link(
        self, id: int, type: str = "overview", **filters: Unpack[StatisticsFilters]
    ) -> Call[list[StatisticsRow]]:
        return Call(many(StatisticsRow), {"id": id}, query={"type": type, **filters})

    @operation("statistics_link", "GET", "/statistics/{id}", sends=("format",))
    def of_link_as_csv(
        self, id: int, type: str = "overview", **filters: Unpack[StatisticsFilters]
    ) -> Call[File]:
        return Call(file, {"id": id}, query={"type": type, "format": "csv", **filters})

    @operation("statistics_clicks", "GET", "/statistics/clicks")
    def clicks(self, **filters: Unpack[StatisticsFilters]) -> Call[File]:
        """Every single click as CSV."""
        return Call(file, query=filters)

    @operation("statistics_link_clicks", "GET", "/statistics/{id}/clicks")
    def clicks_of_link(self, id: int, **filters: Unpack[StatisticsFilters]) -> Call[File]:
        return Call(file, {"id": id}, query=filters)


class Trash(Resource[M]):
    """What was deleted in the last 30 days."""

    @operation("trash_find", "GET", "/trash")
    def page(self, **filters: Unpack[TrashFilters]) -> Call[Page[Trashed]]:
        """One page of the trash, newest first."""
        return Call(page(Trashed), query=filters)

    find = Listing(page)

    @operation("trash_restore", "POST", "/trash/{id}/restore")
    def restore(self, id: int, url: str | None = None, domain_id: int | None = None) -> Call[Created]:
        """Brings something back under its own id. A link whose alias is taken by now needs another `url`."""
        return Call(one(Created), {"id": id}, body=given(url=url, domain_id=domain_id))


class Workspaces(Resource[M]):
    """The workspace of the key, and who is in it."""

    @operation("workspace_read", "GET", "/workspace")
    def read(self) -> Call[Workspace]:
        return Call(one(Workspace))

    @operation("workspace_update", "POST", "/workspace")
    def update(self, name: str) -> Call[Created]:
        return Call(one(Created), body={"name": name})

    @operation("workspace-members_find", "GET", "/workspace/members")
    def members_page(self, **filters: Unpack[MemberFilters]) -> Call[Page[Member]]:
        """One page of the members."""
        return Call(page(Member), query=filters)

    members = Listing(members_page)

    @operation("workspace-members_post", "POST", "/workspace/members", is_create=True)
    def invite(self, email: str, role: str, *, idempotency_key: str | None = None) -> Call[Invitation]:
        """Invites somebody by e-mail. The one-time address of the invitation is its `url`."""
        body = {"email": email, "role": role}
        return Call(one(Invitation), body=body, idempotency_key=idempotency_key, wants_whole=True)

    @operation("workspace-members_read", "GET", "/workspace/members/{id}")
    def read_member(self, id: int) -> Call[Member]:
        return Call(one(Member), {"id": id})

    @operation("workspace-members_update", "POST", "/workspace/members/{id}")
    def update_member(self, id: int, role: str) -> Call[Created]:
        return Call(one(Created), {"id": id}, body={"role": role})

    @operation("workspace-members_delete", "DELETE", "/workspace/members/{id}")
    def remove_member(self, id: int) -> Call[None]:
        return Call(nothing, {"id": id})

    @operation("workspace-invitations_find", "GET", "/workspace/invitations")
    def invitations_page(self, **filters: Unpack[MemberFilters]) -> Call[Page[Invitation]]:
        """One page of the open invitations."""
        return Call(page(Invitation), query=filters)

    invitations = Listing(invitations_page)

    @operation("workspace-invitations_read", "GET", "/workspace/invitations/{id}")
    def read_invitation(self, id: int) -> Call[Invitation]:
        return Call(one(Invitation), {"id": id})

    @operation("workspace-invitations_delete", "DELETE", "/workspace/invitations/{id}")
    def revoke_invitation(self, id: int) -> Call[None]:
        return Call(nothing, {"id": id})


class Account(Resource[M]):
    """Whose key it is, and what the instance can do."""

    @operation("user", "GET", "/user")
    def user(self) -> Call[User]:
        return Call(one(User))

    @operation("audit", "GET", "/audit")
    def audit_page(self, **filters: Unpack[AuditFilters]) -> Call[Page[AuditEntry]]:
        """One page of the audit log, newest first."""
        return Call(page(AuditEntry), query=filters)

    audit = Listing(audit_page)

    @operation("openapi", "GET", "/openapi.json", needs_key=False)
    def openapi(self) -> Call[Any]:
        """The OpenAPI document of the instance."""
        return Call(plain)


def given(**fields: Any) -> dict[str, Any]:
    """The named arguments that are not None, for which None means "not sent"."""
    return {name: value for name, value in fields.items() if value is not None}
