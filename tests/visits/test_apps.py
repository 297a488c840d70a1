"""Is each app opened as its owner documents it, nothing else taken for it, and nothing let out unencoded?"""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.visits.apps import Opening, opening
from app.visits.known_apps import APPS

SAME = "the web address, behind a button"

# app, destination, address on iOS (None: none), package on Android (None: none)
TABLE: list[tuple[str, str, str | None, str | None]] = [
    ("YouTube", "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=42s", SAME, "com.google.android.youtube"),
    ("YouTube", "https://m.youtube.com/shorts/abc", SAME, "com.google.android.youtube"),
    ("YouTube", "https://youtube.com/@somebody", SAME, "com.google.android.youtube"),
    ("YouTube", "https://youtu.be/dQw4w9WgXcQ?si=x", SAME, "com.google.android.youtube"),
    ("Instagram", "https://www.instagram.com/some.body/", "instagram://user?username=some.body", "com.instagram.android"),
    ("Instagram", "https://instagram.com/p.diddy?igsh=1", "instagram://user?username=p.diddy", "com.instagram.android"),
    ("Instagram", "https://instagram.com/explore/tags/cats/", "instagram://tag?name=cats", "com.instagram.android"),
    ("Instagram", "https://www.instagram.com/p/C8_xyz-1/", SAME, "com.instagram.android"),
    ("Instagram", "https://www.instagram.com/reel/C8_xyz/?igsh=1", SAME, "com.instagram.android"),
    ("TikTok", "https://www.tiktok.com/@somebody/video/7123", SAME, "com.zhiliaoapp.musically"),
    ("TikTok", "https://vm.tiktok.com/ZM123/", SAME, "com.zhiliaoapp.musically"),
    ("X", "https://x.com/somebody/status/123?s=20", SAME, "com.twitter.android"),
    ("X", "https://twitter.com/somebody", SAME, "com.twitter.android"),
    ("Facebook", "https://www.facebook.com/some.body/posts/1", SAME, "com.facebook.katana"),
    ("Facebook", "https://m.facebook.com/groups/1", SAME, "com.facebook.katana"),
    ("Facebook", "https://fb.watch/abc/", SAME, "com.facebook.katana"),
    ("Messenger", "https://m.me/somebody?ref=x", SAME, "com.facebook.orca"),
    ("WhatsApp", "https://wa.me/491701234567?text=Hi%20there", SAME, "com.whatsapp"),
    ("WhatsApp", "https://wa.me/?text=Hi%20there%26more", "whatsapp://send?text=Hi%20there%26more", "com.whatsapp"),
    ("WhatsApp", "https://api.whatsapp.com/send?text=Hi", "whatsapp://send?text=Hi", "com.whatsapp"),
    ("WhatsApp", "https://api.whatsapp.com/send?phone=491701234567&text=Hi", SAME, "com.whatsapp"),
    ("WhatsApp", "https://chat.whatsapp.com/AbCdEfGhIjKlMnOpQrStUv", SAME, "com.whatsapp"),
    ("Telegram", "https://t.me/somebody", "tg://resolve?domain=somebody", "org.telegram.messenger"),
    ("Telegram", "https://t.me/s/channel_1/77", "tg://resolve?domain=channel_1&post=77", "org.telegram.messenger"),
    ("Telegram", "https://t.me/+AbCdEf0123456789", "tg://join?invite=AbCdEf0123456789", "org.telegram.messenger"),
    ("Telegram", "https://t.me/joinchat/AbCdEf0123456789", "tg://join?invite=AbCdEf0123456789", "org.telegram.messenger"),
    ("Telegram", "https://t.me/some_bot?start=x", SAME, "org.telegram.messenger"),
    ("Snapchat", "https://www.snapchat.com/add/somebody", SAME, "com.snapchat.android"),
    ("LinkedIn", "https://de.linkedin.com/in/somebody", SAME, "com.linkedin.android"),
    ("LinkedIn", "https://www.linkedin.com/company/some-firm/", SAME, "com.linkedin.android"),
    ("Pinterest", "https://www.pinterest.de/pin/123/", SAME, "com.pinterest"),
    ("Pinterest", "https://pin.it/abc", SAME, "com.pinterest"),
    ("Reddit", "https://old.reddit.com/r/cats/comments/1/x/", SAME, "com.reddit.frontpage"),
    ("Spotify", "https://open.spotify.com/track/4oktVvRuO1In9B7Hz0xm0a?si=1", "spotify:track:4oktVvRuO1In9B7Hz0xm0a", "com.spotify.music"),
    ("Spotify", "https://open.spotify.com/intl-de/album/4oktVvRuO1In9B7Hz0xm0a", "spotify:album:4oktVvRuO1In9B7Hz0xm0a", "com.spotify.music"),
    ("Spotify", "https://open.spotify.com/user/somebody", SAME, "com.spotify.music"),
    ("SoundCloud", "https://soundcloud.com/somebody/some-song", SAME, "com.soundcloud.android"),
    ("Netflix", "https://www.netflix.com/de-en/title/80057281", SAME, "com.netflix.mediaclient"),
    ("Twitch", "https://www.twitch.tv/some_body", "twitch://stream/some_body", "tv.twitch.android.app"),
    ("Twitch", "https://www.twitch.tv/videos/123", SAME, "tv.twitch.android.app"),
    ("Twitch", "https://clips.twitch.tv/Abc", SAME, "tv.twitch.android.app"),
    ("Discord", "https://discord.gg/abc", SAME, "com.discord"),
    ("Discord", "https://discord.com/invite/abc", SAME, "com.discord"),
    ("Amazon", "https://www.amazon.co.uk/Some-Thing/dp/B000000000/ref=x?th=1", SAME, "com.amazon.mShop.android.shopping"),
    ("Amazon", "https://amzn.to/abc", SAME, "com.amazon.mShop.android.shopping"),
    ("Airbnb", "https://www.airbnb.com.au/rooms/123", SAME, "com.airbnb.android"),
    ("Google Maps", "https://www.google.co.uk/maps/@42.5,13.0,6z", "comgooglemapsurl://www.google.co.uk/maps/@42.5,13.0,6z", "com.google.android.apps.maps"),
    ("Google Maps", "https://maps.google.com/?q=Berlin+Mitte", "comgooglemapsurl://maps.google.com/?q=Berlin+Mitte", "com.google.android.apps.maps"),
    ("Google Maps", "https://goo.gl/maps/abc", "comgooglemapsurl://goo.gl/maps/abc", "com.google.android.apps.maps"),
    ("Google Maps", "https://maps.app.goo.gl/abc", SAME, "com.google.android.apps.maps"),
    ("Google Sheets", "https://docs.google.com/spreadsheets/d/1/edit#gid=7", SAME, "com.google.android.apps.docs.editors.sheets"),
    ("Google Docs", "https://docs.google.com/document/d/1/edit", SAME, "com.google.android.apps.docs.editors.docs"),
    ("Apple Music", "https://music.apple.com/de/album/x/1?i=2", SAME, "com.apple.android.music"),
    ("App Store", "https://apps.apple.com/de/app/x/id123", SAME, None),
    ("Play Store", "https://play.google.com/store/apps/details?id=com.x", None, "com.android.vending"),
]  # fmt: skip
IDS = [f"{row[0]} {row[1].split('//')[1][:40]}" for row in TABLE]


