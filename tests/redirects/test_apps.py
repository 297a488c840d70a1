"""App links: each app is opened as documented, look-alikes open none, and everything is encoded."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.redirects.apps import APPS, Opening, opening

SAME = "the web address, which only a tap opens in the app"

# app, destination, address on iOS (None: none), package on Android (None: none)
TABLE: list[tuple[str, str, str | None, str | None]] = [
    ("YouTube", "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=42s", "vnd.youtube://www.youtube.com/watch?v=dQw4w9WgXcQ&t=42s", "com.google.android.youtube"),
    ("YouTube", "https://youtu.be/dQw4w9WgXcQ", "vnd.youtube://www.youtube.com/watch?v=dQw4w9WgXcQ", "com.google.android.youtube"),
    ("Instagram", "https://www.instagram.com/some.body/", "instagram://user?username=some.body", "com.instagram.android"),
    ("Instagram", "https://instagram.com/explore/tags/cats/", "instagram://tag?name=cats", "com.instagram.android"),
    ("Instagram", "https://www.instagram.com/p/C8_xyz-1/", SAME, "com.instagram.android"),
    ("TikTok", "https://www.tiktok.com/@somebody", SAME, "com.zhiliaoapp.musically"),
    ("TikTok", "https://www.tiktok.com/@some.body/video/7123?lang=de", "snssdk1233://aweme/detail/7123", "com.zhiliaoapp.musically"),
    ("X", "https://x.com/i/lists/123", SAME, "com.twitter.android"),
    ("X", "https://x.com/somebody/status/123?s=20", "twitter://status?id=123", "com.twitter.android"),
    ("X", "https://twitter.com/somebody", "twitter://user?screen_name=somebody", "com.twitter.android"),
    ("Facebook", "https://www.facebook.com/some.body/posts/1", "fb://facewebmodal/f?href=https%3A%2F%2Fwww.facebook.com%2Fsome.body%2Fposts%2F1", "com.facebook.katana"),
    ("Facebook", "https://m.facebook.com/profile.php?id=12&sk=about", "fb://profile/12", "com.facebook.katana"),
    ("Facebook", "https://m.facebook.com/groups/1", "fb://group/?id=1", "com.facebook.katana"),
    ("Messenger", "https://m.me/somebody?ref=x", SAME, "com.facebook.orca"),
    ("WhatsApp", "https://wa.me/+491701234567", "whatsapp://send?phone=491701234567", "com.whatsapp"),
    ("WhatsApp", "https://api.whatsapp.com/send?text=Hi", "whatsapp://send?text=Hi", "com.whatsapp"),
    ("WhatsApp", "https://chat.whatsapp.com/AbCdEfGhIjKlMnOpQrStUv", "whatsapp://chat?code=AbCdEfGhIjKlMnOpQrStUv", "com.whatsapp"),
    ("Telegram", "https://t.me/somebody", "tg://resolve?domain=somebody", "org.telegram.messenger"),
    ("Telegram", "https://t.me/+AbCdEf0123456789", "tg://join?invite=AbCdEf0123456789", "org.telegram.messenger"),
    ("Snapchat", "https://www.snapchat.com/spotlight/x", SAME, "com.snapchat.android"),
    ("Snapchat", "https://www.snapchat.com/add/some-body", "snapchat://add/some-body", "com.snapchat.android"),
    ("LinkedIn", "https://de.linkedin.com/in/somebody", SAME, "com.linkedin.android"),
    ("Pinterest", "https://www.pinterest.de/somebody/board/", SAME, "com.pinterest"),
    ("Pinterest", "https://www.pinterest.de/pin/123/", "pinterest://pin/123", "com.pinterest"),
    ("Reddit", "https://old.reddit.com/r/cats/comments/1/x/", SAME, "com.reddit.frontpage"),
    ("Spotify", "https://open.spotify.com/track/4oktVvRuO1In9B7Hz0xm0a?si=1", "spotify:track:4oktVvRuO1In9B7Hz0xm0a", "com.spotify.music"),
    ("Spotify", "https://open.spotify.com/user/somebody", SAME, "com.spotify.music"),
    ("SoundCloud", "https://soundcloud.com/somebody/some-song", SAME, "com.soundcloud.android"),
    ("Netflix", "https://www.netflix.com/de-en/title/80057281?s=i", "nflx://www.netflix.com/title/80057281", "com.netflix.mediaclient"),
    ("Twitch", "https://www.twitch.tv/some_body", "twitch://stream/some_body", "tv.twitch.android.app"),
    ("Discord", "https://discord.gg/abc", SAME, "com.discord"),
    ("Amazon", "https://www.amazon.co.uk/Some-Thing/dp/B000000000/ref=x?th=1", SAME, "com.amazon.mShop.android.shopping"),
    ("Airbnb", "https://www.airbnb.com.au/rooms/123", SAME, "com.airbnb.android"),
    ("Google Maps", "https://www.google.co.uk/maps/@42.5,13.0,6z", "comgooglemapsurl://www.google.co.uk/maps/@42.5,13.0,6z", "com.google.android.apps.maps"),
    ("Google Maps", "https://maps.google.com/?q=Berlin+Mitte", "comgooglemapsurl://maps.google.com/?q=Berlin+Mitte", "com.google.android.apps.maps"),
    ("Google Maps", "https://goo.gl/maps/abc", "comgooglemapsurl://goo.gl/maps/abc", "com.google.android.apps.maps"),
    ("Google Sheets", "https://docs.google.com/spreadsheets/d/1/edit#gid=7", SAME, "com.google.android.apps.docs.editors.sheets"),
    ("Google Docs", "https://docs.google.com/document/d/1/edit", SAME, "com.google.android.apps.docs.editors.docs"),
    ("Apple Music", "https://music.apple.com/de/album/x/1?i=2", SAME, "com.apple.android.music"),
    ("App Store", "https://apps.apple.com/de/app/x/id123", "itms-apps://apps.apple.com/de/app/x/id123", None),
    ("Play Store", "https://play.google.com/store/apps/details?id=com.x", None, "com.android.vending"),
    ("Threads", "https://www.threads.net/@some.body/post/C6fDehepo5D?xmt=1", "barcelona://media?shortcode=C6fDehepo5D", "com.instagram.barcelona"),
    ("Threads", "https://www.threads.com/@some.body", "barcelona://user?username=some.body", "com.instagram.barcelona"),
    ("Threads", "https://www.threads.com/@some.body/replies", SAME, "com.instagram.barcelona"),
    ("Bluesky", "https://bsky.app/profile/some.bsky.social/post/3k", "bluesky://profile/some.bsky.social/post/3k", "xyz.blueskyweb.app"),
    ("YouTube Music", "https://music.youtube.com/watch?v=abc&list=x", SAME, "com.google.android.apps.youtube.music"),
    ("Vimeo", "https://vimeo.com/76979871?share=copy", "vimeo://app.vimeo.com/videos/76979871", "com.vimeo.android.videoapp"),
    ("Etsy", "https://www.etsy.com/de/listing/123/a-thing?ref=x", "etsy://listing/123", "com.etsy.android"),
    ("eBay", "https://www.ebay.de/itm/A-Thing/143421740982?hash=x", "ebay://link/?nav=item.view&id=143421740982", "com.ebay.mobile"),
    ("Walmart", "https://www.walmart.com/ip/A-Thing/123", SAME, "com.walmart.android"),
    ("Booking.com", "https://www.booking.com/hotel/de/adlon.html?aid=1", SAME, "com.booking"),
    ("Tripadvisor", "https://www.tripadvisor.de/Hotel_Review-g187323-d1-Reviews-X.html", "tripadvisor://www.tripadvisor.de/Hotel_Review-g187323-d1-Reviews-X.html", "com.tripadvisor.tripadvisor"),
    ("Shopee", "https://shopee.sg/A-Thing-i.123.456", SAME, "com.shopee.sg"),
    ("Google Drive", "https://drive.google.com/file/d/1/view?usp=sharing", SAME, "com.google.android.apps.docs"),
    ("Google Slides", "https://docs.google.com/presentation/d/1/edit#slide=id.p", SAME, "com.google.android.apps.docs.editors.slides"),
    ("Google Forms", "https://docs.google.com/forms/d/e/1/viewform", SAME, "com.google.android.apps.docs"),
    ("Apple Podcasts", "https://podcasts.apple.com/de/podcast/x/id123?i=456", SAME, None),
    ("Deezer", "https://www.deezer.com/de/track/3135556?utm_source=x", "deezer://www.deezer.com/track/3135556", "deezer.android.app"),
    ("TIDAL", "https://tidal.com/browse/track/1234", SAME, "com.aspiro.tidal"),
    ("Medium", "https://medium.com/@somebody/a-title-701e8406cc55?source=x", "medium://p/701e8406cc55", "com.medium.reader"),
    ("Medium", "https://medium.com/@somebody", "medium://@somebody", "com.medium.reader"),
    ("Medium", "https://medium.com/some-publication", SAME, "com.medium.reader"),
    ("Quora", "https://de.quora.com/What-is-it", SAME, "com.quora.android"),
    ("Zoom", "https://us02web.zoom.us/j/81234567890?pwd=abc.1#success", "zoomus://zoom.us/join?confno=81234567890&pwd=abc.1", "us.zoom.videomeetings"),
    ("Zoom", "https://zoom.us/my/somebody", SAME, "us.zoom.videomeetings"),
    ("Microsoft Teams", "https://teams.microsoft.com/l/meetup-join/19%3ameeting/0?context=x", "msteams://teams.microsoft.com/l/meetup-join/19%3ameeting/0?context=x", "com.microsoft.teams"),
    ("Waze", "https://waze.com/ul?ll=52.5,13.4&navigate=yes", "waze://?ll=52.5,13.4&navigate=yes", "com.waze"),
    ("PayPal", "https://paypal.me/somebody/10", SAME, "com.paypal.android.p2pmobile"),
    ("Prime Video", "https://www.primevideo.com/detail/0ABC/ref=x", SAME, "com.amazon.avod.thirdpartyclient"),
    ("Disney+", "https://www.disneyplus.com/de-de/browse/entity-1", SAME, "com.disney.disneyplus"),
]  # fmt: skip
IDS = [f"{row[0]} {row[1].split('//')[1][:40]}" for row in TABLE]


@pytest.mark.parametrize(("app", "destination", "ios", "package"), TABLE, ids=IDS)
def test_on_ios(app: str, destination: str, ios: str | None, package: str | None) -> None:
    own = None if ios == SAME else ios
    expected = ios and Opening(app, own, own or destination, destination)
    assert opening(destination, "iOS") == expected


@pytest.mark.parametrize(("app", "destination", "ios", "package"), TABLE, ids=IDS)
def test_in_a_web_view_the_button_leads_to_safari(
    app: str, destination: str, ios: str | None, package: str | None
) -> None:
    got = opening(destination, "iOS", in_web_view=True)
    expected = ios and Opening(app, None if ios == SAME else ios, f"x-safari-{destination}", destination)
    assert got == expected
    assert opening(destination, "Android", in_web_view=True) == opening(destination, "Android")


@pytest.mark.parametrize(("app", "destination", "ios", "package"), TABLE, ids=IDS)
def test_on_android(app: str, destination: str, ios: str | None, package: str | None) -> None:
    got = opening(destination, "Android")
    if package is None:
        assert got is None
        return
    assert got is not None
    assert (got.app, got.button, got.fallback) == (app, got.address, destination)
    assert read_intent(got.address) == {
        "data": destination.split("//", 1)[1].partition("#")[0],
        "scheme": "https",
        "package": package,
        "S.browser_fallback_url": destination,
    }


def read_intent(address: str) -> dict[str, str]:
    """Parse it as Android does: data up to the last `#`, `key=value;` until `end`, values percent-decoded."""
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


@pytest.mark.parametrize("os_name", ["Windows", "macOS", "Linux", "Chrome OS", "", "ios", "Tizen"])
def test_other_systems_have_no_app(os_name: str) -> None:
    assert opening("https://youtu.be/abc", os_name) is None


LOOK_ALIKES = [
    "https://evil-youtube.com/watch?v=1",
    "https://youtube.com.evil.example/watch?v=1",
    "https://youtube.com@evil.example/watch?v=1",
    "https://evil.example/?u=https://youtube.com/watch?v=1",
    "https://youtube.com\\@evil.example/watch?v=1",
    "https://user:secret@youtube.com/watch?v=1",
    "https://youtube.com:8443/watch?v=1",
    "https://youtube.com./watch?v=1",
    "https://xn--outube-2of.com/watch?v=1",
    "https://youtube。com/watch?v=1",
    "https://youtube\t.com/watch?v=1",
    "https:///youtube.com/watch?v=1",
    "javascript://youtube.com/watch?v=1",
    "https://[::1/watch?v=1",
    "https://amazon.cm/dp/B000000000",
    "https://google.cm.evil.example/maps",
    "https://notx.com/somebody",
    "https://evilzoom.us/j/81234567890",
]


@pytest.mark.parametrize("os_name", ["iOS", "Android"])
@pytest.mark.parametrize("destination", LOOK_ALIKES)
def test_look_alikes_open_nothing(destination: str, os_name: str) -> None:
    assert opening(destination, os_name) is None


FOR_THE_WEB = [
    "https://www.youtube.com/",
    "https://www.instagram.com/accounts/login/",
    "https://www.facebook.com/sharer/sharer.php?u=x",
    "https://www.facebook.com/business/ads",
    "https://business.instagram.com/x",
    "https://www.amazon.com/gp/help/customer",
    "https://www.google.com/mapsfoo",
    "https://medium.com/about",
    "https://www.etsy.com/help",
    "https://www.paypal.com/de/business",
    "https://drive.google.com/uc?export=download&id=1",
    "https://www.disneyplus.com/legal",
    "https://www.linkedin.com/legal/privacy-policy",
    "https://www.twitch.tv/jobs",
    "https://support.discord.com/invite/x",
    "https://www.apple.com/music",
    "https://wa.me/",
]


@pytest.mark.parametrize("os_name", ["iOS", "Android"])
@pytest.mark.parametrize("destination", FOR_THE_WEB)
def test_what_the_app_does_not_show_stays_in_the_browser(destination: str, os_name: str) -> None:
    assert opening(destination, os_name) is None


ENCODED = {
    "quotes": ("https://spotify.link/a\"b'c", "https://spotify.link/a%22b%27c"),
    "markup": ("https://spotify.link/<script>", "https://spotify.link/%3Cscript%3E"),
    "braces": ("https://spotify.link/{rest}{0}", "https://spotify.link/%7Brest%7D%7B0%7D"),
    "letters": ("https://spotify.link/ü?q=ß#ö", "https://spotify.link/%C3%BC?q=%C3%9F#%C3%B6"),
    "escapes stay": ("https://spotify.link/%22?q=%2B+%zz", "https://spotify.link/%22?q=%2B+%zz"),
    "the host in small letters": ("HTTPS://SPOTIFY.LINK/Abc", "https://spotify.link/Abc"),
    "a second fragment": ("https://spotify.link/a#b#c", "https://spotify.link/a#b%23c"),
}


@pytest.mark.parametrize(("destination", "expected"), ENCODED.values(), ids=ENCODED)
def test_everything_leaves_encoded(destination: str, expected: str) -> None:
    on_ios = opening(destination, "iOS")
    assert on_ios == Opening("Spotify", None, expected, expected)


def test_a_destination_can_not_add_to_the_intent() -> None:
    got = opening("https://youtu.be/a;package=evil;S.x=1#Intent;package=evil;end", "Android")
    assert got is not None
    assert got.address is not None
    assert read_intent(got.address)["package"] == "com.google.android.youtube"
    assert got.address.count("#") == 1


def test_plain_http_falls_back_to_plain_http() -> None:
    got = opening("http://www.youtube.com/watch?v=1", "Android")
    assert got is not None
    assert got.fallback == "http://www.youtube.com/watch?v=1"
    assert read_intent(got.address)["scheme"] == "https"


@pytest.mark.full
@given(st.sampled_from(TABLE), st.text(), st.sampled_from(["iOS", "Android"]))
def test_no_ending_breaks_out(
    row: tuple[str, str, str | None, str | None], ending: str, os_name: str
) -> None:
    got = opening(row[1] + ending, os_name)
    if got is not None:
        for address in filter(None, (got.address, got.button)):
            assert re.fullmatch(r"[a-z][a-z0-9.-]*:[A-Za-z0-9/?:@!$&()*+,;=._~%#-]+", address)
        assert re.fullmatch(r"https?://[A-Za-z0-9.-]+/[A-Za-z0-9/?:@!$&()*+,;=._~%#-]*", got.fallback)
        assert os_name == "iOS" or read_intent(got.address)["package"] in {app.package for app in APPS}
