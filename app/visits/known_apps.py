"""Which apps are known, what addresses does each take, and how is it opened?

On Android each is opened by an `intent:` address that names its package and the web address for where it is
not installed (https://developer.chrome.com/docs/android/intents). On iOS only schemes that their owners have
documented are used; the source stands beside each. Everywhere else the web address itself is the app's, as a
universal link: it opens the app only when a person taps it on a page of another site, and the browser where
there is no app
(https://developer.apple.com/documentation/xcode/allowing-apps-and-websites-to-link-to-your-content).
"""

from __future__ import annotations

import re
from typing import NamedTuple

UNIVERSAL = "https://{rest}"


def one_of(endings: str) -> str:
    return f"(?:{'|'.join(map(re.escape, endings.split()))})"


def but(words: str) -> str:
    """Not one of these as the first part of the path."""
    return rf"(?!(?:{words})(?:[/?]|$))"


# Where a company has a domain in each country: the endings it owns, for `amazon.cm` may be anybody's.
AMAZON = one_of(
    "com ca com.mx com.br co.uk de fr it es nl se pl com.be ie com.tr ae sa eg in co.jp com.au sg cn co.za"
)
PINTEREST = one_of("com at ca ch cl co.kr co.uk com.au com.mx de dk es fr ie it jp nz ph pt ru se")
AIRBNB = one_of(
    "com at be ca ch cl cz de dk es fi fr gr hu ie is it jp mx nl no pl pt ru se co.cr co.id co.il "
    "co.in co.kr co.nz co.uk co.ve com.ar com.au com.bo com.br com.co com.ec com.gt com.hk com.hn "
    "com.mt com.my com.ni com.pa com.pe com.py com.sg com.sv com.tr com.tw"
)
# https://www.google.com/supported_domains
GOOGLE = one_of(
    "com ad ae al am as at az ba be bf bg bi bj bs bt by ca cat cd cf cg ch ci cl cm cn cv cz de dj dk "
    "dm dz ee es fi fm fr ga ge gg gl gm gr gy hn hr ht hu ie im iq is it je jo kg ki kz la li lk lt lu "
    "lv md me mg mk ml mn mu mv mw ne nl no nr nu pl pn ps pt ro rs ru rw sc se sh si sk sm sn so sr st "
    "td tg tl tm tn to tt vu ws co.ao co.bw co.ck co.cr co.id co.il co.in co.jp co.ke co.kr co.ls co.ma "
    "co.mz co.nz co.th co.tz co.ug co.uk co.uz co.ve co.vi co.za co.zm co.zw com.af com.ag com.ar "
    "com.au com.bd com.bh com.bn com.bo com.br com.bz com.co com.cu com.cy com.do com.ec com.eg com.et "
    "com.fj com.gh com.gi com.gt com.hk com.jm com.kh com.kw com.lb com.ly com.mm com.mt com.mx com.my "
    "com.na com.ng com.ni com.np com.om com.pa com.pe com.pg com.ph com.pk com.pr com.py com.qa com.sa "
    "com.sb com.sg com.sl com.sv com.tj com.tr com.tw com.ua com.uy com.vc com.vn"
)
ANY = r"/.+"
END = r"/?(?:\?.*)?"  # nothing more but a query
NAME = r"(?P<name>[A-Za-z0-9_.]+)"


class App(NamedTuple):
    """`hosts` and the targets (path and query, percent-encoded) are patterns for the whole text.

    Each target has the address for iOS beside it, with what the pattern has named, or `rest` for all behind
    the scheme; None where there is none. No `package`: not on Android.
    """

    name: str
    hosts: str
    package: str | None
    targets: tuple[tuple[str, str | None], ...] = ((ANY, UNIVERSAL),)


