"""Both clients against a started server: what they send is understood, and what it answers is read."""

from __future__ import annotations

import asyncio
import datetime as dt
import struct
import zlib

import pytest
from waypost_client import (
    AsyncClient,
    Client,
    Conflict,
    ConnectionFailed,
    Forbidden,
    Invalid,
    Link,
    NotFound,
    NotModified,
    PreconditionFailed,
    Retries,
    Unauthorized,
    UnreadableAnswer,
    Upload,
    encode,
    targeting,
)

from tests.instance import Waypost

HERE = "https://example.com/here"


def picture(width: int = 4) -> bytes:
    """A PNG, all black."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    head = struct.pack(">IIBBBBB", width, width, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes(3 * width)) * width)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def test_a_link_from_its_creation_to_its_deletion(client: Client) -> None:
    made = client.links.create(HERE, "whole-way", title="Spring", tags=["a", "b"])
    assert (made.url, made.location_url, made.title, made.tags) == ("whole-way", HERE, "Spring", ["a", "b"])
    assert client.links.read(made.id) == made
    changed = client.links.update(made.id, title=None, clicks_limit=3)
    assert (changed.title, changed.clicks_limit, changed.tags) == (None, 3, ["a", "b"])
    client.links.delete(made.id)
    with pytest.raises(NotFound) as error:
        client.links.read(made.id)
    assert error.value.codes == {"not_found"}
    trashed = next(client.trash.find(type="link"))
    assert (trashed.row_id, trashed.name, trashed.detail) == (made.id, "whole-way", HERE)
    client.trash.restore(trashed.id, url="whole-way-again")
    assert client.links.read(made.id).url == "whole-way-again"


def test_the_client_for_asyncio_does_the_same(waypost: Waypost) -> None:
    async def use() -> tuple[Link, list[int]]:
        async with AsyncClient(waypost.url, waypost.key) as client:
            made = await client.links.create(HERE, title="Async, once")
            found = [link.id async for link in client.links.find(search="Async, once")]
            await client.links.delete(made.id)
            return made, found

    made, found = asyncio.run(use())
    assert found == [made.id]


def test_times_are_aware_whatever_offset_they_were_sent_with(client: Client) -> None:
    start = dt.datetime(2031, 5, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    made = client.links.create(HERE, schedule=True, start_date=start, end_date="2031-06-01")
    assert made.start_date == start
    assert made.end_date == dt.datetime(2031, 6, 1, tzinfo=dt.UTC)


def test_a_picture_goes_with_lists_flags_and_times_in_one_form(client: Client) -> None:
    made = client.links.create(
        HERE,
        cloaking_opengraph=Upload(picture()),
        tags=["x", "y, z"],
        cloaking_is_enabled=True,
        sensitive_content=False,
        schedule=True,
        start_date=dt.datetime(2031, 1, 1, tzinfo=dt.UTC),
        **targeting("country_code", [("DE", f"{HERE}/de"), ("FR", f"{HERE}/fr")]),
    )
    assert made.cloaking_opengraph
    assert made.cloaking_opengraph.startswith("http")
    assert made.tags == ["x", "y, z"]
    assert (made.cloaking_is_enabled, made.settings.sensitive_content) == (True, False)
    assert [(pair.key, pair.value) for pair in made.targeting] == [("DE", f"{HERE}/de"), ("FR", f"{HERE}/fr")]
    emptied = client.links.update(made.id, cloaking_favicon=Upload(picture()), tags=[], cloaking_opengraph="")
    assert emptied.cloaking_favicon
    assert (emptied.tags, emptied.cloaking_opengraph) == ([], None)


def test_many_at_once(client: Client) -> None:
    made = client.links.create_bulk([f"{HERE}/{n}" for n in range(3)], tags=["bulk"])
    assert made.ids is not None
    assert [client.links.read(id_).location_url for id_ in made.ids] == [f"{HERE}/{n}" for n in range(3)]


def test_a_list_is_iterated_over_all_its_pages(client: Client) -> None:
    made = [client.projects.create(f"Paged {n:02}").id for n in range(23)]
    found = [one.id for one in client.projects.find(search="Paged", results_per_page=10)]
    assert found == made
    page = client.projects.page(search="Paged", results_per_page=10, page=3)
    assert (len(page.data), page.meta.total, page.meta.total_pages, page.links.next) == (3, 23, 3, None)
    later = [one.id for one in client.projects.find(search="Paged", results_per_page=10, page=2)]
    assert later == made[10:]


def test_the_same_key_creates_once(client: Client) -> None:
    first = client.links.create(HERE, idempotency_key="the-same")
    again = client.links.create(HERE, idempotency_key="the-same")
    assert again.id == first.id
    assert client.links.create(HERE).id != first.id


def test_every_bad_field_is_in_the_error(client: Client) -> None:
    with pytest.raises(Invalid) as error:
        client.links.create("nowhere", clicks_limit=-1, http_status_code=418)
    found = error.value.by_field()
    assert set(found) == {"location_url", "clicks_limit", "http_status_code"}
    assert all(entry.title and entry.code for entries in found.values() for entry in entries)
    assert error.value.request_id


def test_a_change_is_refused_where_somebody_else_was_first(client: Client) -> None:
    read = client.links.create(HERE)
    assert read.etag
    assert client.links.read(read.id).etag == read.etag
    with pytest.raises(NotModified):
        client.links.read(read.id, if_none_match=read.etag)
    changed = client.links.update(read.id, title="First", if_match=read.etag)
    assert changed.etag != read.etag
    for refused in (client.links.update, client.links.delete):
        with pytest.raises(PreconditionFailed):
            refused(read.id, if_match=read.etag)
    client.links.delete(read.id, if_match=changed.etag)


def test_the_audit_log_is_listed(client: Client) -> None:
    entry = next(client.account.audit(group="keys"))
    assert (entry.action.startswith("api_key."), entry.account_email) == (True, "one@example.com")


def test_errors_have_classes(client: Client, waypost: Waypost) -> None:
    client.links.create(HERE, "taken-once")
    with pytest.raises(Conflict) as error:
        client.links.create(HERE, "taken-once")
    assert error.value.codes == {"taken"}
    with Client(waypost.url, "wp_wrong") as stranger, pytest.raises(Unauthorized):
        stranger.account.user()
    with Client(waypost.url, waypost.reading_key) as reader, pytest.raises(Forbidden):
        reader.projects.create("None")


def test_what_is_no_waypost_is_told(waypost: Waypost) -> None:
    with Client(f"{waypost.url}/no/such", waypost.key) as lost, pytest.raises(NotFound):
        lost.account.user()
    with (
        Client("http://127.0.0.1:9", "x", retries=Retries(attempts=1)) as nobody,
        pytest.raises(ConnectionFailed, match=r"127\.0\.0\.1:9"),
    ):
        nobody.account.user()
    for wrong in ("go.example", "ftp://go.example", "https://go.example/?a=b"):
        with pytest.raises(ValueError, match="is not the address"):
            Client(wrong, "x")


def test_an_answer_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    with pytest.raises(UnreadableAnswer):
        client.links.driver.send(
            type(client.account).openapi.endpoint, type(client.links).read.build(client.links, 1)
        )


def test_the_other_resources(client: Client) -> None:
    pixel = client.pixels.create("social_a", "Shop", "1234567890123456")
    assert client.pixels.update(pixel.id, name="Blog").name == "Blog"
    handler = client.notification_handlers.create("webhook", "Mine", webhook="http://127.0.0.1:9/hook")
    assert handler.settings["secret"].startswith("whsec_")
    assert client.notification_handlers.test(handler.id).status == "failed"
    assert [one.type for one in client.notification_handlers.deliveries(handler.id)] == ["handler.test"]
    renewed = client.notification_handlers.renew_secret(handler.id)
    assert renewed.settings["secret"] != handler.settings["secret"]
    domain = client.domains.create("links.example", custom_index_url=HERE)
    assert domain.verification.txt_value
    assert client.domains.read(domain.id).host == "links.example"
    link = client.links.create(HERE, pixels_ids=[pixel.id], email_reports=[handler.id])
    assert (link.pixels_ids, link.email_reports) == ([pixel.id], [handler.id])
    client.domains.delete(domain.id)
    client.notification_handlers.delete(handler.id)
    client.pixels.delete(pixel.id)
    after = client.links.read(link.id)
    assert (after.pixels_ids, after.email_reports) == ([], [])


def test_explanations_pictures_and_statistics(client: Client) -> None:
    link = client.links.create(HERE, **targeting("device_type", [("mobile", f"{HERE}/m")]))
    assert client.links.explain(link.id, device_type="mobile").location == f"{HERE}/m"
    drawn = client.links.qr(link.id, "png", size=256)
    assert (drawn.media_type, drawn.content[:4]) == ("image/png", b"\x89PNG")
    days = client.statistics.of_link(link.id, start_date=dt.date(2026, 1, 1), end_date="2026-01-31")
    assert (len(days), days[0].value, days[0].pageviews) == (31, "2026-01-01", 0)
    assert client.statistics.of_all_as_csv("country_code").content.startswith(b"country_code,")
    assert client.statistics.clicks_of_link(link.id).media_type == "text/csv"
    assert client.account.user().email == "one@example.com"


def test_an_object_is_encoded_as_the_api_sent_it(client: Client) -> None:
    link = client.links.create(HERE, **targeting("rotation", [("1", f"{HERE}/a"), ("2", f"{HERE}/b")]))
    told = client.http.get(
        f"{client.driver.instance.base}/api/links/{link.id}",
        headers={"Authorization": f"Bearer {client.driver.instance.key}"},
    )
    assert encode(link) == told.json()["data"]
