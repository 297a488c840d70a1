"""Known apps: the addresses that each of them opens, and how it is opened.

On Android each is opened by an `intent:` address that names its package and the web address for where it is
not installed (https://developer.chrome.com/docs/android/intents).

On iOS an app's own scheme is used if one is known: documented by the app's company (the source is named
beside it), or named by the company's own web pages for the same content (`al:ios:url`, App Links), or used
unchanged by many public projects for years ("in wide use"). Otherwise the web address itself is used, as a
universal link: it opens the app only when a person taps it on a page of another site
(https://developer.apple.com/documentation/xcode/allowing-apps-and-websites-to-link-to-your-content).
"""

from __future__ import annotations

import re
from typing import NamedTuple

UNIVERSAL = "https://{rest}"


def one_of(endings: str) -> str:
    return f"(?:{'|'.join(map(re.escape, endings.split()))})"


def but(words: str) -> str:
    """A pattern: the first part of the path is none of these words."""
    return rf"(?!(?:{words})(?:[/?]|$))"


# Companies with a domain in each country: the endings that they own. `amazon.cm` may be a stranger's.
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
EBAY = one_of("com co.uk de fr it es com.au ca at ch be nl ie pl com.hk com.sg com.my ph")
TRIPADVISOR = one_of(
    "com co.uk ca de fr it es nl at ch be ie se dk pt ru jp in cl co com.au co.nz com.sg com.my com.ph "
    "com.br com.mx com.ar com.tr com.tw com.hk com.vn com.gr com.eg co.id co.il co.kr co.za"
)
# Shopee has an app for each country, named by it
SHOPEE = {
    "sg": "sg", "com.my": "my", "co.th": "th", "tw": "tw", "co.id": "id", "vn": "vn", "ph": "ph",
    "com.br": "br", "com.mx": "mx", "com.co": "co", "cl": "cl",
}  # fmt: skip
ANY = r"/.+"
END = r"/?(?:\?.*)?"  # nothing more but a query
NAME = r"(?P<name>[A-Za-z0-9_.]+)"


X_PAGES = "i|home|explore|search|hashtag|intent|share|compose|messages|notifications"
X_COMPANY = "tos|privacy|login|logout|settings|account|jobs|about"
WHATSAPP_TEXT = "whatsapp://send?phone={phone}&text={text}"