@pytest.mark.parametrize(("app", "destination", "ios", "package"), TABLE, ids=IDS)
def test_on_ios(app: str, destination: str, ios: str | None, package: str | None) -> None:
    expected = ios and Opening(app, destination if ios == SAME else ios, ios == SAME, destination)
    assert opening(destination, "iOS") == expected


@pytest.mark.parametrize(("app", "destination", "ios", "package"), TABLE, ids=IDS)
def test_on_android(app: str, destination: str, ios: str | None, package: str | None) -> None:
    got = opening(destination, "Android")
    if package is None:
        assert got is None
        return
    assert got is not None
    assert (got.app, got.needs_tap, got.fallback) == (app, False, destination)
    assert read_intent(got.address) == {
        "data": destination.split("//", 1)[1].partition("#")[0],
        "scheme": "https",
        "package": package,
        "S.browser_fallback_url": destination,
    }


def read_intent(address: str) -> dict[str, str]:
    """As Android reads it: data up to the last `#`, then `key=value;` until `end`, values percent-decoded."""
    head, mark, extras = address.rpartition("#")
    assert mark
    assert head.startswith("intent://")
    assert extras.startswith("Intent;")
    assert extras.endswith(";end")
    pairs = extras.removeprefix("Intent;").removesuffix(";end").split(";")
    return {"data": head.removeprefix("intent://")} | {
        key: unquote(value) for key, _, value in (pair.partition("=") for pair in pairs)
    }


