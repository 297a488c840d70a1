"""The contract of all transports, which one that is added as a file must keep as well."""

from __future__ import annotations

import gzip
import json
import re
import ssl
from collections.abc import Callable
from itertools import cycle
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote_plus

import pytest

from app.core.folders import ROOT
from app.core.registry import modules
from app.net.session import OutboundSession
from app.notifications import transports
from app.notifications.delivery import attempt
from app.notifications.message import Message
from app.notifications.transport import all_transports
from tests.notifications.messages import MESSAGES, event, report
from tests.notifications.peers import Authority, Peers
from tests.notifications.receivers import MailReceiver, Says, WebReceiver

TYPES = list(all_transports())
KINDS: dict[str, Callable[[], Message]] = {
    **MESSAGES,
    "a test": lambda: event(
        type="handler.test", data={"handler": {"id": 1, "name": "n", "type": "x"}}, facts=()
    ),
}


def point_here(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Let the transports of services with one server for all send to this one."""
    for module in modules(transports).values():
        if hasattr(module, "API"):
            monkeypatch.setattr(module, "API", url)


@pytest.fixture
def sink(web: WebReceiver, mail: MailReceiver, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The receivers of all transports."""
    point_here(monkeypatch, web.url)
    return SimpleNamespace(web=web, mail=mail, count=lambda: len(web.heard) + len(mail.mails))


@pytest.fixture
def way_out(make_outbound: Callable[..., OutboundSession], mail: MailReceiver) -> OutboundSession:
    return make_outbound(
        300.0, smtp_url=f"smtp://127.0.0.1:{mail.port}", mail_from="Waypost <waypost@go.example>"
    )


def filled(type_: str, url: str) -> dict[str, Any]:
    """The settings of a handler of this type, both those filled in and those generated."""
    transport = all_transports()[type_]
    own = {one.name: f"{url}/{type_}" if one.kind == "address" else one.example for one in transport.settings}
    return {**own, **{name: make() for name, make in transport.makes.items()}}


@pytest.mark.parametrize("type_", TYPES)
def test_everything_that_is_told_arrives_once(
    type_: str, sink: SimpleNamespace, way_out: OutboundSession
) -> None:
    for number, (kind, make) in enumerate(KINDS.items(), 1):
        outcome = attempt(type_, filled(type_, sink.web.url), make(), way_out)
        assert (outcome.is_delivered, outcome.detail) == (True, "Delivered."), kind
        assert sink.count() == number, kind
        assert outcome.status_code and 200 <= outcome.status_code < 300 and not outcome.changes, kind


FOR_PROGRAMS = {"webhook", "subscription"}  # which get figures, and no texts
WORDS = ("Your weekly report", "1,234", "+12 %", "18 November, 400 visits", "Countries", "Germany", "Kenya", "Devices",
         "▁▃▄▅▆▇█", "link-0")  # fmt: skip


def readable(sink: SimpleNamespace) -> str:
    """What has arrived, without the escapes of any format."""
    texts = [
        json.dumps(heard.json, ensure_ascii=False)
        if heard.body[:1] == b"{"
        else unquote_plus(heard.body.decode())
        for heard in sink.web.heard
    ]
    texts += [mail.get_body(["plain"]).get_content() for _, mail in sink.mail.mails]
    return re.sub("[\u2060\\\\]", "", "\n".join(texts))


@pytest.mark.parametrize("type_", [type_ for type_ in TYPES if type_ not in FOR_PROGRAMS])
def test_a_report_says_all_of_it_and_says_what_it_leaves_out(
    type_: str, sink: SimpleNamespace, way_out: OutboundSession
) -> None:
    attempt(type_, filled(type_, sink.web.url), report(), way_out)
    found = readable(sink)
    assert [word for word in WORDS if word not in found] == []
    attempt(type_, filled(type_, sink.web.url), report(200), way_out)
    left = re.search(r"And (\d+) more links\.", readable(sink))
    assert type_ == "email" or (left and int(left[1]) < 200)


@pytest.mark.parametrize("type_", TYPES)
def test_what_every_transport_says_of_itself(type_: str) -> None:
    transport = all_transports()[type_]
    icons = (ROOT / "app/templates/_icons.svg").read_text()
    assert f'id="icon-{transport.icon}"' in icons
    assert transport.label
    assert all(one.label and one.guidance and one.example for one in transport.settings)
    assert type_ == "email" or transport.steps
    assert set(transport.secrets) <= {one.name for one in transport.settings} | set(transport.makes)
    # a webhook URL that gives access is a secret
    assert type_ in {"email", "webhook", "subscription"} or any(one.is_secret for one in transport.settings)
    kept = {**dict.fromkeys(["x", "secret_before"], "y"), **filled(type_, "https://example.com")}
    assert transport.visible_settings(kept) == filled(type_, "https://example.com") | {
        name: kept[name] for name in transport.makes
    }


HTTP = [type_ for type_ in TYPES if type_ != "email"]


@pytest.mark.parametrize("type_", HTTP)
def test_redirects_are_failures_and_not_followed(
    type_: str, sink: SimpleNamespace, way_out: OutboundSession
) -> None:
    sink.web.answers.append(Says(302, "", {"Location": f"{sink.web.url}/elsewhere"}))
    outcome = attempt(type_, filled(type_, sink.web.url), event(), way_out)
    assert outcome.detail == "The server redirects elsewhere (302), and redirects are not followed."
    assert not outcome.is_permanent and sink.count() == 1


@pytest.mark.parametrize("type_", HTTP)
def test_it_is_gone(type_: str, sink: SimpleNamespace, way_out: OutboundSession) -> None:
    sink.web.answers.append(Says(410, "gone"))
    outcome = attempt(type_, filled(type_, sink.web.url), event(), way_out)
    assert outcome.is_gone and outcome.is_permanent and outcome.status_code == 410


@pytest.mark.parametrize("type_", HTTP)
def test_it_asks_to_wait(type_: str, sink: SimpleNamespace, way_out: OutboundSession) -> None:
    sink.web.answers.append(Says(429, "", {"Retry-After": "120"}))
    outcome = attempt(type_, filled(type_, sink.web.url), event(), way_out)
    assert (outcome.retry_after, outcome.is_permanent) == (120, False)


@pytest.mark.parametrize("type_", HTTP)
def test_it_says_nothing(type_: str, peers: Peers, make_outbound: Callable[..., OutboundSession],
                         monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    url = peers.serve(peers.hangs).url.rstrip("/")
    point_here(monkeypatch, url)
    outcome = attempt(type_, filled(type_, url), event(), make_outbound(0.5))
    assert (outcome.is_delivered, outcome.detail) == (False, "The server did not answer in time.")
    assert not outcome.is_permanent


@pytest.mark.parametrize("type_", HTTP)
def test_a_private_network_is_not_contacted(
    type_: str,
    sink: SimpleNamespace,
    make_outbound: Callable[..., OutboundSession],
) -> None:
    outcome = attempt(type_, filled(type_, sink.web.url), event(), make_outbound(allow_private_networks=()))
    assert not outcome.is_delivered and "private network" in outcome.detail and sink.count() == 0


# a server may answer with an error that has the form of its service, but another meaning in each part
ODD = {
    "no object": "[1]",
    "null": "null",
    "numbers": json.dumps({"error": 1, "errcode": 2, "id": 3, "errors": 4, "code": "x", "status": [], "token": []}),
    "objects": json.dumps({"error": {"status": [], "details": {}, "message": []}, "errcode": {}, "id": {},
                           "errors": {}, "code": [], "parameters": {"retry_after": []}, "user": {}, "retry_after_ms": "soon", "errorCode": {}}),
    "endless words": json.dumps({"error": "e" * 9000, "errors": ["x" * 9000], "message": "m" * 9000,
                                 "errorDescription": "d" * 9000, "description": "d" * 9000}),
    "objects in an object": json.dumps({"description": {}, "error": {"code": {}, "message": {}}}),
    "deep": "[" * 30_000,
}  # fmt: skip


@pytest.mark.parametrize("type_", HTTP)
def test_an_odd_error_is_tried_again(type_: str, sink: SimpleNamespace, way_out: OutboundSession) -> None:
    statuses = cycle([400, 401, 404, 429, 500])
    for body, status in [*zip(ODD, statuses, strict=False), *zip(reversed(ODD), statuses, strict=False)]:
        sink.web.answers.append(Says(status, ODD[body]))
        outcome = attempt(type_, filled(type_, sink.web.url), event(), way_out)
        found = (outcome.is_delivered, outcome.is_gone, outcome.is_permanent)
        assert found == (False, False, False), (body, status)
        assert outcome.status_code == status and "see its log" not in outcome.detail, (body, status)
        assert len(outcome.detail) < 9100 if type_ == "chat_c" else len(outcome.detail) <= 260


BOMB = gzip.compress(b"0" * 50_000_000)
FAULTS: dict[str, tuple[Callable[[Peers], Any], str]] = {
    "hangs up": (lambda p: p.says(), "The server hung up early, or its answer is not HTTP."),
    "speaks something else": (lambda p: p.says(b"220 mail.example ESMTP\r\n"), "The server hung up early, or its answer is not HTTP."),
    "an error as a gzip bomb": (
        lambda p: p.says(b"HTTP/1.1 500 X\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(BOMB) + BOMB),
        "The server answered 500 Internal Server Error.",
    ),
    "less than it announces": (
        lambda p: p.says(b"HTTP/1.1 200 OK\r\ncontent-length: 400\r\n\r\nok"),
        "The server hung up early, or its answer is not HTTP.",
    ),
    "a certificate that nobody knows": (lambda p: p.says(), "The certificate is not valid: self-signed certificate."),
}  # fmt: skip


@pytest.fixture(scope="module")
def unknown(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    return Authority(tmp_path_factory.mktemp("authority")).server("127.0.0.1", is_self_signed=True)


@pytest.mark.parametrize(("type_", "fault"), [*zip(HTTP, cycle(FAULTS), strict=False)])
def test_what_a_receiver_may_do_wrong(
    type_: str,
    fault: str,
    peers: Peers,
    way_out: OutboundSession,
    unknown: ssl.SSLContext,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script, words = FAULTS[fault]
    tls = unknown if words.startswith("The certificate") else None
    url = peers.serve(script(peers), tls=tls).url.rstrip("/")
    point_here(monkeypatch, url)
    outcome = attempt(type_, filled(type_, url), event(), way_out)
    assert (outcome.is_delivered, outcome.detail, outcome.is_permanent) == (False, words, False)
    assert len(outcome.answer) <= 2000