class App(NamedTuple):
    """One app. `hosts` and the targets (path and query, percent-encoded) are patterns for the whole text.

    Each target is paired with the address for iOS, None if there is none. It may use the pattern's named
    groups, `rest` for all after the scheme, `target` for path and query, and `encoded` for the whole address
    as a parameter. No `package`: not on Android.
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
        # App Links of its pages
        (
            (
                r"/(?:watch\?|playlist\?|shorts/|live/|channel/|c/|user/|@|post/|clip/).+",
                "vnd.youtube://www.youtube.com{target}",
            ),
        ),
    ),
    App(
        "YouTube",
        r"youtu\.be",
        "com.google.android.youtube",
        (
            (
                r"/(?P<id>[A-Za-z0-9_-]+)\?(?P<query>.+)",
                "vnd.youtube://www.youtube.com/watch?v={id}&{query}",
            ),
            (r"/(?P<id>[A-Za-z0-9_-]+)/?", "vnd.youtube://www.youtube.com/watch?v={id}"),
            (ANY, UNIVERSAL),
        ),
    ),
    App(
        "YouTube Music",
        r"music\.youtube\.com",
        "com.google.android.apps.youtube.music",
        ((r"/(?:watch\?|playlist\?|channel/|browse/|@).+", UNIVERSAL),),
    ),
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
        (
            # App Links of its pages
            (r"/@[^/?]+/video/(?P<id>[0-9]+)" + END, "snssdk1233://aweme/detail/{id}"),
            (rf"/{but('legal|about|login|signup|business')}.+", UNIVERSAL),
        ),
    ),
    App(
        "X",
        r"(?:(?:www|mobile)\.)?(?:x|twitter)\.com",
        "com.twitter.android",
        (
            # App Links of its pages
            (r"/[A-Za-z0-9_]+/status/(?P<id>[0-9]+)(?:[/?].*)?", "twitter://status?id={id}"),
            (
                rf"/{but(X_PAGES)}{but(X_COMPANY)}(?P<name>[A-Za-z0-9_]+){END}",
                "twitter://user?screen_name={name}",
            ),
            (rf"/{but(X_COMPANY)}.+", UNIVERSAL),
        ),
    ),
    App(
        "Facebook",
        r"(?:(?:www|m|web)\.)?facebook\.com",
        "com.facebook.katana",
        (
            # App Links of its pages
            (r"/groups/(?P<id>[0-9]+)" + END, "fb://group/?id={id}"),
            (r"/profile\.php\?id=(?P<id>[0-9]+)(?:&.*)?", "fb://profile/{id}"),
            # in wide use: the app shows the web address
            (
                rf"/{but('login|business|policies|privacy|legal|sharer[.]php|sharer|dialog|plugins|l|tr')}.+",
                "fb://facewebmodal/f?href={encoded}",
            ),
        ),
    ),
    App("Facebook", r"fb\.me|fb\.com|fb\.watch", "com.facebook.katana"),
    App("Messenger", r"(?:www\.)?(?:m\.me|messenger\.com)", "com.facebook.orca"),
    App(
        "WhatsApp",
        r"wa\.me|(?:api|chat|www)\.whatsapp\.com|whatsapp\.com",
        "com.whatsapp",
        (
            # `text` alone, as under "How to link to WhatsApp from a different app" in https://faq.whatsapp.com
            (r"/(?:send/?)?\?text=(?P<text>[^&]*)", "whatsapp://send?text={text}"),
            # what the pages at these addresses open themselves
            (r"/\+?(?P<phone>[0-9]{5,15})/?\?(?:.*&)?text=(?P<text>[^&]*).*", WHATSAPP_TEXT),
            (r"/\+?(?P<phone>[0-9]{5,15})" + END, "whatsapp://send?phone={phone}"),
            (r"/send/?\?phone=%?2?B?(?P<phone>[0-9]{5,15})&text=(?P<text>[^&]*)", WHATSAPP_TEXT),
            (r"/send/?\?phone=%?2?B?(?P<phone>[0-9]{5,15})", "whatsapp://send?phone={phone}"),
            (r"/(?P<code>[A-Za-z0-9]{20,24})" + END, "whatsapp://chat?code={code}"),
            (r"/(?:send/?\?.+|channel/.+|message/.+|qr/.+|\+?[0-9]+.*)", UNIVERSAL),
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
            (
                r"/(?P<name>[A-Za-z][A-Za-z0-9_]{3,31})/?\?start=(?P<start>[A-Za-z0-9_-]{1,64})",
                "tg://resolve?domain={name}&start={start}",
            ),
            (ANY, UNIVERSAL),
        ),
    ),
    App(
        "Snapchat",
        r"(?:(?:www|story|t)\.)?snapchat\.com",
        "com.snapchat.android",
        (
            # in wide use
            (r"/add/(?P<name>[A-Za-z0-9._-]+)" + END, "snapchat://add/{name}"),
            (r"/(?:add|@|p|t|s|u|spotlight|discover|lens|unlock).*", UNIVERSAL),
        ),
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
        (
            # in wide use
            (r"/pin/(?P<id>[0-9]+)" + END, "pinterest://pin/{id}"),
            (rf"/{but('_|login|business')}.+", UNIVERSAL),
        ),
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
        (
            # App Links of its pages
            (
                r"/(?:[a-z]{2}(?:-[a-z]{2})?/)?(?P<kind>title|watch)/(?P<id>[0-9]+)(?:[/?].*)?",
                "nflx://www.netflix.com/{kind}/{id}",
            ),
        ),
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
        "Prime Video",
        rf"(?:(?:www|m)\.)?amazon\.{AMAZON}",
        "com.amazon.avod.thirdpartyclient",
        ((r"/(?:-/[a-z]{2}/)?gp/video/.+", UNIVERSAL),),
    ),
    App(
        "Prime Video",
        r"(?:(?:www|app|watch)\.)?primevideo\.com",
        "com.amazon.avod.thirdpartyclient",
        ((r"/(?:-/[a-z]{2}/)?(?:region/[a-z]{2}/)?(?:detail|watch)[/?].+", UNIVERSAL),),
    ),
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
    App(
        "Google Slides",
        r"docs\.google\.com",
        "com.google.android.apps.docs.editors.slides",
        ((r"/(?:a/[a-z0-9.-]+/)?presentation/.+", UNIVERSAL),),
    ),
    # forms have no app of their own: Drive shows them
    App(
        "Google Forms",
        r"docs\.google\.com",
        "com.google.android.apps.docs",
        ((r"/(?:a/[a-z0-9.-]+/)?forms/.+", UNIVERSAL),),
    ),
    App("Google Forms", r"forms\.gle", "com.google.android.apps.docs"),
    App(
        "Google Drive",
        r"drive\.google\.com",
        "com.google.android.apps.docs",
        ((r"/(?:a/[a-z0-9.-]+/)?(?:file/|drive/|folderview\?|open\?).+", UNIVERSAL),),
    ),
    App("Apple Music", r"(?:geo\.)?music\.apple\.com", "com.apple.android.music"),
    App(
        "App Store",
        r"(?:apps|itunes)\.apple\.com",
        None,
        # Apple's Technical Q&A QA1629, "Launching the App Store from an iOS app"
        ((r"/(?:[a-z]{2}/)?app/.+", "itms-apps://{rest}"),),
    ),
    App(
        "Apple Podcasts",
        r"podcasts\.apple\.com",
        None,
        ((r"/(?:[a-z]{2}/)?(?:podcast|channel)/.+", UNIVERSAL),),
    ),
    App(
        "Play Store",
        r"play\.google\.com",
        "com.android.vending",
        ((r"/store/(?:apps|books|movies)?.+", None),),
    ),
    App(
        "Threads",
        r"(?:www\.)?threads\.(?:net|com)",
        "com.instagram.barcelona",
        (
            # App Links of its pages
            (
                r"/(?:@[A-Za-z0-9_.]+/post|t)/(?P<code>[A-Za-z0-9_-]+)" + END,
                "barcelona://media?shortcode={code}",
            ),
            # in wide use
            (rf"/@{NAME}{END}", "barcelona://user?username={name}"),
            (r"/@.+", UNIVERSAL),
        ),
    ),
    App(
        "Bluesky",
        r"bsky\.app",
        "xyz.blueskyweb.app",
        # the prefixes in the app's public source, https://github.com/bluesky-social/social-app
        ((r"/(?P<path>(?:profile|starter-pack|hashtag)/.+)", "bluesky://{path}"),),
    ),
    App(
        "Vimeo",
        r"(?:www\.)?vimeo\.com",
        "com.vimeo.android.videoapp",
        (
            # App Links of its pages
            (r"/(?P<id>[0-9]+)" + END, "vimeo://app.vimeo.com/videos/{id}"),
            (r"/(?:[0-9]+/|channels/|groups/|showcase/|ondemand/|user[0-9]).+", UNIVERSAL),
        ),
    ),
    App(
        "Etsy",
        r"(?:www\.)?etsy\.com",
        "com.etsy.android",
        (
            # App Links of its pages
            (r"/(?:[a-z]{2}(?:-[a-z]{2})?/)?listing/(?P<id>[0-9]+)(?:[/?].*)?", "etsy://listing/{id}"),
            (r"/(?:[a-z]{2}(?:-[a-z]{2})?/)?shop/.+", UNIVERSAL),
        ),
    ),
    App("Etsy", r"etsy\.me", "com.etsy.android"),
    App(
        "eBay",
        rf"(?:(?:www|m)\.)?ebay\.{EBAY}",
        "com.ebay.mobile",
        (
            # in eBay's public code for campaigns, https://github.com/eBay
            (r"/itm/(?:[^/?]+/)?(?P<id>[0-9]{9,14})(?:[/?].*)?", "ebay://link/?nav=item.view&id={id}"),
            (r"/(?:itm|usr|str|sch|b|p)/.+", UNIVERSAL),
        ),
    ),
    App("eBay", r"ebay\.us", "com.ebay.mobile"),
    App(
        "Walmart",
        r"(?:www\.)?walmart\.com",
        "com.walmart.android",
        ((r"/(?:ip|browse|cp|search|store)[/?].+", UNIVERSAL),),
    ),
    App(
        "Booking.com",
        r"(?:(?:www|m)\.)?booking\.com",
        "com.booking",
        ((r"/(?:hotel/|city/|searchresults|Share-).+", UNIVERSAL),),
    ),
    App(
        "Tripadvisor",
        rf"(?:(?:www|m)\.)?tripadvisor\.{TRIPADVISOR}",
        "com.tripadvisor.tripadvisor",
        # App Links of its pages
        (
            (
                r"/(?:[A-Za-z]+_Review|AttractionProductReview|Tourism|Hotels|Restaurants|Attractions)-.+",
                "tripadvisor://{rest}",
            ),
        ),
    ),
    *(
        App(
            "Shopee",
            rf"(?:s\.)?shopee\.{re.escape(ending)}",
            f"com.shopee.{country}",
            ((r"/(?:product/|shop/|universal-link/|[^/?]+-i\.[0-9]|[A-Za-z0-9]{8,}).*", UNIVERSAL),),
        )
        for ending, country in SHOPEE.items()
    ),
    App(
        "Deezer",
        r"(?:www\.)?deezer\.com",
        "deezer.android.app",
        (
            # the addresses that its pages open, as for an account's plan
            (
                r"/(?:[a-z]{2}/)?(?P<path>(?:track|album|artist|playlist|show|episode)/[0-9]+)" + END,
                "deezer://www.deezer.com/{path}",
            ),
            (r"/(?:[a-z]{2}/)?(?:profile|channels)/.+", UNIVERSAL),
        ),
    ),
    App("Deezer", r"link\.deezer\.com|deezer\.page\.link", "deezer.android.app"),
    App(
        "TIDAL",
        r"(?:(?:www|listen)\.)?tidal\.com",
        "com.aspiro.tidal",
        ((r"/(?:browse/)?(?:track|album|artist|playlist|video|mix)/.+", UNIVERSAL),),
    ),
    App(
        "Medium",
        r"(?:www\.)?medium\.com",
        "com.medium.reader",
        (
            # App Links of its pages
            (r"/(?:[^/?]+/)?(?:[^/?]*-)?(?P<id>[0-9a-f]{8,12})" + END, "medium://p/{id}"),
            (r"/(?P<name>@[A-Za-z0-9_.]+)" + END, "medium://{name}"),
            (rf"/{but('about|m|me|policy|business|jobs-at-medium|membership')}.+", UNIVERSAL),
        ),
    ),
    App(
        "Quora",
        r"(?:(?:www|[a-z]{2})\.)?quora\.com",
        "com.quora.android",
        ((rf"/{but('about|business|careers|contact|login|press')}.+", UNIVERSAL),),
    ),
    App("Quora", r"qr\.ae", "com.quora.android"),
    App(
        "Zoom",
        r"(?:[a-z0-9-]+\.)?zoom\.us",
        "us.zoom.videomeetings",
        (
            # "Launch App" in https://developers.zoom.us/docs/meeting-sdk/url-schemes/
            (
                r"/[jw]/(?P<id>[0-9]{9,12})/?\?(?:.*&)?pwd=(?P<password>[^&]+).*",
                "zoomus://zoom.us/join?confno={id}&pwd={password}",
            ),
            (r"/[jw]/(?P<id>[0-9]{9,12})" + END, "zoomus://zoom.us/join?confno={id}"),
            (r"/(?:my|s)/.+", UNIVERSAL),
        ),
    ),
    App(
        "Microsoft Teams",
        r"teams\.microsoft\.com",
        "com.microsoft.teams",
        # https://learn.microsoft.com/microsoftteams/platform/concepts/build-and-test/deep-links
        ((r"/l/.+", "msteams://{rest}"), (r"/meet/.+", UNIVERSAL)),
    ),
    App("Microsoft Teams", r"teams\.live\.com", "com.microsoft.teams", ((r"/(?:l|meet)/.+", UNIVERSAL),)),
    App(
        "Waze",
        r"(?:www\.)?waze\.com",
        "com.waze",
        (
            # https://developers.google.com/waze/deeplinks
            (r"/ul\?(?P<query>.+)", "waze://?{query}"),
            (r"/(?:[a-z]{2}(?:-[A-Z]{2})?/)?(?:ul/|live-map).*", UNIVERSAL),
        ),
    ),
    App("PayPal", r"(?:www\.)?paypal\.me", "com.paypal.android.p2pmobile"),
    App(
        "PayPal",
        r"(?:www\.)?paypal\.com",
        "com.paypal.android.p2pmobile",
        ((r"/(?:[a-z]{2}/)?(?:paypalme|qrcodes|pools)/.+", UNIVERSAL),),
    ),
    App(
        "Disney+",
        r"(?:www\.)?disneyplus\.com",
        "com.disney.disneyplus",
        (
            (
                r"/(?:[a-z]{2}(?:-[a-z0-9]{2,3})?/)?(?:movies/|series/|video/|play/|sharing/|browse/entity-).+",
                UNIVERSAL,
            ),
        ),
    ),
)