def test_every_app_has_its_row() -> None:
    assert {app.name for app in APPS} == {row[0] for row in TABLE}


PROMISED = """YouTube, Instagram, TikTok, X, Facebook, Messenger, WhatsApp, Telegram, Snapchat, LinkedIn, Pinterest,
Reddit, Spotify, SoundCloud, Netflix, Twitch, Discord, Amazon, Airbnb, Google Maps, Google Sheets, Google Docs,
Apple Music, App Store, Play Store"""


@pytest.mark.parametrize("name", re.split(r",\s", PROMISED))
def test_promised_apps_are_known(name: str) -> None:
    assert any(app.name == name for app in APPS)


@pytest.mark.parametrize("os_name", ["Windows", "macOS", "Linux", "Chrome OS", "", "ios", "Tizen"])
def test_other_systems_have_no_app(os_name: str) -> None:
    assert opening("https://youtu.be/abc", os_name) is None


LOOK_ALIKES = [
    "https://evil-youtube.com/watch?v=1",
    "https://youtube.com.evil.example/watch?v=1",
    "https://youtube.com@evil.example/watch?v=1",
    "https://evil.example/youtube.com/watch?v=1",
    "https://evil.example/?u=https://youtube.com/watch?v=1",
    "https://evil.example#youtube.com/watch?v=1",
    "https://evil.example\\@youtube.com/watch?v=1",
    "https://evil.example\\.youtube.com/watch?v=1",
    "https://youtube.com\\@evil.example/watch?v=1",
    "https://user:secret@youtube.com/watch?v=1",
    "https://youtube.com:8443/watch?v=1",
    "https://youtube.com:80@evil.example/watch?v=1",
    "https://youtube.com./watch?v=1",
    "https://xyoutube.com/watch?v=1",
    "https://evil.youtube.com/watch?v=1",
    "https://www.youtube.com.co/watch?v=1",
    "https://www-youtube.com/watch?v=1",
    "https://youtube.com%2eevil.example/watch?v=1",
    "https://уoutube.com/watch?v=1",
    "https://ｙoutube.com/watch?v=1",
    "https://xn--outube-2of.com/watch?v=1",
    "https://youtube。com/watch?v=1",
    "https://youtube\t.com/watch?v=1",
    "https://youtube.com\n/watch?v=1",
    " https://youtube.com/watch?v=1",
    "https:youtube.com/watch?v=1",
    "https:///youtube.com/watch?v=1",
    "//youtube.com/watch?v=1",
    "ftp://youtube.com/watch?v=1",
    "javascript://youtube.com/watch?v=1",
    "intent://youtube.com/watch?v=1#Intent;end",
    "youtube.com/watch?v=1",
    "https://[youtube.com]/watch?v=1",
    "https://[::1/watch?v=1",
    "https://amazon.cm/dp/B000000000",
    "https://amazon.com.evil.example/dp/B000000000",
    "https://google.cm.evil.example/maps",
    "https://google.xyz/maps/x",
    "https://evilgoogle.com/maps/x",
    "https://pinterest.cm/pin/1",
    "https://at.me/somebody",
    "https://xx.com/somebody",
    "https://notx.com/somebody",
    "https://foryou.tube/abc",
    "https://evil.t.me/somebody",
    "",
]


