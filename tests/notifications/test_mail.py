"""Mails: their content, kinds of SMTP connection, and protection against injected headers."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.core.smtp_url import MailServer, read_server, sender
from app.net import dial
from app.net.session import OutboundSession
from app.notifications.delivery import AttemptResult, attempt
from app.notifications.mail import compose_email
from app.notifications.message import Message
from tests.notifications.messages import NASTY, event, nasty, report
from tests.notifications.peers import Authority, Peers
from tests.notifications.receivers import MailReceiver

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
FROM = "Waypost <waypost@go.example>"


@pytest.fixture
def sent(make_outbound: Callable[..., OutboundSession], mail: MailReceiver) -> Callable[..., AttemptResult]:
    """`sent(message)`: the result of sending it, over an unencrypted connection by default."""

    def send(
        message: Message | None = None, to: str = "team@example.com", url: str = "", **settings: Any
    ) -> AttemptResult:
        values = {"smtp_url": url or f"smtp://127.0.0.1:{mail.port}", "mail_from": FROM, **settings}
        return attempt("email", {"email": to}, message or event(), make_outbound(**values))

    return send


# --- the mail itself


def test_an_events_mail(sent: Callable[..., AttemptResult], mail: MailReceiver) -> None:
    outcome = sent()
    assert (outcome.is_delivered, outcome.status_code, outcome.answer) == (
        True,
        250,
        "2.0.0 OK: queued as 42",
    )
    envelope, found = mail.mails[0]
    assert (envelope.mail_from, envelope.rcpt_tos) == ("waypost@go.example", ["team@example.com"])
    assert {name: str(found[name]) for name in found if name not in {"MIME-Version", "Content-Type"}} == {
        "From": FROM,
        "To": "team@example.com",
        "Subject": "go.example/launch has reached its click limit",
        "Date": "Sat, 21 Nov 2026 12:30:00 +0000",
        "Message-ID": "<msg_0011223344556677@go.example>",
        "Auto-Submitted": "auto-generated",
        "List-Unsubscribe": "<https://go.example/dashboard/stop/token>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }
    text, html = found.get_body(["plain"]), found.get_body(["html"])
    assert text and html and found.get_content_type() == "multipart/alternative"
    for words in (
        "All 500 clicks are used up.",
        "https://go.example/launch",
        "https://go.example/dashboard/links/7",
    ):
        assert words in text.get_content() and words in html.get_content()
    assert "https://example.com/landing?a=1&b=2" in text.get_content()
    assert "https://example.com/landing?a=1&amp;b=2" in html.get_content()


def test_a_reports_mail(sent: Callable[..., AttemptResult], mail: MailReceiver) -> None:
    assert sent(report(2, picture=PNG)).is_delivered
    html = mail.mails[0][1].get_body(["html"])
    related = mail.mails[0][1].get_payload()[-1]
    pictures = [part for part in related.iter_attachments() if part.get_content_type() == "image/png"]
    assert html and [part.get_content() for part in pictures] == [PNG, PNG]
    for part in pictures:
        assert part.get_content_disposition() == "inline"
        assert f'src="cid:{part["Content-ID"].strip("<>")}"' in html.get_content()
    assert "Visits a day: 0, 10, 20, 30, 40, 50, 60" in html.get_content()
    plain = mail.mails[0][1].get_body(["plain"])
    assert plain and "▁▃▄▅▆▇█  2026-11-16 to 2026-11-22" in plain.get_content()


def test_a_mail_needs_nothing_of_the_way_but_7_bits() -> None:
    long = "é" * 5000
    for message in (
        event(title=long, text=long),
        report(3, 31, PNG),
        event(stop_url="https://go.example/" + "t" * 600),
    ):
        lines = compose_email(message, FROM, "team@example.com").as_bytes().split(b"\r\n")
        assert all(len(line) <= 998 and line.isascii() and b"\n" not in line for line in lines)
        assert any(line.startswith(b"List-Unsubscribe: <https://") and line.endswith(b">") for line in lines)


INJECTIONS = {
    "a line end": "x\r\nBcc: evil@example.com",
    "a line feed": "x\nBcc: evil@example.com",
    "a return": "x\rBcc: evil@example.com",
    "a folded line": "x\r\n Bcc: evil@example.com",
    "a body": "x\r\n\r\nbody",
    "a separator": "x\u2028Bcc: evil@example.com",
    "an encoded line end": "=?utf-8?q?x=0D=0ABcc:_evil@example.com?=",
    "a turn": "x\u202egnp.exe",
    "markup": NASTY,
}


@pytest.mark.parametrize("name", INJECTIONS)
def test_nobody_puts_a_header_into_it(
    name: str, sent: Callable[..., AttemptResult], mail: MailReceiver
) -> None:
    typed = INJECTIONS[name]
    assert sent(event(title=typed, text=typed, facts=((typed, typed),))).is_delivered
    envelope, found = mail.mails[0]
    assert envelope.rcpt_tos == ["team@example.com"] and "Bcc" not in found
    assert len(found.keys()) == 10 and "\n" not in found["Subject"] and "\u202e" not in found["Subject"]


def test_typed_markup_is_text_in_html(sent: Callable[..., AttemptResult], mail: MailReceiver) -> None:
    assert sent(nasty()).is_delivered
    html = mail.mails[0][1].get_body(["html"])
    assert html and "<script>" not in html.get_content() and "&lt;script&gt;" in html.get_content()


ADDRESSES = {
    "plain": ("team@example.com", "team@example.com"),
    "a domain in its own script": ("team@münchen.example", "team@xn--mnchen-3ya.example"),
    "a name in its own script": ("dörte@example.com", "dörte@example.com"),
    "a quote": ("o'neil@example.com", "o'neil@example.com"),
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_addresses(name: str, sent: Callable[..., AttemptResult], mail: MailReceiver) -> None:
    typed, expected = ADDRESSES[name]
    outcome = sent(to=typed)
    if not expected.isascii():  # this server does not offer SMTPUTF8
        assert (
            outcome.is_permanent
            and outcome.detail == "The mail server takes no addresses with letters like these."
        )
        return
    assert outcome.is_delivered and mail.mails[0][0].rcpt_tos == [expected]


# --- the line


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Authority]:
    found = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(found.file))
    dial.trusted.cache_clear()
    yield found
    dial.trusted.cache_clear()


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> str:
    """A host name for the loopback, which a certificate can contain."""
    found = dial.look_up

    def look_up(host: str, port: int) -> Any:
        return found("127.0.0.1" if host.endswith(".example") else host, port)

    monkeypatch.setattr(dial, "look_up", look_up)
    return "mail.example"


@pytest.fixture
def receiver_with() -> Iterator[Callable[..., MailReceiver]]:
    started: list[MailReceiver] = []

    def start(**options: Any) -> MailReceiver:
        started.append(MailReceiver(**options))
        return started[-1]

    yield start
    for one in started:
        one.stop()


LINES = {
    "STARTTLS where it must be": ("smtp+starttls", "starttls", "mail.example", True, ""),
    "STARTTLS where it is offered": ("smtp", "starttls", "mail.example", True, ""),
    "STARTTLS that is not wanted": ("smtp+plain", "starttls", "mail.example", False, ""),
    "STARTTLS that is not offered": ("smtp+starttls", "none", "mail.example", None, "The mail server offers no encryption (STARTTLS)"),
    "plain": ("smtp", "none", "mail.example", False, ""),
    "TLS": ("smtps", "tls", "mail.example", True, ""),
    "TLS of another host": ("smtps", "tls", "other.example", None, "The certificate is not valid: Hostname mismatch"),
    "STARTTLS of another host": ("smtp+starttls", "starttls", "other.example", None, "The certificate is not valid: Hostname mismatch"),
    "TLS where there is none": ("smtps", "none", "mail.example", None, "No secure connection to the server could be made."),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_lines(
    name: str,
    sent: Callable[..., AttemptResult],
    receiver_with: Callable[..., MailReceiver],
    authority: Authority,
    local: str,
) -> None:
    scheme, offers, host, is_tls, words = LINES[name]
    options = {"starttls": {"tls_context": authority.server(local)}, "tls": {}, "none": {}}[offers]
    if offers == "tls":
        options = {"ssl_context": authority.server(local)}
    receiver = receiver_with(**options)
    outcome = sent(url=f"{scheme}://{host}:{receiver.port}")
    assert outcome.is_delivered is (is_tls is not None), outcome.detail
    if is_tls is None:
        assert outcome.detail.startswith(words) and not outcome.is_permanent and not receiver.mails
    elif offers != "tls":
        assert receiver.was_tls == [is_tls]


@pytest.mark.parametrize(("password", "is_delivered"), [("right", True), ("wrong", False)])
def test_signing_in(
    password: str,
    is_delivered: bool,
    sent: Callable[..., AttemptResult],
    receiver_with: Callable[..., MailReceiver],
    authority: Authority,
    local: str,
) -> None:
    receiver = receiver_with(auth_required=True, tls_context=authority.server(local))
    outcome = sent(url=f"smtp://me%40example.com:{password}@{local}:{receiver.port}")
    assert outcome.is_delivered is is_delivered and not outcome.is_permanent
    assert receiver.logins[0] == (b"me@example.com", password.encode())
    assert is_delivered or outcome.detail.startswith("The mail server refuses the sign-in (535")


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
@pytest.mark.parametrize(("scheme", "is_sent"), [("smtp", False), ("smtp+plain", True)])
def test_a_password_is_sent_without_tls_only_on_request(
    scheme: str, is_sent: bool, sent: Callable[..., AttemptResult], receiver_with: Callable[..., MailReceiver]
) -> None:
    """The server accepts unencrypted logins, as if an attacker had removed its offer of STARTTLS."""
    receiver = receiver_with(auth_required=True, auth_require_tls=False)
    outcome = sent(url=f"{scheme}://me:right@127.0.0.1:{receiver.port}")
    assert (outcome.is_delivered, outcome.is_permanent) == (is_sent, False)
    assert (len(receiver.logins), len(receiver.mails)) == (is_sent, is_sent)
    assert is_sent or "use smtp+plain:// in WAYPOST_SMTP_URL" in outcome.detail


# --- what goes wrong


ANSWERS = {
    "no such mailbox": ("at_rcpt", "550 5.1.1 No such user here", (True, True)),
    "no such domain": ("at_rcpt", "550 5.1.2 Bad destination", (True, True)),
    "mailbox disabled": ("at_rcpt", "550 5.2.1 Mailbox disabled", (True, True)),
    "no relay": ("at_rcpt", "550 5.7.1 Relaying denied", (True, False)),
    "5xx without a code": ("at_rcpt", "550 No", (True, False)),
    "greylisted": ("at_rcpt", "450 4.2.0 Try again in five minutes", (False, False)),
    "mailbox full": ("at_rcpt", "452 4.2.2 Mailbox full", (False, False)),
    "spam": ("at_data", "554 5.7.1 Looks like spam", (True, False)),
    "no space": ("at_data", "452 4.3.1 Insufficient system storage", (False, False)),
    "in trouble": ("at_data", "451 Local error", (False, False)),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_means(name: str, sent: Callable[..., AttemptResult], mail: MailReceiver) -> None:
    place, answer, expected = ANSWERS[name]
    setattr(mail, place, answer)
    outcome = sent()
    assert not outcome.is_delivered and (outcome.is_permanent, outcome.is_gone) == expected
    assert (outcome.status_code, outcome.answer) == (int(answer[:3]), answer)
    assert answer in outcome.detail and outcome.detail.endswith(").")


SERVERS: dict[str, tuple[Callable[[Peers], Any], str]] = {
    "hangs": (lambda p: p.hangs, "The server did not answer in time."),
    "drips": (lambda p: p.hangs, "The server did not answer in time."),
    "hangs up": (lambda p: lambda line: None, "The mail server broke off the connection."),
    "takes none": (lambda p: lambda line: line.sendall(b"554 5.3.2 No service\r\n"), "The mail server does not take mail now (554 5.3.2 No service)."),
    "is busy": (lambda p: lambda line: line.sendall(b"421 4.3.2 Too busy\r\n"), "The mail server does not take mail now (421 4.3.2 Too busy)."),
    "speaks HTTP": (lambda p: lambda line: line.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "The mail server"),
}  # fmt: skip


@pytest.mark.parametrize("name", SERVERS)
def test_what_a_server_may_do_wrong(name: str, make_outbound: Callable[..., OutboundSession]) -> None:
    peers = Peers()
    script, words = SERVERS[name]

    def drip(line: Any) -> None:
        line.sendall(b"220-")
        while not peers.over.wait(0.05):
            line.sendall(b"x")

    peer = peers.serve(drip if name == "drips" else script(peers))
    try:
        outbound = make_outbound(1.0, smtp_url=f"smtp://127.0.0.1:{peer.port}", mail_from=FROM)
        outcome = attempt("email", {"email": "team@example.com"}, event(), outbound)
    finally:
        peers.close()
    assert not outcome.is_delivered and not outcome.is_permanent and outcome.detail.startswith(words)


# --- settings


URLS = {
    "smtp://mail.example": MailServer("mail.example", 25, "offered", None, ""),
    "smtp://mail.example:2525/": MailServer("mail.example", 2525, "offered", None, ""),
    "smtp://me:p%40ss@mail.example": MailServer("mail.example", 587, "starttls", "me", "p@ss"),
    "smtp://me@mail.example:25": MailServer("mail.example", 25, "starttls", "me", ""),
    "smtps://me:x@mail.example": MailServer("mail.example", 465, "tls", "me", "x"),
    "smtp+starttls://mail.example": MailServer("mail.example", 587, "starttls", None, ""),
    "smtp+plain://127.0.0.1:1025": MailServer("127.0.0.1", 1025, "plain", None, ""),
    "smtp+plain://me:x@127.0.0.1": MailServer("127.0.0.1", 25, "plain", "me", "x"),
}


@pytest.mark.parametrize("url", URLS)
def test_servers(url: str) -> None:
    assert read_server(url) == URLS[url]


@pytest.mark.parametrize(
    "url", ["mail.example", "http://mail.example", "smtp://", "smtp://mail.example/path", "smtp://m:99999"]
)
def test_what_is_no_server(url: str) -> None:
    with pytest.raises(ValueError):
        read_server(url)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("a@b.example", True),
        ("Way <a@b.example>", True),
        ("a", False),
        ("", False),
        ("@b", False),
        ("a@b\r\nX: y", False),
    ],
)
def test_senders(text: str, is_one: bool) -> None:
    if is_one:
        assert sender(text) == text
        return
    with pytest.raises(ValueError):
        sender(text)
