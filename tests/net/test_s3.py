"""Buckets of S3-compatible servers: against a real one, which verifies the signatures."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator

import pytest

from app.net import s3, s3_uploads
from app.net.s3 import Bucket, BucketError, ObjectMissing
from app.net.s3_uploads import BucketUpload, abort_abandoned
from tests.s3_server import FaultyLine, S3Server, faulty_line

MIB = 1024 * 1024


@pytest.fixture
def address(s3_server: S3Server) -> str:
    return s3_server.new_bucket()


@pytest.fixture
def bucket(s3_server: S3Server, address: str) -> Bucket:
    return Bucket(s3_server.account(), address)


@pytest.fixture
def line(s3_server: S3Server) -> Iterator[FaultyLine]:
    with faulty_line(s3_server) as found:
        yield found


@pytest.fixture
def far(s3_server: S3Server, address: str, line: FaultyLine) -> Bucket:
    """The bucket over a line that can have faults."""
    return Bucket(s3_server.account(endpoint=line.url), address)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "FIRST_WAIT_SECONDS", 0.0)


def upload(bucket: Bucket, name: str, *pieces: bytes) -> None:
    with BucketUpload(bucket, name) as file:
        for piece in pieces:
            file.write(piece)


def test_an_object_comes_back_as_it_was(bucket: Bucket) -> None:
    upload(bucket, "a.b-c_1", b"content")
    assert b"".join(bucket.read("a.b-c_1")) == b"content"
    assert [(each.name, each.size) for each in bucket.objects()] == [("a.b-c_1", 7)]
    bucket.remove("a.b-c_1")
    bucket.remove("a.b-c_1")
    assert list(bucket.objects()) == []
    with pytest.raises(ObjectMissing):
        next(bucket.read("a.b-c_1"))


def test_names_are_listed_below_the_prefix_only(s3_server: S3Server, bucket: Bucket, address: str) -> None:
    upload(bucket, "waypost-1", b"1")
    upload(bucket, "other", b"2")
    upload(Bucket(s3_server.account(), f"{address}-too"), "waypost-2", b"3")
    upload(Bucket(s3_server.account(), f"{address}/waypost-below"), "waypost-3", b"4")
    assert [each.name for each in bucket.objects("waypost-")] == ["waypost-1"]


def test_a_long_list_is_read_to_its_end(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = Bucket.ask

    def few(self: Bucket, method: str, key: str, **options):  # type: ignore[no-untyped-def]
        query = options.pop("query", None)
        return ask(self, method, key, query=query and {**query, "max-keys": "2"}, **options)

    for number in range(5):
        upload(bucket, f"n{number}", b"")
    monkeypatch.setattr(Bucket, "ask", few)
    assert [each.name for each in bucket.objects()] == ["n0", "n1", "n2", "n3", "n4"]


@pytest.mark.parametrize("size", [0, 1, 5 * MIB, 5 * MIB + 1, 12 * MIB])
def test_an_upload_is_one_object(bucket: Bucket, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "PIECE_BYTES", 5 * MIB)
    monkeypatch.setattr(s3_uploads, "PIECE_BYTES", 5 * MIB)
    content = os.urandom(size)
    upload(bucket, "backup", content[: size // 3], content[size // 3 :])
    assert b"".join(bucket.read("backup")) == content


def test_what_breaks_off_is_not_there(
    s3_server: S3Server, bucket: Bucket, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_uploads, "PIECE_BYTES", 5 * MIB)
    with pytest.raises(ZeroDivisionError), BucketUpload(bucket, "backup") as file:  # noqa: PT012  so it breaks off
        file.write(os.urandom(6 * MIB))
        assert s3_server.uploads(address) == ["some/where/backup"]
        raise ZeroDivisionError
    assert list(bucket.objects()) == []
    assert s3_server.uploads(address) == []


def test_uploads_of_killed_processes_are_aborted(
    s3_server: S3Server, bucket: Bucket, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_uploads, "PIECE_BYTES", 5 * MIB)
    BucketUpload(bucket, "waypost-1").write(os.urandom(6 * MIB))
    BucketUpload(bucket, "of others").write(os.urandom(6 * MIB))
    begun = next(begun for _, _, begun in s3_uploads.unfinished(bucket, "waypost-"))
    assert abort_abandoned(bucket, "waypost-", begun + dt.timedelta(hours=23)) == 0
    assert abort_abandoned(bucket, "waypost-", begun + dt.timedelta(hours=25)) == 1
    assert s3_server.uploads(address) == ["some/where/of others"]


def test_a_wrong_key_says_so(s3_server: S3Server, address: str) -> None:
    for changes in ({"secret": "another"}, {"key_id": "AKIANOBODY"}):
        with pytest.raises(BucketError, match="403") as caught:
            Bucket(s3_server.account(**changes), address).check()
        assert not caught.value.is_temporary
        assert "another" not in str(caught.value)


def test_a_missing_bucket_says_so(s3_server: S3Server) -> None:
    with pytest.raises(BucketError, match="404 NoSuchBucket for the bucket nowhere"):
        Bucket(s3_server.account(), "s3://nowhere/x").check()


def test_a_server_that_is_not_there_says_so(s3_server: S3Server, address: str) -> None:
    with pytest.raises(BucketError, match=r"127\.0\.0\.1:1: ") as caught:
        Bucket(s3_server.account(endpoint="http://127.0.0.1:1"), address).check()
    assert caught.value.is_temporary


def test_a_busy_server_is_asked_again(far: Bucket, line: FaultyLine) -> None:
    line.fault = "busy"
    with pytest.raises(BucketError, match="503 SlowDown") as caught:
        upload(far, "name", b"content")
    assert (caught.value.is_temporary, line.requests) == (True, 3)


def test_a_cut_line_leaves_no_object(
    s3_server: S3Server, far: Bucket, address: str, line: FaultyLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_uploads, "PIECE_BYTES", 5 * MIB)
    file = BucketUpload(far, "backup")
    file.write(os.urandom(6 * MIB))
    line.fault, line.after = "cut", MIB
    with pytest.raises(BucketError), file:
        file.write(os.urandom(6 * MIB))
    assert s3_server.keys(address) == []
    assert s3_server.uploads(address) == [], "an abort is short enough for this line"


def test_an_answer_that_is_cut_off_is_an_error(far: Bucket, line: FaultyLine) -> None:
    upload(far, "name", os.urandom(MIB))
    line.fault, line.after = "cut answer", 100_000
    with pytest.raises(BucketError) as caught:
        list(far.read("name"))
    assert caught.value.is_temporary
    line.fault = ""
    assert len(b"".join(far.read("name"))) == MIB


def test_a_slow_server_is_given_up(far: Bucket, line: FaultyLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.net.http.SECONDS", 0.5)
    line.fault = "slow"
    with pytest.raises(BucketError, match="in time"):
        far.check()


def test_an_object_that_is_replaced_meanwhile_is_an_error(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "PIECE_BYTES", 4)
    upload(bucket, "name", b"12345678")
    pieces = bucket.read("name")
    assert next(pieces) == b"1234"
    upload(bucket, "name", b"abcdefgh")
    with pytest.raises(BucketError, match="412"):
        next(pieces)


@pytest.mark.parametrize(
    "body", [b"<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>", b"no xml", b"", b"<ListBucketResult>"]
)
def test_an_answer_that_is_no_xml_is_an_error(body: bytes) -> None:
    with pytest.raises(BucketError, match="can't be read"):
        s3.parse_xml(s3.HttpResponse(200, (), body, 0))
