"""Buckets of S3-compatible servers: objects by name, over the connections of `http`.

An operator's setting names the server, so it may be in any network. Requests are signed by AWS's own library,
which is loaded with the first of them. The bucket is a part of the path, which every such server understands.
"""

# see docs/decisions/2026-11-25-buckets.md
from __future__ import annotations

import datetime as dt
import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode, urlsplit
from xml.etree import ElementTree

from app.core.config import Settings
from app.net import http as net_http
from app.net.http import EVERYWHERE, HttpResponse, NoAnswer

PIECE_BYTES = 16 * 1024 * 1024  # of an object, in memory at once
PIECE_SECONDS = 300.0  # to send or to read so much, or to answer anything else
XML_BYTES = 8 * 1024 * 1024  # a list of a thousand objects, whose names may have 1,024 bytes each
TRIES, FIRST_WAIT_SECONDS = 3, 0.5
MISSING = frozenset({"NoSuchKey", "NoSuchUpload", "NotFound"})
TEMPORARY = frozenset({429, 500, 502, 503, 504})


class BucketError(Exception):
    """The bucket does not do what was asked. The text says why, for people; `code` is the server's word."""

    def __init__(self, code: str, reason: str, status: int = 0) -> None:
        super().__init__(reason)
        self.code, self.status = code, status

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in TEMPORARY or self.status == 0


class ObjectMissing(BucketError):
    """There is no object of this name."""


@dataclass(frozen=True)
class S3Account:
    """A server and the keys to it."""

    endpoint: str
    region: str
    key_id: str
    secret: str = field(repr=False)


@dataclass(frozen=True)
class StoredObject:
    """An object of a bucket. `name` is without the bucket's prefix."""

    name: str
    size: int
    modified: dt.datetime


def account_of(settings: Settings) -> S3Account:
    """The account by the settings. Raises BucketError where they name none."""
    if not (settings.s3_access_key_id and settings.s3_secret_access_key):
        raise BucketError("no_keys", "S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY are not set.", 403)
    endpoint = settings.s3_endpoint or f"https://s3.{settings.s3_region}.amazonaws.com"
    return S3Account(endpoint, settings.s3_region, settings.s3_access_key_id, settings.s3_secret_access_key)


class Bucket:
    """The objects below one address, such as `s3://bucket/prefix`. Safe for several threads."""

    def __init__(self, account: S3Account, address: str) -> None:
        parts = urlsplit(address)
        self.account, self.address, self.bucket = account, address, parts.netloc
        prefix = parts.path.strip("/")
        self.prefix = f"{prefix}/" if prefix else ""
        self.server = urlsplit(account.endpoint).netloc

    def key(self, name: str) -> str:
        return self.prefix + name

    def read(self, name: str) -> Iterator[bytes]:
        """The content of an object of any size, in pieces. One that is replaced meanwhile is an error."""
        position, total, tag = 0, 1, ""
        while position < total:
            headers = {"range": f"bytes={position}-{position + PIECE_BYTES - 1}"}
            if tag:
                headers["if-match"] = tag
            try:
                answer = self.ask("GET", self.key(name), headers=headers, limit=PIECE_BYTES + 1)
            except BucketError as error:
                if error.status == 416 and not tag:  # an empty object has no first byte
                    return
                raise
            total = self.length_of(answer, name)
            tag = tag or answer.header("etag") or ""
            if len(answer.body) != min(PIECE_BYTES, total - position):
                raise BucketError("cut", f"{self.address_of(name)} was not sent whole.", 502)
            position += len(answer.body)
            yield answer.body

    def length_of(self, answer: HttpResponse, name: str) -> int:
        """The length of the whole object of which this response has a piece."""
        stated = (answer.header("content-range") or "").rpartition("/")[2]
        if answer.status == 206 and stated.isdecimal():
            return int(stated)
        if answer.status == 200 and len(answer.body) <= PIECE_BYTES:
            return len(answer.body)
        raise BucketError("no_ranges", f"{self.server} does not send pieces of {name}.", answer.status)

    def remove(self, name: str) -> None:
        """Removes an object. It may be missing."""
        try:
            self.ask("DELETE", self.key(name))
        except ObjectMissing:
            return

    def objects(self, start: str = "") -> Iterator[StoredObject]:
        """The objects right below the prefix whose names begin with `start`, by name."""
        query = {"list-type": "2", "prefix": self.key(start), "delimiter": "/"}
        token: str | None = ""
        while token is not None:
            more = {"continuation-token": token} if token else {}
            root = parse_xml(self.ask("GET", "", query=query | more))
            for each in root.iterfind("{*}Contents"):
                key, size, modified = texts_of(each, "Key", "Size", "LastModified")
                yield StoredObject(key.removeprefix(self.prefix), int(size or 0), read_time(modified))
            is_more = root.findtext("{*}IsTruncated") == "true"
            token = (root.findtext("{*}NextContinuationToken") or None) if is_more else None

    def check(self) -> None:
        """Raises BucketError where the bucket can't be listed with these keys."""
        query = {"list-type": "2", "prefix": self.prefix, "max-keys": "1"}
        parse_xml(self.ask("GET", "", query=query, tries=1, seconds=net_http.SECONDS))

    def address_of(self, name: str) -> str:
        return f"{self.address}/{name}"

    def ask(
        self,
        method: str,
        key: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        limit: int = XML_BYTES,
        seconds: float = PIECE_SECONDS,
        tries: int = TRIES,
    ) -> HttpResponse:
        """Sends one request, again after a temporary failure. Raises BucketError for any other answer."""
        path = f"/{self.bucket}/{quote(key, safe='/-_.~')}" + (f"?{encode_query(query)}" if query else "")
        wait = FIRST_WAIT_SECONDS
        for left in reversed(range(tries)):
            try:
                return self.send(method, path, headers or {}, body, limit, seconds)
            except BucketError as error:
                if not left or not error.is_temporary:
                    raise
            time.sleep(wait)
            wait *= 4
        raise AssertionError  # the last try returns or raises

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, limit: int, seconds: float
    ) -> HttpResponse:
        url = self.account.endpoint + path
        signed = sign(self.account, method, url, path, headers, body)
        try:
            answer = net_http.request(
                method, url, headers=signed, body=body, allowed=EVERYWHERE, seconds=seconds, limit=limit
            )
        except NoAnswer as error:
            raise BucketError(error.code, f"{self.server}: {error.reason}") from error
        if answer.status not in {200, 204, 206}:
            raise self.refusal(answer)
        return answer

    def refusal(self, answer: HttpResponse) -> BucketError:
        """The error of a response: its code, and the server's own words where it has any."""
        code, said = f"http_{answer.status}", ""
        try:
            root = parse_xml(answer)
            code, said = root.findtext("{*}Code") or code, root.findtext("{*}Message") or ""
        except BucketError:
            pass  # a proxy's page, or the answer to HEAD: the status says enough
        text = printable(f"{self.server} answers {answer.status} {code} for the bucket {self.bucket}. {said}")
        is_missing = answer.status == 404 and code in MISSING
        return (ObjectMissing if is_missing else BucketError)(code, text.strip(), answer.status)


