"""The visitor: bots, address, referrer, languages, UTM parameters and country of a request."""

from __future__ import annotations

import pytest

from app.redirects.bots import bot_name
from app.redirects.visitor import Visitor, utm
from tests.server import BROWSER

PEOPLE = {
    "desktop": BROWSER,
    "phone": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
    "in an app": "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 334.0.4.32.98",
    "tablet": "Mozilla/5.0 (Linux; Android 13; SM-X710) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36",
    "Slack's desktop app": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Slack/4.36.140 Chrome/120.0.6099.276 Electron/28.2.1 Safari/537.36 AppleSilicon",
    "old": "Mozilla/5.0 (Windows NT 6.1; Trident/7.0; rv:11.0) like Gecko",
}
BOTS = {
    "none": "",
    "crawler": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "preview": "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "chat preview": "WhatsApp/2.23.20.0",
    "slack": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "Android's client": "Dalvik/2.1.0 (Linux; U; Android 13; SM-G991B Build/TP1A.220624.014)",
    "Apple's client": "MyApp/1.0 CFNetwork/1410.0.3 Darwin/22.6.0",
    "Slack by Apple's client": "Slack/370354 CFNetwork/893.14 Darwin/17.3.0",
    "Office": "Mozilla/4.0 (compatible; ms-office; MSOffice rmj)",
    "Outlook": "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; WOW64; Trident/8.0; ms-office; MSOffice 16)",
    "curl": "curl/8.5.0",
    "wget": "Wget/1.21.4",
    "requests": "python-requests/2.32.3",
    "wrk": "wrk",
    "go": "Go-http-client/1.1",
    "java": "Java/17.0.1",
    "node": "node-fetch/1.0",
    "powershell": "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.19041.1682",
}


@pytest.mark.parametrize("agent", PEOPLE.values(), ids=PEOPLE)
def test_people_are_no_bots(agent: str) -> None:
    assert bot_name(agent) == ""


@pytest.mark.parametrize("agent", BOTS.values(), ids=BOTS)
def test_bots_are_called_by_their_name(agent: str) -> None:
    assert bot_name(agent)


def test_no_agent_at_all_is_a_bot() -> None:
    assert Visitor({}).is_bot


@pytest.mark.parametrize(
    ("sent", "agent"),
    {
        "plain": (b"Mozilla/5.0", "Mozilla/5.0"),
        "UTF-8": ("Браузер/1.0 東京 🦊".encode(), "Браузер/1.0 東京 🦊"),
        "Latin-1, and no UTF-8": (b"Caf\xe9/1.0", "Café/1.0"),
        "a character cut off": ("Браузер".encode()[:-1], "Браузер".encode()[:-1].decode("latin-1")),
        "half a surrogate pair": (b"x/1 \xed\xa0\x80", "x/1 \xed\xa0\x80"),
    }.values(),
)
def test_an_agent_is_read_as_utf_8_where_it_is_any(sent: bytes, agent: str) -> None:
    assert Visitor({"HTTP_USER_AGENT": sent.decode("latin-1")}).agent == agent


def test_what_was_no_header_of_a_server_is_left_as_it_is() -> None:
    assert Visitor({"HTTP_USER_AGENT": "東京"}).agent == "東京"


@pytest.mark.parametrize(
    ("proxies", "header", "address"),
    {
        "nobody is believed": (0, "203.0.113.9", "192.0.2.1"),
        "one proxy": (1, "203.0.113.9", "203.0.113.9"),
        "what the client made up stays unread": (1, "10.0.0.1, 203.0.113.9", "203.0.113.9"),
        "two proxies": (2, "1.1.1.1, 203.0.113.9, 198.51.100.7", "203.0.113.9"),
        "fewer entries than proxies": (2, "203.0.113.9", "192.0.2.1"),
        "no header": (1, "", "192.0.2.1"),
        "port": (1, "203.0.113.9:5123", "203.0.113.9"),
        "IPv6": (1, "2001:db8::1", "2001:db8::1"),
        "IPv6 with port": (1, "[2001:db8::1]:5123", "2001:db8::1"),
    }.values(),
)
def test_address(proxies: int, header: str, address: str) -> None:
    environ = {"REMOTE_ADDR": "192.0.2.1", **({"HTTP_X_FORWARDED_FOR": header} if header else {})}
    assert Visitor(environ, proxies).address == address


