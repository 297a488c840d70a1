"""The contract of all transports, which one that is added as a file must keep as well."""

from __future__ import annotations

import gzip
import ssl
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from app.core.folders import ROOT
from app.net.session import OutboundSession
from app.notifications.delivery import attempt
from app.notifications.message import Message
from app.notifications.transport import all_transports
from app.notifications.transports import chat_c
from tests.notifications.messages import endless, event, nasty, report
from tests.notifications.peers import Authority, Peers
from tests.notifications.receivers import MailReceiver, Says, WebReceiver

TYPES = list(all_transports())
MESSAGES: dict[str, Callable[[], Message]] = {
    "an event": event,
    "a test": lambda: event(
        type="handler.test", data={"handler": {"id": 1, "name": "n", "type": "x"}}, facts=()
    ),
    "a report": report,
    "a report of many links": lambda: report(200, 31),
    "nothing but a title": lambda: event(text="", facts=(), url=None, stop_url=None),
    "what people typed": nasty,
    "texts without end": endless,
}


@pytest.fixture
def sink(web: WebReceiver, mail: MailReceiver, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The receivers of all transports."""
    monkeypatch.setattr(chat_c, "API", web.url)
    return SimpleNamespace(web=web, mail=mail, count=lambda: len(web.heard) + len(mail.mails))


@pytest.fixture
def way_out(make_outbound: Callable[..., OutboundSession], mail: MailReceiver) -> OutboundSession:
    return make_outbound(smtp_url=f"smtp://127.0.0.1:{mail.port}", mail_from="Waypost <waypost@go.example>")


def filled(type_: str, url: str) -> dict[str, Any]:
    """The settings of a handler of this type, both those filled in and those generated."""
    transport = all_transports()[type_]
    own = {one.name: f"{url}/{type_}" if one.kind == "address" else one.example for one in transport.settings}
    return {**own, **{name: make() for name, make in transport.makes.items()}}


@pytest.mark.parametrize("kind", MESSAGES)
@pytest.mark.parametrize("type_", TYPES)
def test_everything_that_is_told_arrives_once(
    type_: str, kind: str, sink: SimpleNamespace, way_out: OutboundSession
) -> None:
    outcome = attempt(type_, filled(type_, sink.web.url), MESSAGES[kind](), way_out)
    assert (outcome.is_delivered, outcome.detail) == (True, "Delivered.")
    assert sink.count() == 1 and outcome.status_code and 200 <= outcome.status_code < 300
    assert not outcome.changes


@pytest.mark.parametrize("type_", TYPES)
def test_what_every_transport_says_of_itself(type_: str) -> None:
    transport = all_transports()[type_]
    icons = (ROOT / "app/templates/_icons.svg").read_text()
    assert f'id="icon-{transport.icon}"' in icons
    assert all(one.label and one.guidance and one.example for one in transport.settings)
    assert type_ == "email" or transport.steps
    assert set(transport.secrets) <= {one.name for one in transport.settings} | set(transport.makes)
    # a webhook URL that gives access is a secret
    assert type_ in {"email", "webhook"} or any(one.is_secret for one in transport.settings)
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


BOMB = gzip.compress(b"0" * 50_000_000)
FAULTS: dict[str, tuple[Callable[[Peers], Any], str]] = {
    "hangs up": (lambda p: p.says(), "The server hung up early, or its answer is not HTTP."),
    "speaks something else": (lambda p: p.says(b"220 mail.example ESMTP\r\n"), "The server hung up early, or its answer is not HTTP."),
    "an error as a gzip bomb": (
        lambda p: p.says(b"HTTP/1.1 500 X\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(BOMB) + BOMB),
        "The server answered 500 Internal Server Error.",
    ),
    "a certificate that nobody knows": (lambda p: p.says(), "The certificate is not valid: self-signed certificate."),
}  # fmt: skip


@pytest.fixture(scope="module")
def unknown(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    return Authority(tmp_path_factory.mktemp("authority")).server("127.0.0.1", is_self_signed=True)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("type_", HTTP)
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
    monkeypatch.setattr(chat_c, "API", url)
    outcome = attempt(type_, filled(type_, url), event(), way_out)
    assert (outcome.is_delivered, outcome.detail, outcome.is_permanent) == (False, words, False)
    assert len(outcome.answer) <= 2000