def sign(
    account: S3Account, method: str, url: str, path: str, headers: Mapping[str, str], body: bytes
) -> dict[str, str]:
    """These headers and those of a signature (AWS Signature Version 4), which covers the body, too."""
    from awscrt import auth, http  # 8 MB that an instance without a bucket does without

    host = net_http.target_of(url).headers["host"]
    request = http.HttpRequest(method, path, http.HttpHeaders([("host", host), *headers.items()]))
    config = auth.AwsSigningConfig(
        algorithm=auth.AwsSigningAlgorithm.V4,
        signature_type=auth.AwsSignatureType.HTTP_REQUEST_HEADERS,
        credentials_provider=auth.AwsCredentialsProvider.new_static(account.key_id, account.secret),
        region=account.region,
        service="s3",
        date=dt.datetime.now(dt.UTC),
        use_double_uri_encode=False,
        should_normalize_uri_path=False,
        signed_body_value=hashlib.sha256(body).hexdigest(),
        signed_body_header_type=auth.AwsSignedBodyHeaderType.X_AMZ_CONTENT_SHA_256,
    )
    signed = auth.aws_sign_request(request, config).result(net_http.SECONDS).headers
    return {name.lower(): value for name, value in signed if name.lower() != "host"}


def encode_query(query: Mapping[str, str]) -> str:
    return urlencode(query, quote_via=quote, safe="-_.~")


def parse_xml(answer: HttpResponse) -> ElementTree.Element:
    """The XML of a response. Raises BucketError for anything else, and for one that could declare entities.

    Without `<!`, and without NUL (as UTF-16 would have), there is no document type and nothing to expand.
    """
    if b"<!" in answer.body or b"\0" in answer.body or len(answer.body) >= XML_BYTES:
        raise BucketError("bad_answer", "The server's answer can't be read.", 502)
    try:
        return ElementTree.fromstring(answer.body)  # noqa: S314  bounded, and without a document type
    except ElementTree.ParseError as error:
        raise BucketError("bad_answer", f"The server's answer can't be read: {error}.", 502) from error


def texts_of(element: ElementTree.Element, *tags: str) -> list[str]:
    return [element.findtext(f"{{*}}{tag}") or "" for tag in tags]


def read_time(text: str) -> dt.datetime:
    try:
        found = dt.datetime.fromisoformat(text)
    except ValueError as error:
        raise BucketError("bad_answer", "The server's answer can't be read: a time is wrong.", 502) from error
    return found if found.tzinfo else found.replace(tzinfo=dt.UTC)


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)[:500]
