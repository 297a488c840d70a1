"""Known apps of social networks, messages and reading."""

from __future__ import annotations

from app.redirects.known_apps.app import ANY, END, NAME, UNIVERSAL, App, but, one_of

PINTEREST = one_of("com at ca ch cl co.kr co.uk com.au com.mx de dk es fr ie it jp nz ph pt ru se")
X_PAGES = "i|home|explore|search|hashtag|intent|share|compose|messages|notifications"
X_COMPANY = "tos|privacy|login|logout|settings|account|jobs|about"
WHATSAPP_TEXT = "whatsapp://send?phone={phone}&text={text}"

SOCIAL = (
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
        "Discord",
        r"(?:(?:www|ptb|canary)\.)?discord(?:app)?\.com",
        "com.discord",
        ((r"/(?:invite|channels|users|events)/.+", UNIVERSAL),),
    ),
    App("Discord", r"discord\.gg", "com.discord"),
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
)