@pytest.mark.parametrize("os_name", ["iOS", "Android"])
@pytest.mark.parametrize("destination", LOOK_ALIKES)
def test_look_alikes_open_nothing(destination: str, os_name: str) -> None:
    assert opening(destination, os_name) is None


FOR_THE_WEB = [
    "https://www.youtube.com/",
    "https://www.youtube.com/about/",
    "https://www.instagram.com/accounts/login/",
    "https://x.com/tos",
    "https://www.facebook.com/sharer/sharer.php?u=x",
    "https://www.facebook.com/sharer.php?u=x",
    "https://www.facebook.com/business/ads",
    "https://developers.facebook.com/docs",
    "https://business.instagram.com/x",
    "https://aws.amazon.com/dp/B000000000",
    "https://www.amazon.com/gp/help/customer",
    "https://www.google.com/search?q=maps",
    "https://www.google.com/mapsfoo",
    "https://docs.google.com/forms/d/1",
    "https://www.linkedin.com/legal/privacy-policy",
    "https://www.netflix.com/browse",
    "https://www.twitch.tv/jobs",
    "https://discord.com/developers/docs",
    "https://support.discord.com/invite/x",
    "https://www.reddit.com/prefs/",
    "https://www.apple.com/music",
    "https://play.google.com/console",
    "https://wa.me/",
]


@pytest.mark.parametrize("os_name", ["iOS", "Android"])
@pytest.mark.parametrize("destination", FOR_THE_WEB)
def test_what_the_app_does_not_show_stays_in_the_browser(destination: str, os_name: str) -> None:
    assert opening(destination, os_name) is None


ENCODED = {
    "quotes": ("https://youtu.be/a\"b'c", "https://youtu.be/a%22b%27c"),
    "markup": ("https://youtu.be/<script>", "https://youtu.be/%3Cscript%3E"),
    "braces": ("https://youtu.be/{rest}{0}", "https://youtu.be/%7Brest%7D%7B0%7D"),
    "letters": ("https://youtu.be/ü?q=ß#ö", "https://youtu.be/%C3%BC?q=%C3%9F#%C3%B6"),
    "escapes stay": ("https://youtu.be/%22?q=%2B+%zz", "https://youtu.be/%22?q=%2B+%zz"),
    "the host in small letters": ("HTTPS://YOUTU.BE/Abc", "https://youtu.be/Abc"),
    "a second fragment": ("https://youtu.be/a#b#c", "https://youtu.be/a#b%23c"),
}


@pytest.mark.parametrize(("destination", "expected"), ENCODED.values(), ids=ENCODED)
def test_everything_leaves_encoded(destination: str, expected: str) -> None:
    on_ios = opening(destination, "iOS")
    assert on_ios == Opening("YouTube", expected, True, expected)


def test_a_destination_can_not_add_to_the_intent() -> None:
    got = opening("https://youtu.be/a;package=evil;S.x=1#Intent;package=evil;end", "Android")
    assert got is not None
    assert read_intent(got.address)["package"] == "com.google.android.youtube"
    assert got.address.count("#") == 1


def test_plain_http_falls_back_to_plain_http() -> None:
    got = opening("http://www.youtube.com/watch?v=1", "Android")
    assert got is not None
    assert got.fallback == "http://www.youtube.com/watch?v=1"
    assert read_intent(got.address)["scheme"] == "https"


@given(st.sampled_from(TABLE), st.text(), st.sampled_from(["iOS", "Android"]))
def test_no_ending_breaks_out(
    row: tuple[str, str, str | None, str | None], ending: str, os_name: str
) -> None:
    got = opening(row[1] + ending, os_name)
    if got is not None:
        assert re.fullmatch(r"[a-z]+:[A-Za-z0-9/?:@!$&()*+,;=._~%#-]+", got.address)
        assert re.fullmatch(r"https?://[A-Za-z0-9.-]+/[A-Za-z0-9/?:@!$&()*+,;=._~%#-]*", got.fallback)
        assert os_name == "iOS" or read_intent(got.address)["package"] in {app.package for app in APPS}