APPS = (
    App(
        "YouTube",
        r"(?:www\.|m\.)?youtube\.com",
        "com.google.android.youtube",
        ((r"/(?:watch\?|playlist\?|shorts/|live/|channel/|c/|user/|@|post/|clip/).+", UNIVERSAL),),
    ),
    App("YouTube", r"youtu\.be", "com.google.android.youtube"),
    App(
        "Instagram",
        r"(?:www\.)?(?:instagram\.com|instagr\.am)",
        "com.instagram.android",
        (
            # the two of "iPhone hooks" in Instagram's documentation for developers
            (rf"/explore/tags/{NAME}{END}", "instagram://tag?name={name}"),
            (
                rf"/{but('p|reels?|tv|stories|explore|accounts|direct|about|legal|developer|web')}{NAME}{END}",
                "instagram://user?username={name}",
            ),
            (r"/(?:p|reels?|tv|stories|explore)/.+", UNIVERSAL),
        ),
    ),
    App(
        "TikTok",
        r"(?:(?:www|m|vm|vt)\.)?tiktok\.com",
        "com.zhiliaoapp.musically",
        ((rf"/{but('legal|about|login|signup|business')}.+", UNIVERSAL),),
    ),
    App(
        "X",
        r"(?:(?:www|mobile)\.)?(?:x|twitter)\.com",
        "com.twitter.android",
        ((rf"/{but('tos|privacy|login|logout|settings|account')}.+", UNIVERSAL),),
    ),
    App(
        "Facebook",
        r"(?:(?:www|m|web)\.)?facebook\.com|fb\.watch",
        "com.facebook.katana",
        (
            (
                rf"/{but('login|business|policies|privacy|legal|sharer[.]php|sharer|dialog|plugins|l|tr')}.+",
                UNIVERSAL,
            ),
        ),
    ),
    App("Facebook", r"fb\.me|fb\.com", "com.facebook.katana"),
    App("Messenger", r"(?:www\.)?(?:m\.me|messenger\.com)", "com.facebook.orca"),
    App(
        "WhatsApp",
        r"wa\.me|(?:api|chat|www)\.whatsapp\.com|whatsapp\.com",
        "com.whatsapp",
        (
            # `text` alone, as under "How to link to WhatsApp from a different app" in https://faq.whatsapp.com
            (r"/(?:send/?)?\?text=(?P<text>[^&]*)", "whatsapp://send?text={text}"),
            (r"/(?:send/?\?.+|channel/.+|message/.+|qr/.+|\+?[0-9]+.*|[A-Za-z0-9]{20,24})", UNIVERSAL),
        ),
    ),
    App(
        "Telegram",
        r"(?:www\.)?(?:t\.me|telegram\.me|telegram\.dog)",
        "org.telegram.messenger",
        (
            # https://core.telegram.org/api/links
            (r"/(?:joinchat/|\+)(?P<hash>[A-Za-z0-9_-]{16,})" + END, "tg://join?invite={hash}"),
            (
                r"/(?:s/)?(?P<name>[A-Za-z][A-Za-z0-9_]{3,31})/(?P<post>[0-9]+)" + END,
                "tg://resolve?domain={name}&post={post}",
            ),
            (r"/(?:s/)?(?P<name>[A-Za-z][A-Za-z0-9_]{3,31})/?", "tg://resolve?domain={name}"),
            (ANY, UNIVERSAL),
        ),
    ),
    App(
        "Snapchat",
        r"(?:(?:www|story|t)\.)?snapchat\.com",
        "com.snapchat.android",
        ((r"/(?:add|@|p|t|s|u|spotlight|discover|lens|unlock).*", UNIVERSAL),),
    ),
    App(
        "LinkedIn",
        r"(?:(?:www|m|[a-z]{2})\.)?linkedin\.com",
        "com.linkedin.android",
        (
            (
                r"/(?:in|company|school|showcase|groups|posts|feed|jobs|pulse|events|newsletters|pub)/.+",
                UNIVERSAL,
            ),
        ),
    ),
    App("LinkedIn", r"lnkd\.in", "com.linkedin.android"),
    App(
        "Pinterest",
        rf"(?:(?:www|[a-z]{{2}})\.)?pinterest\.{PINTEREST}|pin\.it",
        "com.pinterest",
        ((rf"/{but('_|login|business')}.+", UNIVERSAL),),
    ),
    App(
        "Reddit",
        r"(?:(?:www|old|new|m|np|i)\.)?reddit\.com",
        "com.reddit.frontpage",
        ((r"/(?:r|u|user|comments|gallery|t)/.+", UNIVERSAL),),
    ),
    App("Reddit", r"redd\.it", "com.reddit.frontpage"),
    App(
        "Spotify",
        r"open\.spotify\.com",
        "com.spotify.music",
        (
            (
                # https://developer.spotify.com/documentation/ios/tutorials/content-linking
                r"/(?:intl-[a-z-]+/)?(?P<kind>track|album|artist|playlist|show|episode)/(?P<id>[A-Za-z0-9]{22})"
                + END,
                "spotify:{kind}:{id}",
            ),
            (ANY, UNIVERSAL),
        ),
    ),
    App("Spotify", r"spotify\.link", "com.spotify.music"),
    App(
        "SoundCloud",
        r"(?:(?:www|m|on)\.)?soundcloud\.com",
        "com.soundcloud.android",
        ((rf"/{but('pages|terms-of-use|upload|signin|settings')}.+", UNIVERSAL),),
    ),
    App(
        "Netflix",
        r"(?:www\.)?netflix\.com",
        "com.netflix.mediaclient",
        ((r"/(?:[a-z]{2}(?:-[a-z]{2})?/)?(?:title|watch)/[0-9]+.*", UNIVERSAL),),
    ),
    App(
        "Twitch",
        r"(?:(?:www|m)\.)?twitch\.tv",
        "tv.twitch.android.app",
        (
            # https://dev.twitch.tv/docs/mobile-deeplinks
            (
                rf"/{but('videos|directory|downloads|p|jobs|store|turbo|settings|login|signup|search')}{NAME}{END}",
                "twitch://stream/{name}",
            ),
            (r"/(?:videos/|directory|[A-Za-z0-9_]+/(?:clip|v|video)/).*", UNIVERSAL),
        ),
    ),
    App("Twitch", r"clips\.twitch\.tv", "tv.twitch.android.app"),
    App(
        "Discord",
        r"(?:(?:www|ptb|canary)\.)?discord(?:app)?\.com",
        "com.discord",
        ((r"/(?:invite|channels|users|events)/.+", UNIVERSAL),),
    ),
    App("Discord", r"discord\.gg", "com.discord"),
    App(
        "Amazon",
        rf"(?:(?:www|m)\.)?amazon\.{AMAZON}",
        "com.amazon.mShop.android.shopping",
        (
            (
                r"/(?:.+/)?(?:dp|gp/product|gp/aw/d)/[A-Za-z0-9]{10}(?:[/?].*)?|/(?:s\?|s/|stores/|shop/|hz/).+",
                UNIVERSAL,
            ),
        ),
    ),
    App("Amazon", r"amzn\.(?:to|eu|asia)|a\.co", "com.amazon.mShop.android.shopping"),
    App(
        "Airbnb",
        rf"(?:(?:www|[a-z]{{2}})\.)?airbnb\.{AIRBNB}|abnb\.me",
        "com.airbnb.android",
        ((rf"/{but('help|press|terms|careers|login')}.+", UNIVERSAL),),
    ),
    App(
        "Google Maps",
        rf"maps\.google\.{GOOGLE}",
        "com.google.android.apps.maps",
        # `comgooglemapsurl:` as in https://developers.google.com/maps/documentation/urls/ios-urlscheme
        ((r"/.*", "comgooglemapsurl://{rest}"),),
    ),
    App(
        "Google Maps",
        rf"(?:www\.)?google\.{GOOGLE}|goo\.gl",
        "com.google.android.apps.maps",
        ((r"/maps(?:[/?].*)?", "comgooglemapsurl://{rest}"),),
    ),
    App("Google Maps", r"maps\.app\.goo\.gl", "com.google.android.apps.maps"),
    App(
        "Google Sheets",
        r"docs\.google\.com|sheets\.google\.com",
        "com.google.android.apps.docs.editors.sheets",
        ((r"/(?:a/[a-z0-9.-]+/)?spreadsheets/.+", UNIVERSAL),),
    ),
    App(
        "Google Docs",
        r"docs\.google\.com",
        "com.google.android.apps.docs.editors.docs",
        ((r"/(?:a/[a-z0-9.-]+/)?document/.+", UNIVERSAL),),
    ),
    App("Apple Music", r"(?:geo\.)?music\.apple\.com", "com.apple.android.music"),
    App("App Store", r"(?:apps|itunes)\.apple\.com", None, ((r"/(?:[a-z]{2}/)?app/.+", UNIVERSAL),)),
    App(
        "Play Store",
        r"play\.google\.com",
        "com.android.vending",
        ((r"/store/(?:apps|books|movies)?.+", None),),
    ),
)