@pytest.mark.parametrize(
    ("sent", "host", "path"),
    [
        ("https://News.Example/a/b?secret=1#x", "news.example", "/a/b"),
        ("https://news.example", "news.example", "/"),
        ("https://user:password@news.example:8080/a", "news.example", "/a"),
        ("android-app://com.example.app/", "com.example.app", "/"),
        ("javascript:alert(1)", "", ""),
        ("/a", "", ""),
        ("http://[broken", "", ""),
        ("https://news.example./", "news.example", "/"),
        ("https://my_host/intranet", "my_host", "/intranet"),
        ("https://[2001:DB8::0:1]:8080/a", "2001:db8::1", "/a"),
        ("https://192.0.2.7/", "192.0.2.7", "/"),
        ("https://b\xc3\xbccher.example/\xc3\xbc", "xn--bcher-kva.example", "/ü"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", "/"),
        ("https://news.example/\xff\xc3\x28", "news.example", "/\ufffd\ufffd("),
        # invalid hosts
        ("https://new s.example/", "", ""),
        ("https://news.example\x01/", "", ""),
        ("https://\x1b[31m.example/", "", ""),
        ('https://"><img src=x onerror=alert(1)>/', "", ""),
        ("https://news..example/", "", ""),
        ("https://.example/", "", ""),
        ("https://1.2.3.400/", "", ""),
        (f"https://{'a' * 64}.example/", "", ""),
        (f"https://{'a.' * 130}example/", "", ""),
        ("https://xn--a\xff.example/", "", ""),
        ("https://xn--99999999.example/", "", ""),
        ("https://\xff\xfe.example/", "", ""),
        ("https://a%00b.example/", "", ""),
        ("https://[fe80::1%<b>]/", "", ""),
        ("", "", ""),
    ],
)
def test_referrer(sent: str, host: str, path: str) -> None:
    assert Visitor({"HTTP_REFERER": sent}).referrer == (host, path)


@pytest.mark.parametrize(
    ("sent", "tags", "primary"),
    [
        ("de-CH,de;q=0.9,en;q=0.8", ("de-CH", "de", "en"), "de"),
        ("en;q=0.2, PT-br;q=0.9, fr;q=0", ("PT-br", "en"), "pt"),
        ("*", (), ""),
        ("", (), ""),
        (";;;q=x,,", (), ""),
    ],
)
def test_languages(sent: str, tags: tuple[str, ...], primary: str) -> None:
    visitor = Visitor({"HTTP_ACCEPT_LANGUAGE": sent})
    assert visitor.language == primary
    assert tuple(tag.lower() for tag in visitor.languages) == tuple(tag.lower() for tag in tags)


def test_utm_is_decoded_and_the_first_of_each_taken() -> None:
    query = "a=1&utm_source=M%C3%BCnchen+x&utm_source=y&utm_campaign=\u00c3\u00a4&utm_medium"
    assert utm(query) == ("München x", "", "ä")


def test_country_only_from_the_named_header() -> None:
    environ = {"HTTP_CF_IPCOUNTRY": "de"}
    assert Visitor(environ).country_code == ""
    assert Visitor(environ, country_key="HTTP_CF_IPCOUNTRY").country_code == "DE"
    assert Visitor({"HTTP_CF_IPCOUNTRY": "<x>"}, country_key="HTTP_CF_IPCOUNTRY").country_code == ""


@pytest.mark.parametrize("header", ["HTTP_SEC_PURPOSE", "HTTP_PURPOSE", "HTTP_X_MOZ"])
def test_prefetch(header: str) -> None:
    assert Visitor({header: "prefetch"}).is_prefetch
    assert not Visitor({}).is_prefetch
