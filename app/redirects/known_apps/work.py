"""Known apps of maps, documents and meetings."""

from __future__ import annotations

from app.redirects.known_apps.app import END, UNIVERSAL, App, one_of

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

WORK = (
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
)
